// Does an operation on a session for a command, once its request is known to be right.
import { callMethod, type Fields, type Operation } from '../client/operations/operations.ts';
import type { OpenedServer, SessionId } from '../client/faces/types.ts';
import type { Cli } from './cli.ts';
import { STATUS, UsageError } from './errors.ts';
import { withSession } from './with-server.ts';

type Steering<Request, Result> = {
  /** The session's id, or the beginning of it. */
  readonly id: string;
  readonly operation: Operation<Request, Result>;
  readonly request: NoInfer<Request>;
};

/** `report` tells the person what came of it. Throws UsageError for a request that is wrong. */
export async function steerSession<Request extends Fields, Result>(
  cli: Cli,
  { id, operation, request }: Steering<Request, Result>,
  report: (session: SessionId, result: Result, opened: OpenedServer) => void | Promise<void>,
): Promise<number> {
  const problem = await operation.problemOf?.(request);
  if (problem !== undefined) throw new UsageError(problem);
  return withSession(cli, id, async (opened, session) => {
    await report(session, await callMethod(opened.sessions, operation, session, request), opened);
    return STATUS.ok;
  });
}
