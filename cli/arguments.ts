// Reads a session's id from an argument and checks it before a server is opened, and names the
// person at the terminal.
import { isName, sessionIdProblem, WORKFLOW_TYPE } from '../client/faces/basics.ts';
import { ClientProblem } from '../client/faces/start.ts';
import type { OpenedServer, SessionId } from '../client/faces/types.ts';
import type { Cli } from './cli.ts';
import { UsageError } from './errors.ts';

/**
 * Names the person for transcripts, and for someone who decides second and is told who was first
 * (O12).
 */
export function personAt({ env }: Pick<Cli, 'env'>): { readonly by?: string; readonly querySource: 'cli' } {
  const name = env['USER']?.trim();
  return { querySource: 'cli', ...(isName(name) ? { by: name } : {}) };
}

/** Throws UsageError. */
export function sessionArgument(id: string): SessionId {
  const problem = sessionIdProblem(id);
  if (problem !== undefined) throw new UsageError(problem);
  return id as SessionId;
}

/** Ids that are made here have this form, so they need no completion. */
const WHOLE = /^s-[0-9a-z]{10}$/;

export const isWholeId = (id: string): boolean => WHOLE.test(id);

/** Most sessions to name of those that begin so. */
const NAMED = 5;

/**
 * Returns the session of this id, or the only one whose id begins so. Throws UsageError when
 * several do; an unknown id is found out later.
 */
export async function sessionMeant(
  { temporal, sessions }: Pick<OpenedServer, 'temporal' | 'sessions'>,
  argument: SessionId,
): Promise<SessionId> {
  if (WHOLE.test(argument) || (await isThere(sessions, argument))) return argument;
  const found = new Set<string>();
  const query = `WorkflowType = '${WORKFLOW_TYPE}' AND WorkflowId STARTS_WITH '${argument}'`;
  for await (const { workflowId } of temporal.client.workflow.list({ query, pageSize: 100 })) {
    found.add(workflowId);
    if (found.size > NAMED) break;
  }
  const [only, ...others] = found;
  if (others.length === 0) return (only ?? argument) as SessionId;
  const named = [...found].slice(0, NAMED).join(', ');
  throw new UsageError(
    `several sessions begin with ${argument}: ${named}${found.size > NAMED ? ', …' : ''}; write more of it`,
  );
}

async function isThere(sessions: OpenedServer['sessions'], id: SessionId): Promise<boolean> {
  try {
    await sessions.describe(id);
    return true;
  } catch (error) {
    if (error instanceof ClientProblem && error.kind === 'no_session') return false;
    throw error;
  }
}
