// Checks before a step whether this host has lost the session's folder, like a machine that came
// back with an empty disk, or whether the session's agents there have left. The step then goes
// where the folder can be restored, or where they are (T18).
import { stat } from 'node:fs/promises';
import { ApplicationFailure } from '@temporalio/common';
import { FOLDER_LEFT, HOST_EMPTIED } from '../../workflows/contract/failures.ts';
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import type { RunConfig } from '../../store/configuration.ts';
import { codeOf } from '../../system/text.ts';
import type { ActivityBody, Attempt } from '../attempt.ts';
import type { Deps } from '../deps.ts';
import { findLastMove, readHostRecords, recordsSince } from './host-record.ts';

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
  return <Input extends { readonly config: Hash; readonly follows?: true }, Output>(
    body: ActivityBody<Input, Output>,
    { unless = () => false }: { readonly unless?: (input: Input) => boolean } = {},
  ): ActivityBody<Input, Output> => {
    if (!deps.hosts) return body;
    return async (attempt, input) => {
      if (!unless(input)) {
        const config = await deps.config(input.config);
        await findFolder(deps, attempt, config);
        if (input.follows) await findOthers(deps, attempt, config);
      }
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

/**
 * Throws where an agent of the session, its parent or another agent has left this host with the
 * folder: of the two folders only the other one is still the session's. A move of the session's own
 * was not heard of by its workflow, which has the last word.
 */
async function findOthers({ host, store }: Deps, { session }: Attempt, { cwd, agent }: RunConfig): Promise<void> {
  if (!host) return;
  const { records } = await readHostRecords(store, agent?.root ?? session);
  const last = findLastMove(recordsSince(records, cwd, host.id), host.id);
  if (!last || last.session === session) return;
  const message = `session ${last.session}, which works in ${cwd} with this one, is on host ${last.host.name} now`;
  throw ApplicationFailure.create({ type: FOLDER_LEFT, message, nonRetryable: true });
}

/** Tells whether a folder is there; what keeps a worker from looking at it counts as there. */
export async function isFolderThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: unknown) => codeOf(error) !== 'ENOENT',
  );
}
