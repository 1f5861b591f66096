// No summary was made: Temporal tries again after a wait that holds no slot, or the run parks, as
// for any model call (L14, L15). What it comes to when no wait helps is one failure of the
// compaction (L10).
import type { Compact, Compacted } from '../../workflows/contract/activities.ts';
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
  leftOfWait,
} from '../model/refused/failed-attempt.ts';
import { settleDeath } from '../model/settle.ts';
import type { SummaryDeps } from './small-model.ts';

/** One attempt at a compaction. */
export type Compacting = {
  readonly deps: SummaryDeps;
  readonly attempt: Attempt;
  readonly input: Compact;
  readonly config: RunConfig;
  readonly live: LiveWriter;
};

/** `tries` does not count this failure yet; `asked`: the model. Throws for another attempt. */
export function unanswered(
  step: Compacting,
  tries: Tries,
  failure: AskFailure,
  asked = step.config.smallModel.name,
): Promise<Compacted> {
  const counted =
    failure.kind === 'empty' ? { ...tries, empties: tries.empties + 1 } : countFailure(tries, failure, tries.spend);
  return ended(step, counted, nextTry(step, counted, failure, asked));
}

/** Null when nothing is left of a wait that an attempt before this one was asked for. */
export async function stillWaiting(step: Compacting, tries: Tries): Promise<Compacted | null> {
  const wait = await leftOfWait(step, tries);
  return wait && ended(step, wait.tries, afterWait(wait, wait.tries, step.config));
}

async function ended(step: Compacting, counted: Tries, after: AfterFailure): Promise<Compacted> {
  // A reactive one does not park: it would begin anew after the wait, with the model call that made
  // it necessary.
  const waits = step.input.trigger === 'auto' || after.kind === 'retry' || after.result.kind !== 'parked';
  const result = waits ? await settleDeath(step, counted, after) : after.result;
  const { kind, detail, spend } = result;
  if (waits && kind === 'parked') return { kind, waitMs: result.waitMs, failures: result.failures, detail, spend };
  return { kind: 'failed', detail: `the summary could not be made: ${detail}`, spend };
}

function nextTry({ deps, config }: Compacting, tries: Tries, failure: AskFailure, from: string): AfterFailure {
  const random = deps.random();
  if (failure.kind === 'empty') return afterEmpty(tries, config, random);
  return afterFailure(failure, tries, config, { from, to: null, calls: [] }, random);
}
