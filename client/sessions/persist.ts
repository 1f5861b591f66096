// Repeats calls that must reach a busy or restarting server. An error does not mean that nothing
// was applied, so only calls that apply once however often they are sent may go this way: messages,
// signals and decisions carry an id (L61).
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { GRPC, readGrpcFailure } from '../../connection/grpc-failure.ts';
import { ClientProblem } from '../problem.ts';

export type Patience = {
  /** Milliseconds. */
  readonly total: number;
  readonly oneCall: number;
  readonly pause: number;
};

export const patience: Patience = { total: 60_000, oneCall: 10_000, pause: 250 };
/** For a look that can be taken again. */
export const impatient: Patience = { ...patience, total: patience.oneCall };

/** gRPC codes worth another try: deadline exceeded, resource exhausted, aborted, unavailable. */
const AGAIN: ReadonlySet<number | undefined> = new Set([4, 8, 10, 14]);

/**
 * `doing` says for the sentence what was attempted. Throws ClientProblem `unanswered` when patience
 * ends.
 */
export async function callUntilAnswered<T>(
  client: Client,
  doing: string,
  call: () => Promise<T>,
  { total, oneCall, pause }: Patience = patience,
): Promise<T> {
  const deadline = Date.now() + total;
  for (;;) {
    try {
      return await client.withDeadline(Date.now() + oneCall, call);
    } catch (error) {
      if (!isPassing(error)) throw error;
      if (Date.now() + pause > deadline) throw noAnswerProblem(doing, total, error);
      await sleep(pause);
    }
  }
}

/** Marks an answer of the server that will change in a moment. */
export class NotYet extends Error {
  override readonly name = 'NotYet';
  constructor(cause: Error) {
    super(cause.message, { cause });
  }
}

/**
 * A session that got too many signals at once refuses more until it has continued as new. A session
 * whose task failed or took too long refuses updates until the task is repeated.
 */
function isPassing(error: unknown): boolean {
  if (error instanceof NotYet) return true;
  const { code, why } = readGrpcFailure(error);
  const isFull = code === GRPC.invalidArgument && /signal/i.test(why) && /limit|exceed/i.test(why);
  const isTaskFailing = code === GRPC.failedPrecondition && /workflow task/i.test(why);
  return AGAIN.has(code) || isFull || isTaskFailing;
}

function noAnswerProblem(doing: string, total: number, error: unknown): ClientProblem {
  const { why } = readGrpcFailure(error);
  const sentence = `cannot ${doing}: the Temporal server did not take it for ${Math.round(total / 1000)} s (${why})`;
  return new ClientProblem('unanswered', `${sentence}; see that it runs and try again`, { cause: error });
}
