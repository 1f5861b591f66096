// Where the live channel's files lie: <dir>/<session>/<step>.<attempt>.jsonl
import { readdirSync } from 'node:fs';
import { keySegment } from '../values/store.ts';

export type AttemptName = { readonly step: number; readonly attempt: number };

export function sessionFolder(dir: string, session: string): string {
  return `${dir}/${keySegment(session)}`;
}

export function attemptFile(folder: string, { step, attempt }: AttemptName): string {
  return `${folder}/${String(step).padStart(8, '0')}.${attempt}.jsonl`;
}

/** Returns null for a name that isn't of an attempt's file. */
export function parseAttemptFile(name: string): AttemptName | null {
  const found = /^(\d{8,15})\.(\d{1,9})\.jsonl$/.exec(name);
  return found ? { step: Number(found[1]), attempt: Number(found[2]) } : null;
}

/** Returns an empty list when the folder is missing. Throws what readdir throws otherwise. */
export function listAttempts(folder: string): AttemptName[] {
  return listNames(folder).flatMap((name) => parseAttemptFile(name) ?? []);
}

function listNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

export function isMissing(error: unknown): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === 'ENOENT';
}
