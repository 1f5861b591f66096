// Who uses the server of a data folder: a file for each process, named by what identifies it. The
// dead are ignored and swept.
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { isAlive, processIdentity } from '../../system/process/identity.ts';
import { TASK_QUEUE } from '../../workflows/contract/session.ts';
import type { DataFolder } from '../../connection/data-folder.ts';
import { identitySchema } from './file-lock.ts';
import { readJsonFile, writeJsonFile } from '../../system/json-file.ts';

/** `dev` and `worker` stay until they are stopped, a `command` ends by itself. */
export type Role = 'dev' | 'worker' | 'command';

const memberSchema = identitySchema.extend({
  role: z.enum(['dev', 'worker', 'command']),
  worker: z.boolean(),
  queues: z.array(z.string()).default([TASK_QUEUE]),
});

/** `worker`: it polls for tasks, of `queues`. */
export type Member = Readonly<z.infer<typeof memberSchema>>;

/**
 * Adds this process and returns how to take it off. The caller holds the folder's lock for both;
 * `works` needs none.
 */
export function register(folder: DataFolder, about: About): Registration {
  const identity = processIdentity();
  const path = freePath(folder, `${identity.pid}-${identity.startTime}`);
  const write = (worker: boolean, queues = about.queues): void =>
    writeJsonFile(path, { ...identity, role: about.role, worker, ...(queues && { queues }) }, 'not durable');
  write(about.worker);
  return { path, works: write, remove: () => rmSync(path, { force: true }) };
}

type About = { readonly role: Role; readonly worker: boolean; readonly queues?: readonly string[] };

export type Registration = {
  readonly path: string;
  /** Whether from now on it counts as one that polls. */
  works(worker: boolean, queues?: readonly string[]): void;
  remove(): void;
};

/** A process may join more than once, as tests do. */
function freePath({ membersDir }: DataFolder, name: string): string {
  const taken = new Set(readdirSync(membersDir));
  for (let n = 0; ; n++) {
    const file = n === 0 ? `${name}.json` : `${name}-${n}.json`;
    if (!taken.has(file)) return join(membersDir, file);
  }
}

/** The living, without the one registered at `except`. Removes the files of the dead. */
export function livingMembers({ membersDir }: DataFolder, except?: string): readonly Member[] {
  const paths = readdirSync(membersDir).map((name) => join(membersDir, name));
  return paths.filter((path) => path.endsWith('.json') && path !== except).flatMap(living);
}

/** Those that poll the queue. */
export function workersOf(folder: DataFolder, taskQueue: string, except?: string): readonly Member[] {
  return livingMembers(folder, except).filter(({ worker, queues }) => worker && queues.includes(taskQueue));
}

function living(path: string): readonly Member[] {
  const file = readJsonFile(path, memberSchema);
  if (file.kind === 'read' && isAlive(file.value, 'here') !== 'dead') return [file.value];
  // Written whole while it lives, so a damaged one is of a process that a power cut ended.
  rmSync(path, { force: true });
  return [];
}
