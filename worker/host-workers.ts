// The workers that this data folder has had: a file each, which a worker removes when it ends. A
// file that is left says that its worker died, and only then is there something to take over.
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { isAlive, processIdentity } from '../system/process/identity.ts';
import { identitySchema } from '../system/process/file-lock.ts';
import { findFreePath } from './embedded/members.ts';
import { readJsonFile, writeJsonFile } from '../system/json-file.ts';

const schema = identitySchema.extend({ taskQueue: z.string() });

/**
 * Rounds in which the sessions of a dead worker are looked at: a server that was killed with it
 * lists them late.
 */
const ROUNDS = 3;

type HostWorkers = {
  /**
   * Tells whether a worker of the queue has died that was not looked after in enough rounds, and
   * counts this round.
   */
  haveDied(): boolean;
  /** Removes this process, which has stopped working. */
  leave(): void;
};

/** Adds this process to the workers of the queue. */
export function joinWorkers(dir: string, taskQueue: string): HostWorkers {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const own = processIdentity();
  const path = findFreePath(dir, `${own.pid}-${own.startTime}`);
  writeJsonFile(path, { ...own, taskQueue }, 'not durable');
  const rounds = new Map<string, number>();
  const isDead = (file: string): boolean => {
    const read = readJsonFile(file, schema);
    if (read.kind === 'absent') return false;
    return read.kind === 'damaged' || (read.value.taskQueue === taskQueue && isAlive(read.value, 'here') === 'dead');
  };
  return {
    haveDied() {
      const files = readdirSync(dir).map((name) => join(dir, name));
      const dead = files.filter((file) => file.endsWith('.json') && file !== path && isDead(file));
      for (const file of dead) {
        const round = (rounds.get(file) ?? 0) + 1;
        rounds.set(file, round);
        if (round >= ROUNDS) rmSync(file, { force: true });
      }
      return dead.length > 0;
    },
    leave: () => rmSync(path, { force: true }),
  };
}
