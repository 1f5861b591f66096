// Runs work beside the loop that never holds it up: the summary of the last batch (L42) and the handlers after a natural end (L56).
import {
  ActivityFailure,
  CancellationScope,
  condition,
  isCancellation,
  patched,
  setCurrentDetails,
  upsertMemo,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import { defineSearchAttributeKey, type SearchAttributeUpdatePair } from '@temporalio/common';
import type { Activities, AfterStop, BatchSummary, SummarizeBatch } from './contract/activities.ts';
import type { Hash } from './contract/ids.ts';
import { addSpend, noSpend, type Spend } from './contract/loop.ts';
import type { PendingSummary } from './machine/state.ts';
import { detailsOf } from './told/details.ts';
import { MEMO_KEY, type SessionInput, type SessionMemo } from './contract/session.ts';
import { ATTRIBUTES, type AttributeKey, type AttributeValues, attributeValues } from './contract/visibility.ts';

type Summary = { readonly iteration: number; readonly scope: CancellationScope; result: BatchSummary | null };

/** `left`: of the run's limits. */
type SummaryTerms = { readonly config: Hash; readonly left: Pick<SummarizeBatch, 'left'> };

type Ports = Pick<Activities, 'afterStop' | 'summarizeBatch'>;

export class Beside {
  private summary: Summary | null = null;
  /** Nobody waits for their texts any more. They are being cancelled, and will say what they were billed. */
  private readonly overtaken = new Set<Summary>();
  /** The bill of those that have reported one. */
  private billed: Spend | null = null;
  private handlers = 0;
  private readonly ports: Ports;
  private readonly bill: (spend: Spend) => void;

  /** `bill` is told what handlers took: the run that they follow is over, and the session alone counts it (L80). */
  constructor(ports: Ports, bill: (spend: Spend) => void) {
    this.ports = ports;
    this.bill = bill;
  }

  /** Does nothing when the summary of that batch is being made already. */
  summarize({ head, append, iteration }: PendingSummary, { config, left }: SummaryTerms, step: () => number): void {
    if (this.summary?.iteration === iteration) return;
    this.dropSummary();
    const summary: Summary = { iteration, scope: new CancellationScope(), result: null };
    this.summary = summary;
    const made = summary.scope.run(() =>
      this.ports.summarizeBatch({ head, append, config, iteration, step: step(), ...left }),
    );
    void made.catch(nothing).then((result) => this.made(summary, result));
  }

  /** The summary, if it was made by now, and what overtaken ones were billed; each once. */
  take(): { readonly summary?: BatchSummary; readonly overtaken?: Spend } {
    const { billed } = this;
    const summary = this.summary?.result ?? null;
    if (summary) this.summary = null;
    this.billed = null;
    return { ...(summary ? { summary } : {}), ...(billed ? { overtaken: billed } : {}) };
  }

  /** The run ends, or goes on in another workflow run. What is still being made is given up, and counted as `estimate` (L51). */
  endSummaries(estimate: Spend): Spend {
    this.dropSummary();
    const unknown = [...this.overtaken].reduce((sum) => addSpend(sum, estimate), noSpend);
    this.overtaken.clear();
    return addSpend(this.take().overtaken ?? noSpend, unknown);
  }

  private dropSummary(): void {
    const { summary } = this;
    this.summary = null;
    if (!summary) return;
    this.overtaken.add(summary);
    if (summary.result) this.made(summary, summary.result);
    else summary.scope.cancel();
  }

  private made(summary: Summary, result: BatchSummary): void {
    summary.result = result;
    if (this.overtaken.delete(summary)) this.billed = addSpend(this.billed ?? noSpend, result.spend);
  }

  /** Not cancelled with the session: it finishes or times out by itself. */
  afterStop(input: AfterStop): void {
    this.handlers += 1;
    const ended = CancellationScope.nonCancellable(() => this.ports.afterStop(input));
    void ended.catch(onlyFailures).then((done) => {
      // Before it counts as settled: a handover carries it.
      if (done?.spend) this.bill(done.spend);
      this.handlers -= 1;
    });
  }

  /** No handler runs: the session may close or continue as new. */
  get isSettled(): boolean {
    return this.handlers === 0;
  }

  async settled(): Promise<void> {
    if (this.isSettled) return;
    await CancellationScope.nonCancellable(() => condition(() => this.isSettled));
  }
}

/** Its failure changes nothing; a bug stays one. */
function nothing(error: unknown): BatchSummary {
  onlyFailures(error);
  return { text: null, spend: noSpend };
}

function onlyFailures(error: unknown): void {
  if (!isCancellation(error) && !(error instanceof ActivityFailure)) throw error;
}

// The face of a session from outside, with no worker alive: its memo and its search attributes. Written once an
// activation has settled, and only when it differs: a hundred calls that begin to wait together change it once.

/** Sessions of 0.1.0 told their phase alone: what is scheduled when must stay as it was in histories of theirs. */
const WITH_FACTS = 'perdure-facts';

export class Told {
  /** The memo has the session's numbers, and the attributes are all of them (O1). */
  readonly withFacts = patched(WITH_FACTS);
  private readonly memo: (withFacts: boolean) => SessionMemo;
  private readonly input: SessionInput;
  /** Changes so far, and how many of them were looked at. */
  private changes = 0;
  private seen = 0;
  /** As it was written last. */
  private written = '';
  private values: Partial<AttributeValues> = {};

  constructor(memo: (withFacts: boolean) => SessionMemo, input: SessionInput) {
    this.memo = memo;
    this.input = input;
    void CancellationScope.nonCancellable(() => this.tellChanges());
  }

  change(): void {
    this.changes += 1;
  }

  /** Before the workflow ends: nothing settles after its last command. */
  tell(): void {
    this.seen = this.changes;
    const memo = this.memo(this.withFacts);
    setCurrentDetails(detailsOf(memo));
    const now = JSON.stringify(memo);
    if (now === this.written) return;
    this.written = now;
    upsertMemo({ [MEMO_KEY]: memo });
    if (this.input.visibility) this.tellAttributes(memo);
  }

  /** Those alone that have changed since they were told. */
  private tellAttributes(memo: SessionMemo): void {
    const all = attributeValues(memo, this.input.sealed === true);
    const values = this.withFacts && this.input.attributes ? all : { phase: all.phase };
    const pairs = attributePairs(values, this.values);
    if (pairs.length > 0) upsertSearchAttributes([...pairs]);
    this.values = values;
  }

  /** One change wakes others, who change more: it is told when a whole round of conditions has changed nothing. */
  private async tellChanges(): Promise<never> {
    for (;;) {
      await condition(() => this.changes > this.seen);
      while (this.changes > this.seen) {
        this.seen = this.changes;
        await nextRound();
      }
      await nextRound();
      if (this.changes === this.seen) this.tell();
    }
  }
}

/** A condition is looked at when it is made, and from then on whenever nothing else of the activation is left to run. */
function nextRound(): Promise<void> {
  let looks = 0;
  return condition(() => (looks += 1) > 1);
}

/** Those of `values` that differ from `told`. */
function attributePairs(
  values: Partial<AttributeValues>,
  told: Partial<AttributeValues>,
): readonly SearchAttributeUpdatePair[] {
  const before = new Map(Object.entries(told));
  return Object.entries(values)
    .filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(before.get(key)))
    .map(([key, value]) => {
      const { name, type } = ATTRIBUTES[key as AttributeKey];
      return { key: defineSearchAttributeKey(name, type), value } as SearchAttributeUpdatePair;
    });
}
