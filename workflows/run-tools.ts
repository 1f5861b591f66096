// Runs the calls of one reply: batch after batch, each call an activity, results in the model's order (L35, L36, L39, L48).
import { ActivityFailure, CancellationScope, isCancellation } from '@temporalio/workflow';
import type { Call, OutcomeItem, RunTool } from './contract/activities.ts';
import { callKey, type Hash } from './contract/ids.ts';
import { batches } from './machine/batches.ts';
import type { CallResult, Move, ToolsRan } from './machine/events.ts';
import type { RunState } from './machine/state.ts';
import { runTool } from './ports.ts';
import type { Session } from './session.ts';
import { storeProblem } from './store-problem.ts';

const NOT_STARTED = {
  sibling: 'Not run: cancelled before it started, because another call of the same reply failed.',
  stop: 'Not run: interrupted before it started.',
};

/** Its activity ended without saying so: whether it had begun is not known here. */
const LOST = 'Cancelled. It is not known whether it had started; it may have partly run. Check before repeating it.';

const DAMAGED =
  'Outcome unknown: what is stored of this call is damaged. It may have taken effect; check before repeating it.';

export async function runTools(
  session: Session,
  state: RunState,
  config: Hash,
  { calls, cut }: Extract<Move, { do: 'run_tools' }>,
): Promise<ToolsRan> {
  const results = new Map<number, CallResult>();
  for (const call of calls) if (call.outcome) results.set(call.index, { item: null, facts: call.outcome });
  let failed = calls.some((call) => call.outcome?.cancelsSiblings);
  for (const batch of batches(calls)) {
    const why = session.stopCause ? NOT_STARTED.stop : failed ? NOT_STARTED.sibling : null;
    if (why) batch.forEach((call) => results.set(call.index, notRun(call, why)));
    else failed = await runBatch(session, state, config, batch, results);
  }
  return {
    kind: 'tools_ran',
    calls,
    results: calls.map((call) => results.get(call.index) ?? notRun(call, NOT_STARTED.stop)),
    cut,
    stop: session.stopCause,
    queued: session.inbox.next(),
  };
}

/** True when a failing shell call cancelled the batch. */
async function runBatch(
  session: Session,
  state: RunState,
  config: Hash,
  batch: readonly Call[],
  results: Map<number, CallResult>,
): Promise<boolean> {
  if (state.head === null) throw new Error('a call without a stored reply');
  const { head, iteration } = state;
  const common = { head, config, iteration };
  let failed = false;
  await session.runScope.run(async () => {
    const siblings = new CancellationScope();
    const one = async (call: Call): Promise<void> => {
      const input: RunTool = { ...common, step: session.nextStep(), index: call.index };
      const key = callKey(session.facts.chain, head, call.index);
      const item = { index: call.index, key };
      const result = await siblings
        .run(() => runTool(input))
        .then(
          (facts): CallResult => ({ item, facts }),
          (error: unknown) => withoutOutcome(item, error, session.stopCause !== null || failed),
        );
      results.set(call.index, result);
      if (!result.facts.cancelsSiblings || failed) return;
      failed = true;
      siblings.cancel();
    };
    await Promise.all(batch.map(one));
  });
  return failed;
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
