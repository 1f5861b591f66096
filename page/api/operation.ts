// An operation of the HTTP API: what its request may carry, what it does and what it answers.
import type { z } from 'zod';
import type { MessageId } from '../../workflows/contract/ids.ts';
import { ClientProblem } from '../../client/problem.ts';
import type { PersonRequest } from '../../client/sessions/history/recent.ts';
import type { Role } from '../hosting/people.ts';
import type { Acting, PagePorts } from '../ports.ts';
import * as shapes from './schemas.ts';

/** A request as its operation gets it. */
export type Asking = {
  readonly ports: Pick<
    PagePorts,
    'describe' | 'diff' | 'files' | 'page' | 'recent' | 'result' | 'schedules' | 'transcript'
  >;
  /** Acts in the name of the person who asks. */
  readonly acting: Acting;
  /** Identity of that person's client. */
  readonly by: string;
  readonly role: Role;
  /** Parts of the path; empty where it has none. */
  readonly session: string;
  readonly call: string;
  readonly schedule: string;
  /** The header Idempotency-Key, the same on a retry. */
  readonly key: MessageId | undefined;
  /** The header of that name if it is valid. */
  readonly traceparent: string | undefined;
  /** Aborts when the answer is no longer awaited. */
  readonly signal: AbortSignal;
};

export type Operation = {
  readonly name: string;
  readonly method: 'get' | 'post';
  readonly path: string;
  readonly role: Role;
  /** A sentence for the document. */
  readonly says: string;
  readonly query: z.ZodType;
  readonly body: z.ZodType | null;
  readonly status: 200 | 201 | 202;
  readonly answer: z.ZodType;
  run(asking: Asking, query: unknown, body: unknown): Promise<object>;
};

type OperationFacts = Omit<Operation, 'query' | 'body' | 'run' | 'method'>;

export function getOperation<Query>(
  told: Omit<OperationFacts, 'role' | 'status'>,
  query: z.ZodType<Query>,
  run: (asking: Asking, query: Query) => Promise<object>,
): Operation {
  const read = (asking: Asking, given: unknown) => run(asking, readShape('the address', query, given));
  return { ...told, method: 'get', role: 'look', status: 200, query, body: null, run: read };
}

export function postOperation<Body>(
  told: Omit<OperationFacts, 'status'> & Partial<Pick<OperationFacts, 'status'>>,
  body: z.ZodType<Body>,
  run: (asking: Asking, body: Body) => Promise<object>,
): Operation {
  const query = shapes.none;
  const act = (asking: Asking, given: unknown, sent: unknown) => {
    readShape('the address', query, given);
    return run(asking, readShape('the body', body, sent));
  };
  return { status: 200, ...told, method: 'post', query, body, run: act };
}

/** Throws ClientProblem `refused`. */
export function readShape<T>(what: string, schema: z.ZodType<T>, given: unknown): T {
  const { success, data, error } = schema.safeParse(given);
  if (success) return data;
  const [issue] = error.issues;
  const where = issue?.path.length ? `: ${issue.path.join('.')}` : '';
  throw new ClientProblem('refused', `${what} will not do${where}: ${issue?.message ?? 'it has another shape'}`);
}

/**
 * With a key, an action that the same person has already done counts as done: the answer to the
 * first try may have been lost.
 */
export async function unlessDone(
  { ports, key, by, session }: Pick<Asking, 'ports' | 'key' | 'by' | 'session'>,
  isIt: (one: PersonRequest) => boolean,
  doing: Promise<unknown>,
): Promise<void> {
  try {
    await doing;
  } catch (error) {
    if (key === undefined || !(error instanceof ClientProblem)) throw error;
    if (error.kind !== 'no_call' && error.kind !== 'closed' && error.kind !== 'refused') throw error;
    const { asked } = await ports.recent(session as Parameters<typeof ports.recent>[0]);
    if (!asked.some((one) => one.by === by && isIt(one))) throw error;
  }
}
