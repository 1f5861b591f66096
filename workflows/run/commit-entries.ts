// Stores entries that no model call will carry, whatever is cancelled meanwhile (L39, L47, L49).
import { CancellationScope, sleep } from '@temporalio/workflow';
import type { Append, SessionActivities } from '../contract/activities.ts';
import type { Hash } from '../contract/ids.ts';
import { activityProblem } from '../activity-problem.ts';

/** The session as far as its entries concern it. */
type StoringSession = {
  readonly ports: Pick<SessionActivities, 'commit'>;
  readonly facts: { nextStep(): number };
};

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 600_000;

/**
 * Returns the new head. Returns `head` when what is stored is damaged: the session cannot go on
 * from there, and its memo keeps the rest. After any other failure it tries again, for the entries
 * exist nowhere else.
 */
export async function commitEntries(
  session: StoringSession,
  head: Hash | null,
  append: readonly Append[],
): Promise<Hash | null> {
  return CancellationScope.nonCancellable(async () => {
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      try {
        return (await session.ports.commit({ head, append, step: session.facts.nextStep() })).head;
      } catch (error) {
        const problem = activityProblem(error);
        if (problem === null) throw error;
        if (problem.damaged) return head;
      }
      await sleep(pause);
    }
  });
}
