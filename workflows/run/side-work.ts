// Runs work that the loop does not wait for: the summary of the last batch (L42), a compaction
// prepared in advance (L9), the handlers after a natural end (L56), and answers to questions that
// people ask aside.
import { ActivityFailure, CancellationScope, condition, isCancellation } from '@temporalio/workflow';
import type {
  Activities,
  AfterStop,
  AnswerAside,
  AsideEnd,
  BatchSummary,
  PrepareCompaction,
  PreparedCompaction,
  SummarizeBatch,
} from '../contract/activities.ts';
import type { Hash } from '../contract/ids.ts';
import { addSpend, noSpend, type Spend } from '../contract/loop.ts';
import type { TakenPreparation } from '../machine/events.ts';
import type { PendingSummary } from '../machine/state.ts';
import { activityProblem } from '../activity-problem.ts';
import type { CarriedFacts } from '../session/session-state.ts';

type Summary = { readonly iteration: number; readonly scope: CancellationScope; result: BatchSummary | null };

type Preparation = { readonly iteration: number; readonly scope: CancellationScope; result: PreparedCompaction | null };

/** `left`: what is left of the run's limits. */
type SummaryTerms = { readonly config: Hash; readonly left: Pick<SummarizeBatch, 'left'> };

export type Suggestion = Pick<CarriedFacts, 'suggestion'>;

type Bill = (spend: Spend, more?: Suggestion) => void;

type Ports = Pick<Activities, 'afterStop' | 'answerAside' | 'prepareCompaction' | 'summarizeBatch'>;

export class SideWork {
  private summary: Summary | null = null;
  /**
   * Summaries that a newer one has overtaken: their texts are not wanted, and they are being
   * cancelled, but they still report what they were billed.
   */
  private readonly overtaken = new Set<Summary>();
  /** The sum of what overtaken summaries have reported. */
  private billed: Spend | null = null;
  private preparation: Preparation | null = null;
  private pending = 0;
  private readonly ports: Ports;
  private readonly billSession: Bill;

  /**
   * `bill` receives what handlers took: their run is over, so that the session alone counts it
   * (L80).
   */
  constructor(ports: Ports, bill: Bill) {
    this.ports = ports;
    this.billSession = bill;
  }

  /** Begins a summary, unless that of the same batch is being made already. */
  summarize({ head, append, iteration }: PendingSummary, { config, left }: SummaryTerms, step: () => number): void {
    if (this.summary?.iteration === iteration) return;
    this.dropSummary();
    const summary: Summary = { iteration, scope: new CancellationScope(), result: null };
    this.summary = summary;
    const receiveSummary = summary.scope.run(() =>
      this.ports.summarizeBatch({ head, append, config, iteration, step: step(), ...left }),
    );
    void receiveSummary.catch(missingSummary).then((result) => this.made(summary, result));
  }

  /**
   * Returns the summary, if it is made by now, and the bill of overtaken ones; each is returned
   * once.
   */
  takeSummary(): { readonly summary?: BatchSummary; readonly overtaken?: Spend } {
    const { billed } = this;
    const summary = this.summary?.result ?? null;
    if (summary) this.summary = null;
    this.billed = null;
    return { ...(summary && { summary }), ...(billed && { overtaken: billed }) };
  }

  /**
   * Gives up the summaries that are still being made, because the run ends or goes on in another
   * workflow run, and counts each as `estimate` (L51).
   */
  endSummaries(estimate: Spend): Spend {
    this.dropSummary();
    const unknown = [...this.overtaken].reduce((sum) => addSpend(sum, estimate), noSpend);
    this.overtaken.clear();
    return addSpend(this.takeSummary().overtaken ?? noSpend, unknown);
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

  /**
   * Begins a preparation; call it only when none is under way. The session neither closes nor
   * continues as new before it has ended.
   */
  prepareCompaction(input: PrepareCompaction): void {
    const { iteration } = input;
    const preparation: Preparation = { iteration, scope: new CancellationScope(), result: null };
    this.preparation = preparation;
    this.pending += 1;
    const making = preparation.scope.run(() => this.ports.prepareCompaction(input));
    void making.catch(missingPreparation).then((result) => {
      this.pending -= 1;
      if (this.preparation === preparation) preparation.result = result;
      else this.billSession(result.spend);
    });
  }

  /** A preparation is under way, or its result is not taken yet. */
  get isPreparing(): boolean {
    return this.preparation !== null;
  }

  get isPrepared(): boolean {
    return this.preparation?.result !== null;
  }

  /** Returns the preparation that has ended, once. */
  takePreparation(): TakenPreparation {
    const { iteration, result } = this.preparation ?? { iteration: 0, result: null };
    if (!result) return {};
    this.preparation = null;
    return { prepared: { iteration, result } };
  }

  /**
   * Gives up the preparation at the end of the run; the session alone counts one that was still
   * being made.
   */
  endPreparation(): TakenPreparation {
    const finished = this.takePreparation();
    this.preparation?.scope.cancel();
    this.preparation = null;
    return finished;
  }

  /**
   * `isRunning` says whether a run is under way, which then pays for the answer with its next step;
   * otherwise the session alone counts it. It is cancelled with the session.
   */
  async answerAside(input: AnswerAside, isRunning: () => boolean): Promise<AsideEnd> {
    this.pending += 1;
    try {
      const end = await this.ports.answerAside(input).catch(missingAnswer);
      if (isRunning()) this.billed = addSpend(this.billed ?? noSpend, end.spend);
      else this.billSession(end.spend);
      return end;
    } finally {
      this.pending -= 1;
    }
  }

  /**
   * Runs the handlers after a natural end. They are not cancelled with the session: they finish or
   * time out.
   */
  runAfterStop(input: AfterStop): void {
    this.pending += 1;
    const handlers = CancellationScope.nonCancellable(() => this.ports.afterStop(input));
    void handlers.catch(throwUnlessFailure).then((end) => {
      // The suggestion is stored before the work counts as settled, so that a handover carries it.
      const { suggestion: text } = end ?? {};
      if (end?.spend) this.billSession(end.spend, text === undefined ? {} : { suggestion: { run: input.run, text } });
      this.pending -= 1;
    });
  }

  /** The session may close or continue as new. */
  get isSettled(): boolean {
    return this.pending === 0;
  }

  async awaitSettled(): Promise<void> {
    if (this.isSettled) return;
    await CancellationScope.nonCancellable(() => condition(() => this.isSettled));
  }
}

/** A failure changes nothing; a defect is thrown on. */
function missingSummary(error: unknown): BatchSummary {
  throwUnlessFailure(error);
  return { text: null, spend: noSpend };
}

function missingPreparation(error: unknown): PreparedCompaction {
  throwUnlessFailure(error);
  return { kind: 'nothing', spend: noSpend };
}

function missingAnswer(error: unknown): AsideEnd {
  throwUnlessFailure(error);
  const detail = isCancellation(error)
    ? 'the session was ended meanwhile'
    : (activityProblem(error)?.detail ?? 'it timed out');
  return { kind: 'failed', detail, spend: noSpend };
}

function throwUnlessFailure(error: unknown): void {
  if (!isCancellation(error) && !(error instanceof ActivityFailure)) throw error;
}
