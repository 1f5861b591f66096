// What runs beside the loop and never holds it up: the summary of the last batch (L42) and the handlers after a natural end (L56).
import { ActivityFailure, CancellationScope, condition, isCancellation } from '@temporalio/workflow';
import type { AfterStop, BatchSummary } from './contract/activities.ts';
import type { Hash } from './contract/ids.ts';
import { noSpend } from './contract/loop.ts';
import type { PendingSummary } from './machine/state.ts';
import { afterStop, summarizeBatch } from './ports.ts';

type Summary = { readonly iteration: number; readonly scope: CancellationScope; result: BatchSummary | null };

export class Beside {
  private summary: Summary | null = null;
  private handlers = 0;

  /** Does nothing when the summary of that batch is being made already. */
  summarize({ head, append, iteration }: PendingSummary, config: Hash, step: () => number): void {
    if (this.summary?.iteration === iteration) return;
    this.dropSummary();
    const summary: Summary = { iteration, scope: new CancellationScope(), result: null };
    this.summary = summary;
    const made = summary.scope.run(() => summarizeBatch({ head, append, config, iteration, step: step() }));
    void made.catch(nothing).then((result) => (summary.result = result));
  }

  /** The summary, if it was made by now; once. */
  takeSummary(): BatchSummary | null {
    const result = this.summary?.result ?? null;
    if (result) this.summary = null;
    return result;
  }

  /** Nobody waits for it any more. */
  dropSummary(): void {
    this.summary?.scope.cancel();
    this.summary = null;
  }

  /** Not cancelled with the session: it finishes or times out by itself. */
  afterStop(input: AfterStop): void {
    this.handlers += 1;
    const ended = CancellationScope.nonCancellable(() => afterStop(input));
    void ended.catch(onlyFailures).then(() => (this.handlers -= 1));
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
