// Settles an attempt at a reply: stores it, gives up with a value, parks, or throws for another
// attempt (L14–L16, L19).
import type { Message } from '@anthropic-ai/sdk/resources/messages';
import type { ModelCallAnswer } from '../../workflows/contract/activities.ts';
import { GIVEN_UP, NOT_RUN_INTERRUPTED, NOT_RUN_SPENT } from '../../workflows/contract/calls.ts';
import { addSpend, spentLimit, totalTokens } from '../../workflows/contract/loop.ts';
import type { CallBlock, CallOutcome } from '../calls/call-port.ts';
import type { AttemptOutcome, EarlyEnds } from './attempt-reply.ts';
import { shortenDetail, classifyFailure, maxOutputIn, type Verdict } from './classify.ts';
import {
  type AbandonedAttempt,
  afterEmpty,
  afterFailure,
  type AfterFailure,
  countFailure,
  fallBack,
  type GivenUp,
  type Tries,
  keepWait,
  type WaitingStep,
} from './refused/failed-attempt.ts';
import { runOpenCalls } from './run-open-calls.ts';
import { pricesOf, spendOf } from './bill.ts';
import { MOST_NAME, storeReply, UnwritableReply } from './store-reply.ts';
import type { ModelStep } from './step.ts';
import { runFields } from '../../system/log.ts';

/** The model hears of at most this many calls of an abandoned attempt. */
const MOST_CALLS = 20;
/** How many characters of a name are searched for secrets; the rest is not shown. */
const MOST_REDACTED = 2_000;

export async function settle(step: ModelStep, outcome: AttemptOutcome): Promise<ModelCallAnswer> {
  try {
    return await settleAttempt(step, outcome);
  } catch (error) {
    if (!(error instanceof UnwritableReply)) throw error;
    if (outcome.kind !== 'aborted') return settleAttempt(step, { ...outcome, kind: 'failed', error: error.cause });
    reportDefect(step, error.cause);
    return settleAttempt(step, { ...outcome, part: null });
  }
}

async function settleAttempt(step: ModelStep, outcome: AttemptOutcome): Promise<ModelCallAnswer> {
  const { deps, config, tries } = step;
  const { message, usage } = outcome;
  const spend = addSpend(tries.spend, spendOf(usage, pricesOf(step)));
  switch (outcome.kind) {
    case 'aborted':
      return outcome.part
        ? (
            await storeReply(step, {
              ...withNotRun(outcome, NOT_RUN_INTERRUPTED),
              message: outcome.part,
              fate: 'interrupted',
              spend,
            })
          ).result
        : { kind: 'nothing', spend };
    case 'failed': {
      const verdict = withMaximum(
        classifyFailure(outcome.error, deps.now(), deps.redact, config.overflowWords) ??
          reportDefect(step, outcome.error),
        step,
      );
      if (verdict.kind === 'too_long' && verdict.window !== undefined)
        deps.models.learn(step.chosen.model.name, verdict.window);
      const counted = countFailure(tries, verdict, spend);
      const death = { verdict, tries: counted, abandoned: describeAbandoned(step, message), random: deps.random() };
      return settleDeath(step, counted, afterFailure(death, config));
    }
    case 'judged':
      return settleJudged(step, outcome, spend);
  }
}

/**
 * Outcomes are stored in the model's order (L35): a call before the last known one did not run, or
 * came to nothing, and will not run.
 */
function withNotRun({ calls, early }: StoredCalls, why: string): StoredCalls {
  const { started, outcomes } = early;
  const known = calls.slice(0, calls.findLastIndex(({ index }) => outcomes.has(index)) + 1);
  const filled = known.map((call) => [call.index, outcomes.get(call.index) ?? notRun(call, started, why)] as const);
  return { calls, early: { started, outcomes: new Map(filled) } };
}

type StoredCalls = { readonly calls: readonly CallBlock[]; readonly early: EarlyEnds };

function notRun({ index, id, name }: CallBlock, started: EarlyEnds['started'], why: string): CallOutcome {
  const [content, fate] = started.has(index)
    ? ([GIVEN_UP, { decision: 'allowed', outcome: 'cancelled' }] as const)
    : ([why, { decision: 'not_run', outcome: 'not_run' }] as const);
  const outcome = { index, toolUseId: id, isError: true, content, log: { key: null, name, duration: 0, ...fate } };
  return { outcome, facts: { cancelled: true } };
}

function withMaximum(verdict: Verdict, { input: { cap } }: ModelStep): Verdict {
  const maxOutput = maxOutputIn(verdict, cap);
  return maxOutput === undefined ? verdict : { ...verdict, kind: 'failed', maxOutput };
}

async function settleJudged(
  step: ModelStep,
  { verdict, early, message }: Extract<AttemptOutcome, { kind: 'judged' }>,
  spend: Tries['spend'],
): Promise<ModelCallAnswer> {
  const say = (detail: string): string => shortenDetail(detail, step.deps.redact);
  switch (verdict.kind) {
    case 'empty': {
      // A run that sums up reserved the cost of one call only (L51).
      if (step.input.wrapUp) return { kind: 'failed', detail: say(`${message.model} answered with nothing`), spend };
      const counted = { ...step.tries, empties: step.tries.empties + 1, spend };
      return settleDeath(step, counted, afterEmpty(counted, step.config, step.deps.random()));
    }
    case 'refused': {
      const detail = say(verdict.detail);
      return fallBack(describeAbandoned(step, message), detail, spend) ?? { kind: 'refused', detail, spend };
    }
    case 'window_exceeded':
      return { kind: 'too_long', detail: say(`${message.model}: the context window is exceeded`), spend };
    case 'cut_off':
      return (await storeReply(step, { message: verdict.message, calls: [], fate: 'cut', spend })).result;
    case 'reply': {
      const fate = verdict.cut ? 'cut' : 'whole';
      const { message: reply, calls } = verdict;
      // Without a budget no call will run after the reply, and none behind an open one is adopted.
      const isSpent = spentLimit(step.input.left ?? {}, spend) !== null;
      const known = isSpent ? withNotRun({ calls, early }, NOT_RUN_SPENT) : { calls, early };
      const { result, first } = await storeReply(step, { ...known, message: reply, fate, spend });
      if (!first) return result;
      const answer = await runOpenCalls(step, result, calls, early.outcomes);
      await captureEarly(step, answer);
      return answer;
    }
  }
}

/** Begins the next capture where all calls have run, and one may have changed files (T1). */
async function captureEarly({ deps, config, base, files }: ModelStep, answer: ModelCallAnswer): Promise<void> {
  if (!deps.snapshots?.captures(config) || answer.kind !== 'message') return;
  const { calls, head } = answer;
  const mayHaveChanged = calls.some(({ ran, safe }) => ran && !safe);
  if (!mayHaveChanged || !calls.every(({ ran, outcome }) => ran ?? outcome)) return;
  deps.snapshots.captureEarly({ config, head, view: base.view, files: (await files) ?? null });
}

function describeAbandoned({ deps, chosen: { model, next } }: ModelStep, message: Message | null): AbandonedAttempt {
  const calls = (message?.content ?? []).flatMap((block) => (block.type === 'tool_use' ? [block.name] : []));
  return {
    from: model.name,
    to: next,
    calls: calls.slice(0, MOST_CALLS).map((name) => deps.redact(name.slice(0, MOST_REDACTED)).slice(0, MOST_NAME)),
  };
}

/** The step of a failed attempt, which may also be a compaction. */
type FailedStep = WaitingStep &
  Pick<ModelStep, 'attempt' | 'live'> & {
    readonly input: Pick<ModelStep['input'], 'iteration' | 'left'>;
  };

/**
 * Remembers and announces the wait, then throws for Temporal. Returns the value if the failure
 * ended in one. A parking is a wait, too.
 */
export async function settleDeath(step: FailedStep, tries: Tries, after: AfterFailure): Promise<GivenUp> {
  const { input, live, attempt } = step;
  const failures = tries.failures + tries.empties;
  const announce = (delayMs: number, error: string): void =>
    live.write({ type: 'retry', iteration: input.iteration, failures, delayMs, error });
  if (after.kind === 'result') {
    const { result } = after;
    if (result.kind !== 'parked') return result;
    await keepWait(step, tries, result);
    announce(result.waitMs, result.detail);
    return result;
  }
  const { message } = after.failure;
  const exhausted = notAgain(input, tries, message);
  if (exhausted) return exhausted;
  attempt.remember(tries, 'now');
  if (after.requested) await keepWait(step, tries, { waitMs: after.delayMs, detail: message });
  announce(after.delayMs, message);
  throw after.failure;
}

/**
 * Returns the end of the call once the bills of earlier attempts use up the run's budget (L51 L69),
 * else null. `died` says how the last of them ended.
 */
export function notAgain({ left = {} }: FailedStep['input'], { spend }: Tries, died: string): GivenUp | null {
  if (totalTokens(spend.usage) === 0 || !spentLimit(left, spend)) return null;
  return { kind: 'failed', detail: `${died}; not tried again, for the budget of the run is spent`, spend };
}

/**
 * Reports an error of neither the model nor the store: a defect that the reply's content set off.
 * The attempt counts with its bill, or it would repeat and be paid for without end (L14, L51). The
 * worker's log has the stack, the readers of the failed call the sentence.
 */
function reportDefect(
  { deps, config, input, attempt }: Pick<ModelStep, 'deps' | 'config' | 'input' | 'attempt'>,
  error: unknown,
): Extract<Verdict, { kind: 'retry' }> {
  const detail = shortenDetail(
    `a reply could not be taken: ${String(error)} (a defect of Perdure: please report it)`,
    deps.redact,
  );
  const stack = error instanceof Error && error.stack !== undefined ? { stack: error.stack } : {};
  const { iteration } = input;
  deps.log('error', detail, { ...runFields(config), iteration, attempt: attempt.number, ...stack });
  return { kind: 'retry', detail, defect: true };
}
