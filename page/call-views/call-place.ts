// Looks at where a call that waits would run.
import type { SessionId, WaitingApproval } from '../../client/faces/types.ts';
import { ClientProblem } from '../../client/faces/start.ts';
import type { PagePorts } from '../ports.ts';
import { readWanted, type FileNow } from './file-change.ts';

/** The folder that a call would run in, and the file that it would change as it is there now. */
export type CallPlace = { readonly cwd: string; readonly file: FileNow | null };

/** The session whose run makes the call: an agent's own, where an agent asks. */
export const runOf = ({ session, agent }: WaitingApproval): SessionId => agent?.session ?? session;

/** An agent may work in a folder of its own; `cwd` is for a session that is gone. */
export async function readPlace(
  ports: Pick<PagePorts, 'describe' | 'file'>,
  approval: WaitingApproval,
  cwd: string,
): Promise<CallPlace> {
  const wanted = approval.problem === undefined ? readWanted(approval.tool, approval.input) : null;
  try {
    const described = await ports.describe(runOf(approval));
    return { cwd: described.cwd, file: wanted && (await ports.file(described, wanted.path)) };
  } catch (error) {
    if (!(error instanceof ClientProblem)) throw error;
    return { cwd, file: null };
  }
}
