// Names of files that Perdure writes in a workspace before they take the place of others. A process
// that is killed leaves them: no snapshot holds them.
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const RESTORED = /^\.perdure-([0-9a-f]{8})[0-9a-f]{8}\.tmp$/;
const WRITTEN = /^\.perdure-(?:apply|write)-[1-9][0-9]*-[0-9a-f]{8}\.tmp$/;
const APPLIED = /^\.perdure-apply-([1-9][0-9]*)-[0-9a-f]{8}\.tmp$/;
/** A restore that is under way, or was killed, has its request in one of these. */
export const REQUESTS = { rewind: 'restore.json', checkOut: 'check-out.json' } as const;

/**
 * Returns what tells whether a name, without its folder, is one of a file that is being written, or
 * was when its writer was killed. A restore's is one only where its request is there: people may
 * have files that are called so. `gitDir` is the repository of snapshots.
 */
export function createTemporaryCheck(gitDir: string): (name: string) => boolean {
  let runs: ReadonlySet<unknown> | null = null;
  return (name) => {
    if (!name.startsWith('.perdure-')) return false;
    const run = RESTORED.exec(name)?.[1];
    return run === undefined ? WRITTEN.test(name) : (runs ??= readRuns(join(gitDir, 'sessions'))).has(run);
  };
}

/** Reads the runs of all restores that are not over, whatever session and folder they are of. */
function readRuns(folder: string): ReadonlySet<unknown> {
  const own = listFolder(folder).flatMap((session) =>
    listFolder(join(folder, session)).map((root) => join(folder, session, root)),
  );
  return new Set(own.flatMap((each) => Object.values(REQUESTS).map((name) => readRun(join(each, name)))));
}

function readRun(path: string): unknown {
  try {
    return (JSON.parse(readFileSync(path, 'utf8')) as { readonly run?: unknown }).run;
  } catch {
    // It is not there, or not whole yet: nothing was written by it then.
    return undefined;
  }
}

function listFolder(path: string): readonly string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

/**
 * Names the temporary file of a step. `run` is eight hexadecimal digits: of a killed run all names
 * can be told.
 */
export const temporaryName = (run: string, step: number): string =>
  `.perdure-${run}${step.toString(16).padStart(8, '0')}.tmp`;

/** Names a file that this process writes by itself. */
export const ownTemporaryName = (how: 'apply' | 'write'): string =>
  `.perdure-${how}-${process.pid}-${randomBytes(4).toString('hex')}.tmp`;

/** Returns the id of the process that applies changes by such a file; null for another name. */
export function writerOf(name: string): number | null {
  const pid = APPLIED.exec(name)?.[1];
  return pid === undefined ? null : Number(pid);
}
