// A lock between processes that survives the death of its holder, from files alone. Generation n is
// the file `n`, made by an exclusive link and holding its maker's identity. Only the highest
// generation counts, and the highest is never removed, so numbers only grow: a process that judged
// generation n dead can make n+1 once, and a latecomer finds it taken or outgrown. Unlinking a
// stale lock file instead would let a slow process unlink its successor's.
import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { isAlive, processIdentity } from './identity.ts';
import { readJsonFile } from '../json.ts';
import { SetupProblem } from '../setup-problem.ts';
import { codeOf, reasonOf } from '../text.ts';

type LockOptions = {
  /** The holder's work, for the sentence: `starting the Temporal server of /data`. */
  readonly doing: string;
  /** Milliseconds to wait for a living holder. */
  readonly waitMs: number;
  /** Called once, when another process is found to hold the lock. */
  readonly onWait?: (holderPid: number) => void;
};

/** The error when a living process keeps the lock. */
export class LockHeld extends SetupProblem {}

const POLL_MS = 20;

export const identitySchema = z.object({
  pid: z.number().int().positive(),
  startTime: z.string(),
  bootId: z.string(),
  host: z.string(),
});
const generationSchema = z.object({ holder: identitySchema.nullable() });

/**
 * Takes the lock and resolves to its release. It is not reentrant. Throws SetupProblem when a
 * living process keeps it for longer than `waitMs`.
 */
export async function takeFileLock(dir: string, options: LockOptions): Promise<() => void> {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const deadline = Date.now() + options.waitMs;
  for (let hasWaited = false; ; hasWaited = true) {
    const generation = highestGeneration(dir);
    const holder = livingHolder(dir, generation);
    if (holder === null) {
      const release = tryTake(dir, generation + 1);
      if (release !== null) return release;
      continue;
    }
    if (!hasWaited) options.onWait?.(holder);
    if (Date.now() > deadline) throw lockTimeout(holder, options);
    await sleep(POLL_MS);
  }
}

function highestGeneration(dir: string): number {
  return Math.max(0, ...listGenerations(dir));
}

function listGenerations(dir: string): readonly number[] {
  return readdirSync(dir)
    .filter((name) => /^[1-9][0-9]*$/.test(name))
    .map(Number);
}

/**
 * Returns the pid of a living holder. A file that cannot be read was cut by a power failure, which
 * its holder did not survive either.
 */
function livingHolder(dir: string, generation: number): number | null {
  const file = readJsonFile(join(dir, String(generation)), generationSchema);
  if (file.kind !== 'read' || file.value.holder === null) return null;
  return isAlive(file.value.holder, 'here') === 'dead' ? null : file.value.holder.pid;
}

function tryTake(dir: string, generation: number): (() => void) | null {
  const path = join(dir, String(generation));
  if (!makeExclusively(dir, path, { holder: processIdentity() })) return null;
  if (highestGeneration(dir) > generation) {
    // Our file was removed as outgrown before we made it again.
    rmSync(path, { force: true });
    return null;
  }
  for (const older of listGenerations(dir)) if (older < generation) rmSync(join(dir, String(older)), { force: true });
  return () => {
    const temporaryFile = temporaryPath(dir);
    writeFileSync(temporaryFile, JSON.stringify({ holder: null }), { mode: 0o600 });
    renameSync(temporaryFile, path);
  };
}

/** Links the file only when it is whole, so that a lock file is never read without its holder. */
function makeExclusively(dir: string, path: string, value: unknown): boolean {
  const temporaryFile = temporaryPath(dir);
  writeFileSync(temporaryFile, JSON.stringify(value), { mode: 0o600 });
  try {
    linkSync(temporaryFile, path);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw new SetupProblem(`cannot lock ${dir}: ${reasonOf(error)}; it has to be on a local disk with hard links`);
  } finally {
    rmSync(temporaryFile, { force: true });
  }
}

const temporaryPath = (dir: string) => join(dir, `.${process.pid}-${randomBytes(4).toString('hex')}`);

function lockTimeout(holder: number, { doing, waitMs }: LockOptions): LockHeld {
  const seconds = Math.round(waitMs / 1000);
  return new LockHeld(
    `process ${holder} has been ${doing} for over ${seconds} s: wait for it, or stop it with \`kill ${holder}\``,
  );
}

/** Runs `work` with the lock held. */
export async function withLock<T>(dir: string, options: LockOptions, work: () => Promise<T>): Promise<T> {
  const release = await takeFileLock(dir, options);
  try {
    return await work();
  } finally {
    release();
  }
}
