// Notes which sessions have files put back or checked out while none of their runs is under way. When
// the worker dies, the next one looks at these as well: the server lists all idle sessions alike.
import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { readJsonFile, writeJsonFile } from '../system/json-file.ts';
import { identitySchema } from '../system/process/file-lock.ts';
import { isAlive, processIdentity } from '../system/process/identity.ts';
import { codeOf } from '../system/text.ts';
import type { ActivityBody } from './attempt.ts';
import type { Deps } from './deps.ts';

const schema = identitySchema.extend({ session: z.string() });

/** Notes are kept for so long when the server knows of nothing yet. Milliseconds. */
const KEPT_MS = 60_000;

const folderIn = (workersDir: string): string => join(workersDir, 'beside-runs');

/** Makes a body that notes its session while it works. */
export function besideRuns<Input, Output>(
  { dataDir }: Pick<Deps, 'dataDir'>,
  body: ActivityBody<Input, Output>,
): ActivityBody<Input, Output> {
  if (dataDir === undefined) return body;
  const folder = folderIn(join(dataDir, 'workers'));
  return async (attempt, input) => {
    const path = join(folder, `${randomUUID()}.json`);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeJsonFile(path, { ...processIdentity(), session: attempt.session }, 'not durable');
    try {
      return await body(attempt, input);
    } finally {
      rmSync(path, { force: true });
    }
  };
}

export type LeftNote = {
  readonly session: string;
  /** Removes the note, unless it is young and nothing was found. */
  readonly settle: (hasFound: boolean) => void;
};

/** Reads the notes that dead processes have left. */
export function readLeftNotes(workersDir: string): readonly LeftNote[] {
  const folder = folderIn(workersDir);
  return namesIn(folder).flatMap((name) => {
    const path = join(folder, name);
    const note = readJsonFile(path, schema);
    if (note.kind !== 'read' || isAlive(note.value, 'here') !== 'dead') return [];
    const settle = (hasFound: boolean): void => {
      if (hasFound || Date.now() - statSync(path).mtimeMs > KEPT_MS) rmSync(path, { force: true });
    };
    return [{ session: note.value.session, settle }];
  });
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith('.json'));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}
