// A call that was stopped and did not say what had become of it, its worker being gone: whoever takes its activity finds out, and
// nothing begins any more (L39, L40, L48).
import { CancellationScope } from '@temporalio/workflow';
import type { OutcomeItem, RunTool } from './contract/activities.ts';
import type { CallResult } from './machine/events.ts';
import { runTool } from './ports.ts';
import type { Session } from './session.ts';
import { storeProblem } from './store-problem.ts';

const DAMAGED =
  'Outcome unknown: what is stored of this call is damaged. It may have taken effect; check before repeating it.';

/** What is the same for all calls of a reply. */
export type CallsOf = Pick<RunTool, 'head' | 'config' | 'iteration' | 'context'>;

/** Not cancelled by anything. */
export async function settleCall(session: Session, calls: CallsOf, item: OutcomeItem): Promise<CallResult> {
  const { index } = item;
  const look = () => runTool({ ...calls, step: session.nextStep(), index, stopped: true });
  try {
    const done = await CancellationScope.nonCancellable(look);
    if ('ask' in done) throw new Error(`call ${index} asks, and it was stopped`);
    return { item, facts: done };
  } catch (error) {
    const problem = storeProblem(error);
    if (problem === null) throw error;
    return damagedCall(index, problem);
  }
}

/** Without its key: the record of its outcome may be what is damaged, and nobody shall look for it again. */
export function damagedCall(index: number, problem: string): CallResult {
  return { item: { index, note: `${DAMAGED} ${problem}`, unknown: true }, facts: { error: true } };
}
