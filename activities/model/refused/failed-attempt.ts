// Decides what follows an attempt that died: go on with the next model, give up with a value, park,
// or have Temporal try again after a wait that holds no slot (L14, L15, L19, L20).
import { createHash } from 'node:crypto';
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import type { ModelResult } from '../../../workflows/contract/activities.ts';
import { MODEL_ATTEMPT_DIED } from '../../../workflows/contract/failures.ts';
import type { Hash } from '../../../workflows/contract/ids.ts';
import { noSpend, type Spend } from '../../../workflows/contract/loop.ts';
import type { RunConfig } from '../../../store/configuration.ts';
import { backoffMs, type Verdict } from '../classify.ts';
import type { Attempt } from '../../attempt.ts';
import type { ModelDeps } from '../../model-deps.ts';
import { keySegment } from '../../../store/values/store.ts';

/** Retries after a defect of ours: another reply may avoid it, but each costs money. */
const MOST_OF_DEFECT = 2;

const isDefect = (verdict: Verdict): boolean => verdict.kind === 'retry' && verdict.defect === true;

/** Answers of "overloaded" after which a model is given up for the next (L19). */
const MAX_OVERLOADS = 3;

/** The memory that the attempts of one call have of those before them. */
export type Tries = {
  /** Attempts that the API failed, over all workers; a worker's death does not count. */
  readonly failures: number;
  /** How many of them were a 529. */
  readonly overloads: number;
  readonly empties: number;
  /** The bill of attempts that died, and of the parts of a paused reply so far. */
  readonly spend: Spend;
  /** Where the paused reply is stored (L88). */
  readonly paused?: Hash;
};

export const noTries: Tries = { failures: 0, overloads: 0, empties: 0, spend: noSpend };

/** The result of a call without a reply. */
export type GivenUp = Extract<ModelResult, { readonly detail: string }>;

export type AfterFailure =
  | { readonly kind: 'result'; readonly result: GivenUp }
  /** `requested`: the provider asked for this wait. */
  | {
      readonly kind: 'retry';
      readonly delayMs: number;
      readonly requested: boolean;
      readonly failure: ApplicationFailure;
    };

/**
 * The attempt that died: which model it asked, which is next in the list, and the calls it had
 * begun to make.
 */
export type AbandonedAttempt = {
  readonly from: string;
  /** The next model; null at the end of the list. */
  readonly to: string | null;
  readonly calls: readonly string[];
};

/** Counts a failure that `tries` does not include yet. */
export function countFailure(tries: Tries, verdict: Verdict, spend: Spend): Tries {
  const overloaded = 'status' in verdict && verdict.status === 529;
  return { ...tries, failures: tries.failures + 1, overloads: tries.overloads + (overloaded ? 1 : 0), spend };
}

/** `tries` includes the failure already. `random` is from 0 up to 1. */
type AttemptDeath = {
  readonly verdict: Verdict;
  readonly tries: Tries;
  readonly abandoned: AbandonedAttempt;
  readonly random: number;
};

export function afterFailure(
  { verdict, tries, abandoned, random }: AttemptDeath,
  { backoff }: Pick<RunConfig, 'backoff'>,
): AfterFailure {
  const { spend, failures } = tries;
  const { detail } = verdict;
  const maxRetries = isDefect(verdict) ? Math.min(MOST_OF_DEFECT, backoff.maxRetries) : backoff.maxRetries;
  const next = isGivenUp(verdict, tries, maxRetries) ? fallBack(abandoned, detail, spend) : null;
  if (next) return { kind: 'result', result: next };
  if (verdict.kind !== 'retry') return { kind: 'result', result: asResult(verdict, spend) };
  const status = verdict.status === undefined ? {} : { status: verdict.status };
  if (failures > maxRetries) {
    const exhausted = `${detail} (${failures} attempts failed)`;
    return { kind: 'result', result: { kind: 'failed', detail: exhausted, ...status, spend } };
  }
  const { afterMs } = verdict;
  if (afterMs !== undefined) return afterWait({ waitMs: afterMs, detail }, tries, { backoff });
  const delayMs = backoffMs(backoff, failures, random);
  return { kind: 'retry', delayMs, requested: false, failure: retryIn(delayMs, detail) };
}

/** Turns refusals of a part of the request into results, where the loop has no answer to them. */
function asResult(verdict: Exclude<Verdict, { kind: 'retry' }>, spend: Spend): GivenUp {
  switch (verdict.kind) {
    case 'unbound_thinking':
    case 'refused_summary':
    case 'refused_role':
    case 'refused_tools':
    case 'refused_definition':
    case 'unresolved_tool':
    case 'refused_field':
      return { kind: 'failed', detail: verdict.detail, status: verdict.status, spend };
    case 'failed': {
      const { unusable: _, ...failed } = verdict;
      return { ...failed, spend };
    }
    default:
      return { ...verdict, spend };
  }
}

/** Follows a wait that the provider asked for; a long one parks the run. */
export function afterWait(
  { waitMs, detail }: Wait,
  { failures, overloads, spend }: Tries,
  { backoff }: Pick<RunConfig, 'backoff'>,
): AfterFailure {
  if (waitMs <= backoff.parkOverMs)
    return { kind: 'retry', delayMs: waitMs, requested: true, failure: retryIn(waitMs, detail) };
  const counts = { failures, ...(overloads > 0 ? { overloads } : {}) };
  return { kind: 'result', result: { kind: 'parked', waitMs, ...counts, detail, spend } };
}

/** Moves on to the next model; null without one (L19). */
export function fallBack({ from, to, calls }: AbandonedAttempt, detail: string, spend: Spend): GivenUp | null {
  return to === null ? null : { kind: 'fallback', from, to, calls, detail, spend };
}

/** A rate limit belongs to the account, so another model would only hide it. */
function isGivenUp(verdict: Verdict, { failures, overloads }: Tries, maxRetries: number): boolean {
  if (verdict.kind !== 'retry' && verdict.kind !== 'failed') return false;
  const { status } = verdict;
  if (status === 404) return true;
  if (status === 429) return false;
  if (verdict.kind === 'failed') return verdict.unusable === true || (status !== undefined && status >= 500);
  return failures > maxRetries || (status === 529 && overloads >= MAX_OVERLOADS);
}

/** An empty reply is a failed attempt; at the limit it is an error (L15). */
export function afterEmpty(
  tries: Tries,
  config: Pick<RunConfig, 'maxEmptyReplies' | 'backoff'>,
  random: number,
): AfterFailure {
  const { empties, spend } = tries;
  if (empties >= config.maxEmptyReplies) {
    const detail = `The model answered with nothing ${empties} times in a row.`;
    return { kind: 'result', result: { kind: 'failed', detail, spend } };
  }
  const delayMs = backoffMs(config.backoff, 1, random);
  return { kind: 'retry', delayMs, requested: false, failure: retryIn(delayMs, 'the reply was empty') };
}

function retryIn(delayMs: number, detail: string): ApplicationFailure {
  const nextRetryDelay = Math.max(1, delayMs);
  // The category is benign because the live channel reports it, not the worker's log.
  const category = ApplicationFailureCategory.BENIGN;
  return ApplicationFailure.create({ type: MODEL_ATTEMPT_DIED, message: detail, nextRetryDelay, category });
}

/**
 * One attempt of one step that a provider asked to wait (L14). The wait is stored before it is
 * announced, so that after a worker's death the next attempt waits out the rest.
 */
export type WaitingStep = {
  readonly deps: Pick<ModelDeps, 'store' | 'now'>;
  readonly attempt: Pick<Attempt, 'session' | 'number'>;
  readonly input: unknown;
  readonly config: Pick<RunConfig, 'chain'>;
};

type Wait = { readonly waitMs: number; readonly detail: string };

/** `at` is in milliseconds since the epoch, by the clock of the worker that was asked to wait. */
type StoredWait = Wait & { readonly at: number; readonly tries: Tries };

/** Stores the wait. `tries` includes the failure that it follows. Durable when it resolves. */
export async function keepWait(step: WaitingStep, tries: Tries, { waitMs, detail }: Wait): Promise<void> {
  const stored: StoredWait = { at: step.deps.now(), waitMs, detail, tries };
  await step.deps.store.create(keyOf(step, countOf(tries)), new TextEncoder().encode(JSON.stringify(stored)));
}

/**
 * Returns what is left of a stored wait; null when it is over or Temporal kept it. `tries` is the
 * attempt's memory, which may be older than the stored one. A difference between workers' clocks
 * shifts the wait, but never beyond its whole length.
 */
export async function readRemainingWait(
  step: WaitingStep,
  tries: Tries,
): Promise<(Wait & { readonly tries: Tries }) | null> {
  if (step.attempt.number === 1) return null;
  const count = countOf(tries);
  const stored = (await readWait(step, count + 1)) ?? (await readWait(step, count));
  if (!stored) return null;
  const waitMs = Math.min(stored.waitMs, stored.at + stored.waitMs - step.deps.now());
  return waitMs > 0 ? { waitMs, detail: stored.detail, tries: stored.tries } : null;
}

const countOf = ({ failures, empties }: Tries): number => failures + empties;

async function readWait(step: WaitingStep, count: number): Promise<StoredWait | null> {
  const bytes = await step.deps.store.read(keyOf(step, count));
  return bytes && (JSON.parse(new TextDecoder().decode(bytes)) as StoredWait);
}

function keyOf({ attempt: { session }, input, config: { chain } }: WaitingStep, count: number): string {
  const step = createHash('sha256')
    .update(JSON.stringify([chain, input]))
    .digest('hex');
  return `waits/${keySegment(session)}/${step}-${count}`;
}
