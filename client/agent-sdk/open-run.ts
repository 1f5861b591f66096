// The run of a session that is in progress when a query begins or ends.
import { awaitInTime } from '../../system/async.ts';
import { reasonOf } from '../../system/text.ts';
import type { MessageId, SessionId } from '../../workflows/contract/ids.ts';
import { isAtRest } from '../follow/goal.ts';
import { ClientProblem } from '../problem.ts';
import type { SessionDescription } from '../index.ts';
import { asksSomebody } from './permission-modes.ts';
import type { Running } from './send-messages.ts';

/**
 * Milliseconds for a run to end that the program no longer reads. Its worker is this process, which
 * may exit afterwards.
 */
export const STOPPING_MS = 5_000;

/** Tells whether the session has a run that the program can see to its end. */
export async function hasOpenRun(running: Running): Promise<boolean> {
  const found = await describeEarlier(running);
  if (found === null || isAtRest(found)) return false;
  if (found.phase !== 'waiting_approval' || asksSomebody(running.options)) return true;
  const { session } = running.workplace;
  running.say(`a call of session ${session} waits: give the option canUseTool, or decide with \`perdure approvals\``);
  return false;
}

/** Returns the last run of a session that another query began, since it is not told again. */
export async function countEarlierRuns(running: Running): Promise<number> {
  return (await describeEarlier(running))?.last?.run ?? 0;
}

async function describeEarlier({ workplace, options }: Running): Promise<SessionDescription | null> {
  if (options.resume === undefined && options.sessionId === undefined) return null;
  try {
    return await workplace.sessions.describe(workplace.session);
  } catch (error) {
    if (!(error instanceof ClientProblem) || error.kind !== 'no_session' || options.resume !== undefined) throw error;
    return null;
  }
}

/**
 * Interrupts the runs of unanswered messages when the program stops reading, as the exit of an
 * in-process agent would; null stands for the one that it found under way. A program with a name
 * sends its messages again when it asks again.
 */
export async function stopRuns(
  { workplace: { sessions }, program, say }: Running,
  session: SessionId,
  unanswered: readonly (MessageId | null)[],
): Promise<void> {
  const enough = new AbortController();
  const stop = async (message: MessageId | null): Promise<void> => {
    if (message !== null) program.leave(message);
    await sessions.interrupt(session);
    for await (const _ of sessions.follow(session, { messageId: message ?? undefined, signal: enough.signal }));
  };
  const stopAll = async (): Promise<string> => {
    for (const message of unanswered) await stop(message);
    return '';
  };
  const late = `the run of session ${session} is still being interrupted`;
  const problem = await awaitInTime(stopAll().catch(reasonOf), late, STOPPING_MS);
  enough.abort();
  if (problem !== '') say(problem);
}
