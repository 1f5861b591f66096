// Checks the files of a fork out before its first run (T10). A fork whose files cannot be had ends
// as failed, with the reason: it would work on other files than its conversation is about.
import { ApplicationFailure, isCancellation, upsertMemo } from '@temporalio/workflow';
import { activityProblem } from '../activity-problem.ts';
import { FORK_FILES_KEY, type CheckOut, type FilesCheckedOut, type ForkFiles } from '../contract/fork.ts';
import type { Session } from './session.ts';

/** Returns the failure of the fork; null when its files are there, or it has none of its own. */
export async function openForkFolder(session: Session): Promise<ApplicationFailure | null> {
  const { checkOut } = session.facts.now;
  if (!checkOut) return null;
  session.enterPhase('running');
  const end = await checkOutOnce(session, checkOut);
  const { kind: state, ...told } = end;
  upsertMemo({ [FORK_FILES_KEY]: { folder: checkOut.to, ...told, state } satisfies ForkFiles });
  if (end.kind === 'refused') return ApplicationFailure.nonRetryable(end.problem, 'NotForked');
  session.facts.noteCheckedOut(end.folder);
  return null;
}

async function checkOutOnce({ ports, facts }: Session, checkOut: CheckOut): Promise<FilesCheckedOut> {
  try {
    return await ports.checkOutFiles({ ...checkOut, step: facts.nextStep() });
  } catch (error) {
    const problem = activityProblem(error);
    if (problem === null || isCancellation(error)) throw error;
    return { kind: 'refused', problem: problem.detail };
  }
}
