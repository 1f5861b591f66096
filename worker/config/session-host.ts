// Finds the host that a worker's sessions stay on, where machines share a store: steps that need a
// session's folder go to the workers that have its disk. A machine with a store of its own needs no
// host: all of its workers have all of its folders (W7, W10).
import { randomBytes } from 'node:crypto';
import { isAbsolute, join, resolve } from 'node:path';
import { z } from 'zod';
import { hostName, machineId } from '../../system/process/identity.ts';
import type { SessionHost } from '../../workflows/contract/session.ts';
import type { Env } from '../../connection/data-folder.ts';
import { readJsonFile, writeJsonFile } from '../../system/json.ts';
import { SetupProblem } from '../../system/setup-problem.ts';

/** How sessions come and go between hosts (T18). */
export type HostSettings = { readonly graceMs?: number | undefined };

/** Milliseconds. A deploy, or the restart of a machine, takes less. */
export const HOST_GRACE_MS = 120_000;

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,59}$/;
const schema = z.object({ id: z.string().regex(NAME) });

/** Throws SetupProblem for a `PERDURE_HOST` that is not a name. */
export function findSessionHost(env: Env, storePlace: string, dataDir: string): SessionHost | undefined {
  const setting = env['PERDURE_HOST']?.trim();
  if (setting && !NAME.test(setting))
    throw new SetupProblem('PERDURE_HOST is no name of a host: give letters, digits, ".", "_" and "-", at most 60');
  if (isAbsolute(storePlace)) return undefined;
  return setting ? { id: setting, name: setting } : { id: machineId() ?? readOrMakeId(dataDir), name: hostName() };
}

/** What becomes of the sessions of a host that drains: they wait for it, or move to others (D7). */
export type DrainPolicy = 'stay' | 'leave';

/** Throws SetupProblem for a `PERDURE_ON_DRAIN` that is neither. */
export function readDrainPolicy(env: Env): DrainPolicy {
  const setting = env['PERDURE_ON_DRAIN']?.trim() || 'stay';
  if (setting === 'stay' || setting === 'leave') return setting;
  throw new SetupProblem(`PERDURE_ON_DRAIN is ${JSON.stringify(setting.slice(0, 40))}: give "stay" or "leave"`);
}

/**
 * Returns the folder below which a worker makes the workspaces of new sessions, where they are
 * missing. Throws SetupProblem for a `PERDURE_WORKSPACES` that is no absolute path.
 */
export function readWorkspaces(env: Env): string | undefined {
  const setting = env['PERDURE_WORKSPACES']?.trim() || undefined;
  if (setting !== undefined && !isAbsolute(setting))
    throw new SetupProblem(`PERDURE_WORKSPACES is ${JSON.stringify(setting.slice(0, 40))}: give an absolute path`);
  return setting && resolve(setting);
}

/** Returns an id kept in the data folder, for a machine whose system has none. */
function readOrMakeId(dataDir: string): string {
  const path = join(dataDir, 'host.json');
  const stored = readJsonFile(path, schema);
  if (stored.kind === 'read') return stored.value.id;
  const id = randomBytes(8).toString('hex');
  writeJsonFile(path, { id }, 'durable');
  return id;
}
