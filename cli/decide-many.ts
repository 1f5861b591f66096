// Decides about every call that waits in the sessions that a filter means.
import type { OpenedServer } from '../client/runtime/open-server.ts';
import type { WaitingApproval } from '../client/sessions/waiting-approval.ts';
import { approvalWhat } from '../client/render/approval-text.ts';
import { oneLine } from '../client/paint.ts';
import type { Cli } from './cli.ts';
import { withDecidingWorker } from './decide-session.ts';
import { actOnMatching, type FilterFlags } from './many-sessions.ts';

export type DecideMany = {
  /** For the question: "approve". */
  readonly verb: string;
  /** For the end: "approved". */
  readonly done: string;
  readonly act: (opened: OpenedServer, approval: WaitingApproval) => Promise<unknown>;
};

/** Leaves out questions, and calls whose input is not certain: those are for a person to read. */
export function decideMany(cli: Cli, flags: FilterFlags, { verb, done, act }: DecideMany): Promise<number> {
  return actOnMatching(cli, flags, {
    verb,
    thing: 'call',
    done,
    deeds: async (opened, { session, approvals = [], taskQueue }) => {
      if (approvals.length === 0) return [];
      const waiting = await opened.sessions.approvals(session);
      const certain = waiting.filter(({ question, problem }) => !question && problem === undefined);
      return certain.map((approval) => ({
        words: `${session}  ${oneLine(approval.tool, 40)} ${approvalWhat(approval)}`,
        act: () => withDecidingWorker(cli, opened, taskQueue, () => act(opened, approval)),
      }));
    },
  });
}
