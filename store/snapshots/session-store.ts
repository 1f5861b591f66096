// Notes with the snapshots of a session which store has its transcript (T4): a process that frees
// those of gone sessions knows the sessions of one store only.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { codeOf } from '../../system/text.ts';
import type { ShadowPlace } from './shadow.ts';

/** The name of the note, beside the folders of the session's roots. */
export const STORE_NOTE = 'store';

/** Notes the id of the store; one that is there stays. */
export function noteStore({ own }: Pick<ShadowPlace, 'own'>, store: string): void {
  const path = join(dirname(own), STORE_NOTE);
  if (existsSync(path)) return;
  mkdirSync(dirname(own), { recursive: true, mode: 0o700 });
  writeFileSync(path, store, { mode: 0o600 });
}

/**
 * Returns the id of the store of a session's folder; null without a note, as versions before wrote
 * none.
 */
export function readStoreNote(folder: string): string | null {
  try {
    return readFileSync(join(folder, STORE_NOTE), 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}
