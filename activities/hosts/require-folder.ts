// Finds out before a step whether this host has lost the session's folder, as a machine that came
// back with an empty disk: then the step is made where the folder can be restored (T18).
import { stat } from 'node:fs/promises';
import { ApplicationFailure } from '@temporalio/common';
import { HOST_EMPTIED } from '../../workflows/contract/failures.ts';
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import type { ActivityBody } from '../attempt.ts';
import type { Deps } from '../deps.ts';
import { codeOf } from '../../system/text.ts';

/** A folder that is missing although this host has noted the session was removed by somebody. */
export async function isEmptied({ hosts }: Pick<Deps, 'hosts'>, session: SessionId, cwd: string): Promise<boolean> {
  return hosts !== undefined && !hosts.hosted.has(session) && !(await isFolderThere(cwd));
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
      const { cwd } = await deps.config(input.config);
      if (!unless(input) && (await isEmptied(deps, attempt.session, cwd))) throw emptiedFailure(deps, cwd);
      return body(attempt, input);
    };
  };
}

/** Tells whether a folder is there; what keeps a worker from looking at it counts as there. */
async function isFolderThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: unknown) => codeOf(error) !== 'ENOENT',
  );
}
