// Runs the calls of one reply: batch after batch, results in the model's order (L35, L36, L39, L48).
import { ActivityFailure, CancellationScope, isCancellation } from '@temporalio/workflow';
import { approved, settled, type Approved, type Batch } from './approve-call.ts';
import type { Call, OutcomeItem, RunTool } from './contract/activities.ts';
import { callKey } from './contract/ids.ts';
import type { StopCause } from './contract/loop.ts';
import type { PendingApproval } from './contract/session.ts';
import { batches } from './machine/batches.ts';
import type { CallResult, Move, ToolsRan } from './machine/events.ts';
import type { RunState } from './machine/state.ts';
import { contextAfter } from './machine/tool-context.ts';
import type { RunBench } from './perform.ts';
import { runTool } from './ports.ts';
import type { Session } from './session.ts';
import { storeProblem } from './store-problem.ts';

const NOT_STARTED = {
  sibling: 'Not run: cancelled before it started, because another call of the same reply failed.',
  stop: 'Not run: interrupted before it started.',
  ended: 'Not run: cancelled before it started, because another call of the same reply ended the run.',
};

/** Its activity ended without saying so: whether it had begun is not known here. */
const LOST = 'Cancelled. It is not known whether it had started; it may have partly run. Check before repeating it.';

const WITHDRAWN = 'Not run: cancelled while it waited for approval.';

/** Someone was asked whether to run it once more, because nobody knows what the first time did (L40). */
const NOT_AGAIN =
  'Outcome unknown: it was started once and may have taken effect. Cancelled while it waited for approval to run again; check before repeating it.';

const DAMAGED =
  'Outcome unknown: what is stored of this call is damaged. It may have taken effect; check before repeating it.';

export async function runTools(
  bench: RunBench,
  state: RunState,
  { calls, cut }: Extract<Move, { do: 'run_tools' }>,
): Promise<ToolsRan> {
  const { session } = bench;
  const resumed = session.run?.tools ?? null;
  if (session.run) session.run.tools = null;
  const results = new Map<number, CallResult>(resumed?.results);
  for (const call of calls) {
    const known = knownResult(session, state, call);
    if (known) results.set(call.index, known);
  }
  const asked = new Map(resumed?.approvals.map((approval) => [approval.index, approval]));
  const left = (call: Call, why: string): CallResult => {
    const { index, doubtful } = call;
    const note = withdrawn(asked.get(index)) ?? (doubtful ? LOST : why);
    return notRun(doubtful ? itemOf(session, state, index) : { index }, note);
  };
  for (const planned of batches(calls)) {
    const batch = planned.filter(({ index }) => !results.has(index));
    const why = whyNot(session.stopCause, [...results.values()]);
    if (why) batch.forEach((call) => results.set(call.index, left(call, why)));
    else {
      const busy = { running: batch.length, active: 0, alone: false };
      await runBatch(bench, state, { calls, cut, batch, results, asked, ...busy });
    }
  }
  session.approvals.withdraw();
  const summary = session.beside.takeSummary();
  return {
    kind: 'tools_ran',
    calls,
    results: calls.map((call) => results.get(call.index) ?? left(call, NOT_STARTED.stop)),
    cut,
    stop: session.stopCause,
    queued: session.inbox.next(),
    snips: session.facts.snips,
    leftMs: bench.clock.leftMs,
    ...(summary ? { summary } : {}),
  };
}

/** With its key: whatever was recorded of it counts. */
function itemOf({ facts: { chain } }: Session, { head }: RunState, index: number): OutcomeItem {
  if (head === null) throw new Error('a call without a stored reply');
  return { index, key: callKey(chain, head, index) };
}

/** It ran with the reply, or right after it in the same activity. */
function knownResult(session: Session, state: RunState, { index, outcome, ran }: Call): CallResult | null {
  if (outcome) return { item: null, facts: outcome };
  return ran ? { item: itemOf(session, state, index), facts: ran } : null;
}

async function runBatch(bench: RunBench, state: RunState, batch: Batch): Promise<void> {
  const { session, snapshot } = bench;
  const { head, iteration } = state;
  if (head === null) throw new Error('a call without a stored reply');
  const context = contextAfter(
    state.toolContext,
    batch.calls.map(({ index }) => batch.results.get(index)),
  );
  const common = { head, config: snapshot.config, iteration, ...(context === null ? {} : { context }) };
  let failed = false;
  await session.runScope.run(async () => {
    const siblings = new CancellationScope();
    const one = async (call: Call): Promise<void> => {
      const { index } = call;
      const item = itemOf(session, state, index);
      const run = (more: Pick<RunTool, 'decision'>) => runTool({ ...common, step: session.nextStep(), index, ...more });
      const result = await siblings
        .run(() => approved(bench, state, batch, call, run))
        .then(
          (done): CallResult => resultOf(item, done),
          (error: unknown) => withoutOutcome(item, error, session.stopCause !== null || failed),
        );
      batch.results.set(index, result);
      settled(bench, batch);
      if (failed || whyNot(null, [result]) === null) return;
      failed = true;
      siblings.cancel();
    };
    await Promise.all(batch.batch.map(one));
  });
}

/** What keeps a call that has not begun from beginning: a stop (L48), or what became of another (L34, L36, L41). */
function whyNot(stop: StopCause | null, results: readonly CallResult[]): string | null {
  if (stop) return NOT_STARTED.stop;
  if (results.some(({ facts }) => facts.fatal !== undefined || facts.stop !== undefined)) return NOT_STARTED.ended;
  return results.some(({ facts }) => facts.cancelsSiblings) ? NOT_STARTED.sibling : null;
}

function resultOf(item: OutcomeItem, done: Approved): CallResult {
  if (!('withdrawn' in done)) return { item, facts: done };
  return { item: { index: item.index, note: withdrawn(done.withdrawn) }, facts: { error: true } };
}

function withdrawn(approval: PendingApproval): string;
function withdrawn(approval: PendingApproval | undefined): string | undefined;
function withdrawn(approval: PendingApproval | undefined): string | undefined {
  return approval && (/\.\d+$/.test(approval.inputHash) ? NOT_AGAIN : WITHDRAWN);
}

/** Its activity ended as a failure: cancelled, or what is stored is damaged. Any other failure is a bug and stays one. */
function withoutOutcome(item: OutcomeItem, error: unknown, cancelled: boolean): CallResult {
  const problem = storeProblem(error);
  const facts = { error: true } as const;
  // Without its key: the record of its outcome may be what is damaged, and nobody shall look for it again.
  if (problem !== null) return { item: { index: item.index, note: `${DAMAGED} ${problem}` }, facts };
  if (cancelled && (isCancellation(error) || error instanceof ActivityFailure)) {
    return { item: { ...item, note: LOST }, facts };
  }
  throw error;
}

function notRun(item: OutcomeItem, note: string): CallResult {
  return { item: { ...item, note }, facts: { error: true } };
}
