// Runs the calls of one reply: batch after batch, results in the model's order (L35, L36, L39, L48).
import { ActivityFailure, CancellationScope, isCancellation } from '@temporalio/workflow';
import { approved, settled, type Approved, type Batch } from './approve-call.ts';
import type { Call, OutcomeItem, RunTool, ToolContextState } from './contract/activities.ts';
import { callKey } from './contract/ids.ts';
import { batches } from './machine/batches.ts';
import type { CallResult, Move, ToolsRan } from './machine/events.ts';
import type { RunState } from './machine/state.ts';
import type { RunBench } from './perform.ts';
import { runTool } from './ports.ts';
import { storeProblem } from './store-problem.ts';

const NOT_STARTED = {
  sibling: 'Not run: cancelled before it started, because another call of the same reply failed.',
  stop: 'Not run: interrupted before it started.',
};

/** Its activity ended without saying so: whether it had begun is not known here. */
const LOST = 'Cancelled. It is not known whether it had started; it may have partly run. Check before repeating it.';

const WITHDRAWN = 'Not run: cancelled while it waited for approval.';

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
  for (const call of calls) if (call.outcome) results.set(call.index, { item: null, facts: call.outcome });
  const asked = new Map(resumed?.approvals.map((approval) => [approval.index, approval]));
  const failed = (): boolean => [...results.values()].some(({ facts }) => facts.cancelsSiblings);
  for (const planned of batches(calls)) {
    const batch = planned.filter(({ index }) => !results.has(index));
    const why = session.stopCause ? NOT_STARTED.stop : failed() ? NOT_STARTED.sibling : null;
    if (why) batch.forEach((call) => results.set(call.index, notRun(call, why)));
    else await runBatch(bench, state, { calls, cut, batch, results, asked, running: batch.length });
  }
  return {
    kind: 'tools_ran',
    calls,
    results: calls.map((call) => results.get(call.index) ?? notRun(call, NOT_STARTED.stop)),
    cut,
    stop: session.stopCause,
    queued: session.inbox.next(),
    snips: session.takeSnips(),
  };
}

async function runBatch(bench: RunBench, state: RunState, batch: Batch): Promise<void> {
  const { session, snapshot } = bench;
  const { head, iteration } = state;
  if (head === null) throw new Error('a call without a stored reply');
  const context = contextNow(state, batch);
  const common = { head, config: snapshot.config, iteration, ...(context === null ? {} : { context }) };
  let failed = false;
  await session.runScope.run(async () => {
    const siblings = new CancellationScope();
    const one = async (call: Call): Promise<void> => {
      const { index } = call;
      const item = { index, key: callKey(session.facts.chain, head, index) };
      const run = (more: Pick<RunTool, 'decision'>) => runTool({ ...common, step: session.nextStep(), index, ...more });
      const result = await siblings
        .run(() => approved(bench, state, batch, call, run))
        .then(
          (done): CallResult => resultOf(item, done),
          (error: unknown) => withoutOutcome(item, error, session.stopCause !== null || failed),
        );
      batch.results.set(index, result);
      settled(bench, batch);
      if (!result.facts.cancelsSiblings || failed) return;
      failed = true;
      siblings.cancel();
    };
    await Promise.all(batch.batch.map(one));
  });
}

function resultOf(item: OutcomeItem, done: Approved): CallResult {
  if (!('withdrawn' in done)) return { item, facts: done };
  return { item: { index: item.index, note: WITHDRAWN }, facts: { error: true } };
}

/** What the calls before this batch left for it, in the model's order (L38). */
function contextNow({ toolContext }: RunState, { calls, results }: Batch): ToolContextState | null {
  return calls.reduce((context, { index }) => {
    const modify = results.get(index)?.facts.modify;
    return modify ? { ...context, ...modify } : context;
  }, toolContext);
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

function notRun(call: Call, note: string): CallResult {
  return { item: { index: call.index, note }, facts: { error: true } };
}
