// After an attempt died: give up with a value, park, or have Temporal try again after a wait that holds no slot (L14, L15, L20).
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import type { ModelResult } from '../../workflows/contract/activities.ts';
import { MODEL_ATTEMPT_DIED } from '../../workflows/contract/failures.ts';
import { noSpend, type Spend } from '../../workflows/contract/loop.ts';
import type { RunConfig } from '../run-config.ts';
import { backoffMs } from './backoff.ts';
import type { Verdict } from './classify.ts';

/** What the attempts of one call remember of those before them. */
export type Tries = {
  /** Attempts that the API failed, over all workers; a worker's death counts for nothing here. */
  readonly failures: number;
  readonly empties: number;
  /** What died attempts were billed. */
  readonly spend: Spend;
};

export const noTries: Tries = { failures: 0, empties: 0, spend: noSpend };

export type AfterFailure =
  | { readonly kind: 'result'; readonly result: ModelResult }
  | { readonly kind: 'retry'; readonly delayMs: number; readonly failure: ApplicationFailure };

/** `tries` counts this failure already. */
export function afterFailure(
  verdict: Verdict,
  tries: Tries,
  config: RunConfig,
  now: number,
  random: number,
): AfterFailure {
  const { spend, failures } = tries;
  const { detail } = verdict;
  if (verdict.kind !== 'retry') return { kind: 'result', result: { ...verdict, spend } };
  const status = verdict.status === undefined ? {} : { status: verdict.status };
  if (failures > config.backoff.maxRetries) {
    const spent = `${detail} (${failures} attempts failed)`;
    return { kind: 'result', result: { kind: 'failed', detail: spent, ...status, spend } };
  }
  const delayMs = verdict.afterMs ?? backoffMs(config.backoff, failures, random);
  if (delayMs > config.backoff.parkOverMs) {
    return { kind: 'result', result: { kind: 'parked', until: now + delayMs, failures, detail, spend } };
  }
  return { kind: 'retry', delayMs, failure: retryIn(delayMs, detail) };
}

/** An empty reply is a failed attempt; at the limit it is an error (L15). */
export function afterEmpty(tries: Tries, config: RunConfig, random: number): AfterFailure {
  const { empties, spend } = tries;
  if (empties >= config.maxEmptyReplies) {
    const detail = `The model answered with nothing ${empties} times in a row.`;
    return { kind: 'result', result: { kind: 'failed', detail, spend } };
  }
  const delayMs = backoffMs(config.backoff, 1, random);
  return { kind: 'retry', delayMs, failure: retryIn(delayMs, 'the reply was empty') };
}

function retryIn(delayMs: number, detail: string): ApplicationFailure {
  const nextRetryDelay = Math.max(1, delayMs);
  // Benign: it is said on the live channel, not in the worker's log.
  const category = ApplicationFailureCategory.BENIGN;
  return ApplicationFailure.create({ type: MODEL_ATTEMPT_DIED, message: detail, nextRetryDelay, category });
}
