// Stores what no model call will carry, whatever is cancelled meanwhile (L39, L47, L49).
import { CancellationScope } from '@temporalio/workflow';
import type { Append } from './contract/activities.ts';
import type { Hash } from './contract/ids.ts';
import { commit } from './ports.ts';
import type { Session } from './session.ts';
import { storeProblem } from './store-problem.ts';

/** The new head; `head` when what is stored is damaged: what cannot be read cannot be continued, and the memo says the rest. */
export async function committed(session: Session, head: Hash | null, append: readonly Append[]): Promise<Hash | null> {
  try {
    const step = session.nextStep();
    return (await CancellationScope.nonCancellable(() => commit({ head, append, step }))).head;
  } catch (error) {
    if (storeProblem(error) === null) throw error;
    return head;
  }
}
