// Handles a summary that was not made: Temporal tries again after a wait that holds no slot, or the
// run parks, as for any model call (L14, L15). When no wait helps, the compaction has failed once
// (L10).
import type { Compact, CompactionResult } from '../../workflows/contract/activities.ts';
import type { Attempt } from '../attempt.ts';
import type { RunConfig } from '../../store/configuration.ts';
import type { LiveWriter } from '../../store/live/events.ts';
import type { AskFailure } from '../model/ask-model.ts';
import {
  afterEmpty,
  afterFailure,
  type AfterFailure,
  afterWait,
  countFailure,
  type Tries,
  readRemainingWait,
} from '../model/refused/failed-attempt.ts';
import { settleDeath } from '../model/settle.ts';
import type { SummaryDeps } from './small-model.ts';

/** One attempt at a compaction. */
export type CompactionAttempt = {
  readonly deps: SummaryDeps;
  readonly attempt: Attempt;
  readonly input: Compact;
  readonly config: RunConfig;
  readonly live: LiveWriter;
};

/**
 * Counts the failure and decides what follows. `tries` does not count this failure yet; `asked` is
 * the model. Throws for another attempt.
 */
export function handleUnanswered(
  step: CompactionAttempt,
  tries: Tries,
  failure: AskFailure,
  asked = step.config.smallModel.name,
): Promise<CompactionResult> {
  const counted =
    failure.kind === 'empty' ? { ...tries, empties: tries.empties + 1 } : countFailure(tries, failure, tries.spend);
  return settleCompaction(step, counted, nextTry(step, counted, failure, asked));
}

/** Returns null when nothing is left of a wait that an attempt before this one was asked for. */
export async function resumeCompactionWait(step: CompactionAttempt, tries: Tries): Promise<CompactionResult | null> {
  const wait = await readRemainingWait(step, tries);
  return wait && settleCompaction(step, wait.tries, afterWait(wait, wait.tries, step.config));
}

async function settleCompaction(
  step: CompactionAttempt,
  counted: Tries,
  after: AfterFailure,
): Promise<CompactionResult> {
  // A reactive one does not park: it would begin anew after the wait, with the model call that made
  // it necessary.
  const waits = step.input.trigger === 'auto' || after.kind === 'retry' || after.result.kind !== 'parked';
  const result = waits ? await settleDeath(step, counted, after) : after.result;
  const { kind, detail, spend } = result;
  if (waits && kind === 'parked') return { kind, waitMs: result.waitMs, failures: result.failures, detail, spend };
  return { kind: 'failed', detail: `the summary could not be made: ${detail}`, spend };
}

function nextTry({ deps, config }: CompactionAttempt, tries: Tries, failure: AskFailure, from: string): AfterFailure {
  const random = deps.random();
  if (failure.kind === 'empty') return afterEmpty(tries, config, random);
  return afterFailure({ verdict: failure, tries, abandoned: { from, to: null, calls: [] }, random }, config);
}
