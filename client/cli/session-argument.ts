// A session's id as an argument: checked before a server is opened for it.
import type { SessionId } from '../../workflows/contract/ids.ts';
import { sessionIdProblem } from '../sessions/info.ts';
import { UsageError } from './errors.ts';

/** Throws UsageError. */
export function sessionArgument(id: string): SessionId {
  const problem = sessionIdProblem(id);
  if (problem !== undefined) throw new UsageError(problem);
  return id as SessionId;
}
