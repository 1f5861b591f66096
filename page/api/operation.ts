// An operation of the HTTP API: what a request of it may carry, and what is done and answered.
import type { z } from 'zod';
import type { MessageId } from '../../workflows/contract/ids.ts';
import { ClientProblem } from '../../client/problem.ts';
import type { Asked } from '../../client/sessions/history/recent.ts';
import type { Role } from '../hosting/people.ts';
import type { Acting, PagePorts } from '../ports.ts';
import * as shapes from './schemas.ts';

/** A request, as its operation gets it. */
export type Asking = {
  readonly ports: Pick<PagePorts, 'describe' | 'page' | 'recent' | 'result' | 'schedules' | 'transcript'>;
  /** In the name of who asks. */
  readonly acting: Acting;
  /** As their client names itself. */
  readonly by: string;
  readonly role: Role;
  /** Of the path: '' where it has none. */
  readonly session: string;
  readonly call: string;
  readonly schedule: string;
  /** Of the header Idempotency-Key: the same on a retry. */
  readonly key: MessageId | undefined;
  /** Of the header of that name, when it is one. */
  readonly traceparent: string | undefined;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
};

export type Operation = {
  readonly name: string;
  readonly method: 'get' | 'post';
  readonly path: string;
  readonly role: Role;
  /** For the document: a sentence. */
  readonly says: string;
  readonly query: z.ZodType;
  readonly body: z.ZodType | null;
  readonly status: 200 | 201 | 202;
  readonly answer: z.ZodType;
  run(asking: Asking, query: unknown, body: unknown): Promise<object>;
};

type Told = Omit<Operation, 'query' | 'body' | 'run' | 'method'>;

export function getting<Query>(
  told: Omit<Told, 'role' | 'status'>,
  query: z.ZodType<Query>,
  run: (asking: Asking, query: Query) => Promise<object>,
): Operation {
  const read = (asking: Asking, given: unknown) => run(asking, readShape('the address', query, given));
  return { ...told, method: 'get', role: 'look', status: 200, query, body: null, run: read };
}

export function posting<Body>(
  told: Omit<Told, 'status'> & Partial<Pick<Told, 'status'>>,
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
 * With a key, what the same person has done already is answered as done: the answer to the first
 * try may have been lost.
 */
export async function unlessDone(
  { ports, key, by, session }: Pick<Asking, 'ports' | 'key' | 'by' | 'session'>,
  isIt: (one: Asked) => boolean,
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
