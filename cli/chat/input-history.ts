// Keeps what a person has typed in all chats, for the up key: a file in the data folder, with one
// JSON text a line.
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../../system/text.ts';
import { openDataFolder, type Env } from '../../connection/data-folder.ts';

/** Number of texts to keep. The file is shortened when it has twice as many. */
const KEPT = 500;
const LONGEST = 10_000;

export type InputHistory = {
  /** Oldest first. */
  readonly texts: readonly string[];
  add(text: string): void;
};

/**
 * Opens the history. If it cannot be read or written, `say` tells it once and the chat works
 * without.
 */
export function inputHistory(env: Env, say: (line: string) => void): InputHistory {
  const file = join(openDataFolder(env).root, 'typed.jsonl');
  let isReported = false;
  const attempt = <T>(act: () => T, otherwise: T): T => {
    try {
      return act();
    } catch (error) {
      if (codeOf(error) === undefined) throw error;
      if (!isReported && codeOf(error) !== 'ENOENT') say(`history is not saved: ${file}: ${codeOf(error)}`);
      isReported ||= codeOf(error) !== 'ENOENT';
      return otherwise;
    }
  };
  const texts = attempt(() => readFileSync(file, 'utf8').split('\n').flatMap(textOf), []);
  if (texts.length > 2 * KEPT)
    attempt(() => writeFileSync(file, texts.slice(-KEPT).map(lineOf).join(''), { mode: 0o600 }), undefined);
  return {
    texts: texts.slice(-KEPT),
    add: (text) => {
      if (text.length <= LONGEST) attempt(() => appendFileSync(file, lineOf(text), { mode: 0o600 }), undefined);
    },
  };
}

const lineOf = (text: string): string => `${JSON.stringify(text)}\n`;

/** Returns an empty list for a line that was cut. */
function textOf(line: string): readonly string[] {
  try {
    const value = JSON.parse(line) as unknown;
    return typeof value === 'string' ? [value] : [];
  } catch {
    return [];
  }
}
