// Opens a session with its first message, or gives one that is open its next; and looks at one, which must be of this store.
import type { SessionId } from '../workflows/contract/ids.ts';
import { withChanges } from '../workflows/contract/option-changes.ts';
import { TASK_QUEUE, type RunOptions, type SessionInput } from '../workflows/contract/session.ts';
import type { ClientOptions, Sent, StartOptions } from './client.ts';
import { messageOf, titleOf, wrongWith } from './message.ts';
import { ClientProblem } from './problem.ts';
import { checkedId, newSessionId } from './session-id.ts';
import type { SessionDescription } from './session-info.ts';
import { describe, elsewhereProblem, signalWithStart } from './session-send.ts';

export async function describeHere(
  { temporal, storeId }: ClientOptions,
  session: SessionId,
): Promise<SessionDescription> {
  const description = await describe(temporal, session);
  const problem = storeId && elsewhereProblem(description, await storeId());
  if (problem) throw problem;
  return description;
}

/** Null when nobody has opened it. */
async function openedBefore(client: ClientOptions, session: SessionId): Promise<SessionDescription | null> {
  try {
    return await describeHere(client, session);
  } catch (error) {
    if (error instanceof ClientProblem && error.kind === 'no_session') return null;
    throw error;
  }
}

export async function startSession(client: ClientOptions, task: string, start: StartOptions): Promise<Sent> {
  const { session: id, newId, messageId, ifNew = {}, workers, ...given } = start;
  const session = checkedId(id ?? newId ?? newSessionId());
  // A new session has nothing that null could take back.
  const options: RunOptions = { cwd: process.cwd(), ...ifNew, ...withChanges<Partial<RunOptions>>({}, given) };
  // A session that is open already has options of its own: those given hold from its next run on.
  const message = await messageOf(client.store, task, messageId, id === undefined ? undefined : given);
  const problem = wrongWith(options);
  if (problem !== undefined) throw new ClientProblem('refused', problem);
  const input: SessionInput = {
    options,
    title: titleOf(task),
    visibility: await client.visibility(),
    ...(client.profile === undefined ? {} : { profile: client.profile }),
    ...(client.sealed ? { sealed: true } : {}),
  };
  const any = { taskQueue: client.taskQueue ?? TASK_QUEUE, configuration: null };
  if (id !== undefined && client.storeId) await openedBefore(client, session);
  const store = await client.storeId?.();
  await signalWithStart(client.temporal, { session, input, message, workers: workers ?? any, store, now: Date.now() });
  return { session, messageId: message.id };
}
