// Finds open sessions that a newer Perdure has worked on. Every task of theirs fails in this one
// until the newer version is back.
import type { Client } from '@temporalio/client';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { WORKFLOW_TYPE } from '../../workflows/contract/session.ts';
import { ClientProblem } from '../problem.ts';
import { needsNewer } from '../sessions/info.ts';

/** Most open sessions to look at, the newest. */
const MOST_LOOKED = 10_000;
const PAGE = 1_000;
/** Most sessions named in a sentence. */
const MOST_NAMED = 3;

type Looking = {
  readonly temporal: Client;
  /** Absent: all queues. */
  readonly queues?: readonly string[];
};

export async function newerSessions({ temporal, queues }: Looking): Promise<readonly SessionId[]> {
  const within = queues ? ` AND TaskQueue IN (${queues.map((queue) => `'${queue}'`).join(', ')})` : '';
  const query = `WorkflowType = '${WORKFLOW_TYPE}' AND ExecutionStatus = 'Running'${within}`;
  const found: SessionId[] = [];
  let looked = 0;
  for await (const execution of temporal.workflow.list({ query, pageSize: PAGE })) {
    if ((looked += 1) > MOST_LOOKED) break;
    if (needsNewer(execution)) found.push(execution.workflowId as SessionId);
  }
  return found;
}

/** Returns a sentence for people, without the remedy. */
export function describeNewer(sessions: readonly SessionId[]): string {
  const named = sessions.slice(0, MOST_NAMED).join(', ');
  const more = sessions.length > MOST_NAMED ? ', …' : '';
  const [what, whom] =
    sessions.length === 1 ? ['1 open session was', 'it'] : [`${sessions.length} open sessions were`, 'them'];
  return `${what} worked on by a newer Perdure, and this one cannot go on with ${whom} (${named}${more})`;
}

/** Throws ClientProblem when there are such sessions. */
export async function refuseBesideNewer(looking: Looking): Promise<void> {
  const sessions = await newerSessions(looking);
  if (sessions.length === 0) return;
  const remedy = 'start the newer version, or this one with --beside-newer: they wait until the newer is back';
  throw new ClientProblem('refused', `${describeNewer(sessions)}: ${remedy}`);
}
