// One iteration's model call: append what came since, show the model its view, stream the reply, store it, say what the loop
// needs to know of it. Safe to attempt twice: a step record returns what an earlier attempt stored (L16).
import type { CallModel, ModelResult } from '../workflows/contract/activities.ts';
import { addSpend } from '../workflows/contract/loop.ts';
import type { Attempt } from './attempt.ts';
import type { Deps } from './deps.ts';
import { announce } from './live/announce.ts';
import type { LiveWriter } from './live/events.ts';
import { attemptReply, type Attempted } from './model/attempt-reply.ts';
import { afterEmpty, afterFailure, noTries, type AfterFailure, type Tries } from './model/failed-attempt.ts';
import { buildRequest } from './model/request.ts';
import { spendOf } from './model/spend.ts';
import { replyPort } from './model/reply-port.ts';
import { storeReply, type ModelStep } from './model/store-reply.ts';
import { stepRecord } from './step-record.ts';

export function callModel(deps: Deps): (attempt: Attempt, input: CallModel) => Promise<ModelResult> {
  return async (attempt, input) => {
    const config = await deps.config(input.config);
    const record = stepRecord<ModelResult>(deps.store, attempt.session, config.chain, input);
    const known = await record.read();
    const { step, supersedes } = input;
    const live = deps.live.open({
      session: attempt.session,
      step,
      attempt: attempt.number,
      activity: 'callModel',
      ...(supersedes === undefined ? {} : { supersedes }),
    });
    try {
      if (known) return await finish(live, known);
      const base = await deps.transcripts.extend(attempt.session, input.head, input.append);
      announce(live, base.added);
      const tries = (attempt.remembered as Tries | undefined) ?? { ...noTries, failures: input.failures ?? 0 };
      return await finish(live, await reply({ deps, attempt, input, config, live, base, record, tries }));
    } catch (error) {
      await live.end({ type: 'fate', fate: 'died', why: error instanceof Error ? error.message : String(error) });
      throw error;
    }
  };
}

async function finish(live: LiveWriter, result: ModelResult): Promise<ModelResult> {
  if ('head' in result) await live.end({ type: 'fate', fate: 'stored', head: result.head });
  else await live.end({ type: 'fate', fate: 'died', why: 'detail' in result ? result.detail : result.kind });
  return result;
}

async function reply(step: ModelStep): Promise<ModelResult> {
  const { deps, attempt, input, config, live, base } = step;
  const messages = await deps.transcripts.messages(base);
  const body = buildRequest(config, deps.tools.definitions, messages, input.cap);
  live.write({ type: 'request_start', iteration: input.iteration, attempt: attempt.number, model: config.model });
  const attempted = await attemptReply(body, replyPort(deps, attempt, config, live, input, step.tries));
  if (attempted.kind === 'aborted' && attempt.abortedBy() !== 'stop') {
    // Not a stop (L50): the run goes on elsewhere, with nothing of this attempt.
    throw new Error(`the attempt was given up: ${attempt.abortedBy() ?? 'unknown'}`);
  }
  return settle(step, attempted);
}

async function settle(step: ModelStep, attempted: Attempted): Promise<ModelResult> {
  const { deps, config, tries } = step;
  const { message } = attempted;
  const spend = addSpend(tries.spend, spendOf(message?.usage, config.price));
  switch (attempted.kind) {
    case 'aborted':
      return attempted.part
        ? storeReply(step, { ...attempted, message: attempted.part, fate: 'interrupted', spend })
        : { kind: 'nothing', spend };
    case 'failed': {
      const counted = { ...tries, failures: tries.failures + 1, spend };
      return died(step, counted, afterFailure(attempted.verdict, counted, config, deps.now(), deps.random()));
    }
    case 'judged':
      return judged(step, attempted, spend);
  }
}

async function judged(
  step: ModelStep,
  { judged: verdict, early, message }: Extract<Attempted, { kind: 'judged' }>,
  spend: Tries['spend'],
): Promise<ModelResult> {
  switch (verdict.kind) {
    case 'empty': {
      const counted = { ...step.tries, empties: step.tries.empties + 1, spend };
      return died(step, counted, afterEmpty(counted, step.config, step.deps.random()));
    }
    case 'refused':
      return { kind: 'refused', detail: verdict.detail, spend };
    case 'window_exceeded':
      return { kind: 'too_long', detail: `${message.model}: the context window is exceeded`, spend };
    case 'cut_off':
      return storeReply(step, { message: verdict.message, calls: [], fate: 'cut', spend });
    case 'reply': {
      const fate = verdict.cut ? 'cut' : 'whole';
      return storeReply(step, { message: verdict.message, calls: verdict.calls, fate, spend, early });
    }
  }
}

/** Remember, announce before the wait, and throw for Temporal; or the value it came to. */
function died({ input, live, attempt }: ModelStep, tries: Tries, after: AfterFailure): ModelResult {
  if (after.kind === 'result') return after.result;
  attempt.remember(tries, 'now');
  const { iteration } = input;
  const error = after.failure.message;
  live.write({ type: 'retry', iteration, failures: tries.failures, delayMs: after.delayMs, error });
  throw after.failure;
}
