// Records which processes use the server of a data folder: a file for each, named by what
// identifies it. Files of dead processes are ignored and swept.
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { isAlive, processIdentity } from '../../system/process/identity.ts';
import { TASK_QUEUE } from '../../workflows/contract/session.ts';
import type { DataFolder } from '../../connection/data-folder.ts';
import { identitySchema } from '../../system/process/file-lock.ts';
import { readJsonFile, writeJsonFile } from '../../system/json.ts';

/** `dev` and `worker` stay until they are stopped, a `command` ends by itself. */
export type MemberRole = 'dev' | 'worker' | 'command';

const memberSchema = identitySchema.extend({
  role: z.enum(['dev', 'worker', 'command']),
  worker: z.boolean(),
  queues: z.array(z.string()).default([TASK_QUEUE]),
});

/** `worker` says that the process polls for tasks of `queues`. */
export type Member = Readonly<z.infer<typeof memberSchema>>;

/**
 * Adds this process, and returns how to remove it. The caller holds the folder's lock for both;
 * `works` needs no lock.
 */
export function registerMember(folder: DataFolder, about: MemberFacts): Registration {
  const identity = processIdentity();
  const path = findFreePath(folder.membersDir, `${identity.pid}-${identity.startTime}`);
  const write = (worker: boolean, queues = about.queues): void =>
    writeJsonFile(path, { ...identity, role: about.role, worker, ...(queues && { queues }) }, 'not durable');
  write(about.worker);
  return { path, works: write, remove: () => rmSync(path, { force: true }) };
}

type MemberFacts = { readonly role: MemberRole; readonly worker: boolean; readonly queues?: readonly string[] };

export type Registration = {
  readonly path: string;
  /** Records whether this process polls for tasks from now on. */
  works(worker: boolean, queues?: readonly string[]): void;
  remove(): void;
};

/** Finds a free path: a process may join more than once, as tests do. */
export function findFreePath(dir: string, name: string): string {
  const used = new Set(readdirSync(dir));
  for (let n = 0; ; n++) {
    const file = n === 0 ? `${name}.json` : `${name}-${n}.json`;
    if (!used.has(file)) return join(dir, file);
  }
}

/**
 * Lists the living members, without the one registered at `except`, and removes the files of the
 * dead.
 */
export function livingMembers({ membersDir }: Pick<DataFolder, 'membersDir'>, except?: string): readonly Member[] {
  const paths = readdirSync(membersDir).map((name) => join(membersDir, name));
  return paths.filter((path) => path.endsWith('.json') && path !== except).flatMap(readIfLiving);
}

/** Lists the living members that poll the queue. */
export function workersOf(folder: DataFolder, taskQueue: string, except?: string): readonly Member[] {
  return livingMembers(folder, except).filter(({ worker, queues }) => worker && queues.includes(taskQueue));
}

function readIfLiving(path: string): readonly Member[] {
  const file = readJsonFile(path, memberSchema);
  if (file.kind === 'read' && isAlive(file.value, 'here') !== 'dead') return [file.value];
  // A living process writes its file whole, so a damaged one is of a process that a power cut
  // ended.
  rmSync(path, { force: true });
  return [];
}
