// Stores a reply with what was appended before it and what ran early, in one segment with the step's record, and describes it
// to the loop.
import type { Call, CallModel, ModelResult } from '../../workflows/contract/activities.ts';
import type { Hash } from '../../workflows/contract/ids.ts';
import type { Spend } from '../../workflows/contract/loop.ts';
import type { Attempt } from '../attempt.ts';
import type { Deps } from '../deps.ts';
import type { LiveWriter } from '../live/events.ts';
import type { RunConfig } from '../run-config.ts';
import type { Entry, ReplyEntry } from '../transcript/entries.ts';
import { fitOutcomes } from '../transcript/outcome-budget.ts';
import type { StepRecord } from '../step-record.ts';
import type { Extended } from '../transcript/transcripts.ts';
import type { EarlyOutcome } from './early.ts';
import type { Tries } from './failed-attempt.ts';
import type { CallBlock } from './judge.ts';
import { observe } from './observe.ts';
import { contextTokens, spendOf } from './spend.ts';

/** One attempt of one model call, and what it works on. */
export type ModelStep = {
  readonly deps: Deps;
  readonly attempt: Attempt;
  readonly input: CallModel;
  readonly config: RunConfig;
  readonly live: LiveWriter;
  readonly base: Extended;
  readonly record: StepRecord<ModelResult>;
  /** Of the attempts before this one. */
  readonly tries: Tries;
};

export type Storing = {
  readonly message: ReplyEntry['message'];
  readonly calls: readonly CallBlock[];
  readonly fate: ReplyEntry['fate'];
  /** All attempts of this call. */
  readonly spend: Spend;
  /** Finished early calls (L37). */
  readonly early?: ReadonlyMap<number, EarlyOutcome>;
};

export async function storeReply(step: ModelStep, storing: Storing): Promise<ModelResult> {
  const { deps, attempt, input, live, base, config, record } = step;
  const { message, calls, fate, spend, early } = storing;
  const own = spendOf(message.usage, config.price);
  const { iteration } = input;
  const at = deps.now();
  const reply: ReplyEntry = { kind: 'reply', fate, message, iteration, attempt: attempt.number, spend: own, at };
  const next = deps.transcripts.next(base, [reply, ...(await adopted(deps, calls, early))]);
  const facts = { head: next.hash, contextTokens: contextTokens(own.usage), spend };
  const listed = calls.map((call) => describe(step, call, early?.get(call.index)));
  const { result, first } = await record.record(resultOf(fate, facts, listed), next.bytes);
  if (first) {
    deps.transcripts.keep(next);
    observe(deps, { session: attempt.session, queryId: config.queryId, iteration, message });
    live.write({ type: 'reply', iteration, stopReason: message.stop_reason, fate });
  } else {
    await live.end({ type: 'fate', fate: 'died', why: 'another attempt stored its reply first' });
  }
  return result;
}

type Facts = { readonly head: Hash; readonly contextTokens: number; readonly spend: Spend };

function resultOf(fate: ReplyEntry['fate'], facts: Facts, calls: readonly Call[]): ModelResult {
  if (fate === 'interrupted') return { kind: 'interrupted', ...facts, calls };
  if (fate === 'whole') return { kind: 'message', ...facts, calls };
  return calls.length === 0 ? { kind: 'cut_off', ...facts } : { kind: 'message', ...facts, calls, cut: true };
}

/** In the model's order, whatever finished first (L35), and fitted into one message (L6). */
async function adopted(
  { store }: Deps,
  calls: readonly CallBlock[],
  early: Storing['early'],
): Promise<readonly Entry[]> {
  const outcomes = calls.flatMap(({ index }) => early?.get(index)?.outcome ?? []);
  if (outcomes.length === 0) return [];
  return [{ kind: 'outcomes', outcomes: await fitOutcomes(store, outcomes, { characters: 0, calls: calls.length }) }];
}

function describe({ deps, config }: ModelStep, call: CallBlock, done: EarlyOutcome | undefined): Call {
  const { safe, signature } = deps.tools.traits(config, call);
  return { index: call.index, name: call.name, safe, signature, ...(done ? { outcome: done.facts } : {}) };
}
