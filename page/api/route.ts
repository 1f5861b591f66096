// A route of the HTTP API: what its request may carry, what it does and what it answers.
import type { z } from 'zod';
import { RUN_OPTIONS } from '../../client/faces/options.ts';
import type { OptionChanges, MessageId, PersonRequest } from '../../client/faces/types.ts';
import { refuseUnknown } from '../../client/faces/sessions.ts';
import { ClientProblem } from '../../client/faces/start.ts';
import type { Role } from '../hosting/people.ts';
import type { Acting, PagePorts } from '../ports.ts';
import { nothing } from '../../client/operations/operation.ts';

/** A request as its route gets it. */
export type ApiRequest = {
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

export type Route = {
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
  run(request: ApiRequest, query: unknown, body: unknown): Promise<object>;
};

type RouteFacts = Omit<Route, 'query' | 'body' | 'run' | 'method'>;

export function getRoute<Query>(
  facts: Omit<RouteFacts, 'role' | 'status'>,
  query: z.ZodType<Query>,
  run: (request: ApiRequest, query: Query) => Promise<object>,
): Route {
  const read = (request: ApiRequest, address: unknown) => run(request, readShape('the address', query, address));
  return { ...facts, method: 'get', role: 'look', status: 200, query, body: null, run: read };
}

export function postRoute<Body>(
  facts: Omit<RouteFacts, 'status'> & Partial<Pick<RouteFacts, 'status'>>,
  body: z.ZodType<Body>,
  run: (request: ApiRequest, body: Body) => Promise<object>,
): Route {
  const query = nothing;
  const act = (request: ApiRequest, address: unknown, sent: unknown) => {
    readShape('the address', query, address);
    return run(request, readShape('the body', body, sent));
  };
  return { status: 200, ...facts, method: 'post', query, body, run: act };
}

/** Throws ClientProblem `refused`. */
export function readShape<T>(what: string, schema: z.ZodType<T>, input: unknown): T {
  const { success, data, error } = schema.safeParse(input);
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
  { ports, key, by, session }: Pick<ApiRequest, 'ports' | 'key' | 'by' | 'session'>,
  isIt: (one: PersonRequest) => boolean,
  doing: Promise<unknown>,
): Promise<unknown> {
  try {
    return await doing;
  } catch (error) {
    if (key === undefined || !(error instanceof ClientProblem)) throw error;
    if (error.kind !== 'no_call' && error.kind !== 'closed' && error.kind !== 'refused') throw error;
    const { asked: requests } = await ports.recent(session as Parameters<typeof ports.recent>[0]);
    if (!requests.some((one) => one.by === by && isIt(one))) throw error;
    return undefined;
  }
}

/**
 * Refuses the client's other options, such as the workers of a session, which a request cannot set.
 */
export function checkRunOptions<Options extends object | undefined>(options: Options): Options & OptionChanges {
  refuseUnknown('the options', options, RUN_OPTIONS);
  return options as Options & OptionChanges;
}
