// Finds out before a step whether this host has lost the session's folder, as a machine that came
// back with an empty disk: then the step is made where the folder can be restored (T18).
import { stat } from 'node:fs/promises';
import { ApplicationFailure } from '@temporalio/common';
import { HOST_EMPTIED } from '../../workflows/contract/failures.ts';
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import type { RunConfig } from '../../store/configuration.ts';
import { codeOf } from '../../system/text.ts';
import type { ActivityBody, Attempt } from '../attempt.ts';
import type { Deps } from '../deps.ts';
import { readHostRecords } from './host-record.ts';

/** `root`: the session of the person, whose agents work in the same folder. */
type HostedFolder = { readonly session: SessionId; readonly root: SessionId; readonly cwd: string };

/**
 * Tells whether this host has lost the folder of a session, also where it has restored it since for
 * another one that works in it. A folder that is missing although this host has noted the session
 * was removed by somebody.
 */
export async function isEmptied(
  { host, hosts, store }: Pick<Deps, 'host' | 'hosts' | 'store'>,
  { session, root, cwd }: HostedFolder,
): Promise<boolean> {
  if (!host || !hosts || hosts.hosted.has(session)) return false;
  if (!(await isFolderThere(cwd))) return true;
  const { records } = await readHostRecords(store, root);
  const last = records.findLast(({ folders }) => folders.includes(cwd));
  return last?.from === host.id && last.host.id === host.id && last.session !== session;
}

export function emptiedFailure({ host }: Pick<Deps, 'host'>, cwd: string): ApplicationFailure {
  const message = `host ${host?.name ?? ''} has lost the folder ${cwd} of this session`;
  return ApplicationFailure.create({ type: HOST_EMPTIED, message, nonRetryable: true });
}

/** Makes a body that begins nothing where its folder is lost. */
export function requireFolder(deps: Deps) {
  return <Input extends { readonly config: Hash }, Output>(
    body: ActivityBody<Input, Output>,
    { unless = () => false }: { readonly unless?: (input: Input) => boolean } = {},
  ): ActivityBody<Input, Output> => {
    if (!deps.hosts) return body;
    return async (attempt, input) => {
      if (!unless(input)) await findFolder(deps, attempt, await deps.config(input.config));
      return body(attempt, input);
    };
  };
}

/** A session that followed another one here is noted with its first step. */
async function findFolder(deps: Deps, { session, temporal }: Attempt, config: RunConfig): Promise<void> {
  const { cwd, folders = [], agent } = config;
  if (await isEmptied(deps, { session, root: agent?.root ?? session, cwd })) throw emptiedFailure(deps, cwd);
  const { hosted } = deps.hosts ?? {};
  if (hosted?.has(session) === false) hosted.note(session, [cwd, ...folders], temporal?.options.namespace);
}

/** Tells whether a folder is there; what keeps a worker from looking at it counts as there. */
export async function isFolderThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: unknown) => codeOf(error) !== 'ENOENT',
  );
}
