// What becomes of an attempt at a reply: stored, given up with a value, parked, or thrown for another attempt (L14–L16).
import type { ModelResult } from '../../workflows/contract/activities.ts';
import { addSpend } from '../../workflows/contract/loop.ts';
import type { Attempted } from './attempt-reply.ts';
import { afterEmpty, afterFailure, type AfterFailure, type Tries } from './failed-attempt.ts';
import { spendOf } from './spend.ts';
import { storeReply, type ModelStep } from './store-reply.ts';

export async function settle(step: ModelStep, attempted: Attempted): Promise<ModelResult> {
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
