// Runs work beside the loop that never holds it up: the summary of the last batch (L42), a
// compaction that is prepared (L9), the handlers after a natural end (L56), and questions that
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
import type { PreparedBeside } from '../machine/events.ts';
import type { PendingSummary } from '../machine/state.ts';
import { activityProblem } from '../ports.ts';
import type { CarriedFacts } from '../session/session-state.ts';

type Summary = { readonly iteration: number; readonly scope: CancellationScope; result: BatchSummary | null };

type Preparation = { readonly iteration: number; readonly scope: CancellationScope; result: PreparedCompaction | null };

/** `left`: of the run's limits. */
type SummaryTerms = { readonly config: Hash; readonly left: Pick<SummarizeBatch, 'left'> };

export type Suggestion = Pick<CarriedFacts, 'suggestion'>;

type Bill = (spend: Spend, more?: Suggestion) => void;

type Ports = Pick<Activities, 'afterStop' | 'answerAside' | 'prepareCompaction' | 'summarizeBatch'>;

export class Beside {
  private summary: Summary | null = null;
  /**
   * Nobody waits for their texts any more. They are being cancelled, and will say what they were
   * billed.
   */
  private readonly overtaken = new Set<Summary>();
  /** The bill of those that have reported one. */
  private billed: Spend | null = null;
  private preparation: Preparation | null = null;
  private handlers = 0;
  private readonly ports: Ports;
  private readonly bill: Bill;

  /**
   * `bill` is told what handlers took: the run that they follow is over, and the session alone
   * counts it (L80).
   */
  constructor(ports: Ports, bill: Bill) {
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

  /**
   * The run ends, or goes on in another workflow run. What is still being made is given up, and
   * counted as `estimate` (L51).
   */
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

  /** One at a time. The session neither closes nor is handed over before it has ended. */
  prepareCompaction(input: PrepareCompaction): void {
    const { iteration } = input;
    const preparation: Preparation = { iteration, scope: new CancellationScope(), result: null };
    this.preparation = preparation;
    this.handlers += 1;
    const made = preparation.scope.run(() => this.ports.prepareCompaction(input));
    void made.catch(unprepared).then((result) => {
      this.handlers -= 1;
      if (this.preparation === preparation) preparation.result = result;
      else this.bill(result.spend);
    });
  }

  /** One is under way, or its result is not taken yet. */
  get isPreparing(): boolean {
    return this.preparation !== null;
  }

  get isPrepared(): boolean {
    return this.preparation?.result !== null;
  }

  /** Once: the one that has ended. */
  takePrepared(): PreparedBeside {
    const { iteration, result } = this.preparation ?? { iteration: 0, result: null };
    if (!result) return {};
    this.preparation = null;
    return { prepared: { iteration, result } };
  }

  /**
   * The run ends: one that is still being prepared is given up, and the session alone counts it.
   */
  endPreparation(): PreparedBeside {
    const taken = this.takePrepared();
    this.preparation?.scope.cancel();
    this.preparation = null;
    return taken;
  }

  /**
   * `isRunning`: a run is under way, which pays for it with its next step; else the session alone
   * counts it. Cancelled with the session.
   */
  async answerAside(input: AnswerAside, isRunning: () => boolean): Promise<AsideEnd> {
    this.handlers += 1;
    try {
      const end = await this.ports.answerAside(input).catch(unanswered);
      if (isRunning()) this.billed = addSpend(this.billed ?? noSpend, end.spend);
      else this.bill(end.spend);
      return end;
    } finally {
      this.handlers -= 1;
    }
  }

  /** Not cancelled with the session: it finishes or times out by itself. */
  afterStop(input: AfterStop): void {
    this.handlers += 1;
    const ended = CancellationScope.nonCancellable(() => this.ports.afterStop(input));
    void ended.catch(onlyFailures).then((done) => {
      // Before it counts as settled: a handover carries it.
      const { suggestion: text } = done ?? {};
      if (done?.spend) this.bill(done.spend, text === undefined ? {} : { suggestion: { run: input.run, text } });
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

function unprepared(error: unknown): PreparedCompaction {
  onlyFailures(error);
  return { kind: 'nothing', spend: noSpend };
}

function unanswered(error: unknown): AsideEnd {
  onlyFailures(error);
  const detail = isCancellation(error)
    ? 'the session was ended meanwhile'
    : (activityProblem(error)?.detail ?? 'it timed out');
  return { kind: 'failed', detail, spend: noSpend };
}

function onlyFailures(error: unknown): void {
  if (!isCancellation(error) && !(error instanceof ActivityFailure)) throw error;
}
