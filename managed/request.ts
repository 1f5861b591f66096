// The request that handlers receive, their replies, and the dependencies that all of them share.
import type { Role } from '../page/hosting/people.ts';
import { type WorkQueues } from '../client/faces/work-items.ts';
import type { Caller } from './callers.ts';
import { notFound } from './errors.ts';
import type { EventBus } from './events/bus.ts';
import { isId, type Prefix } from './ids.ts';
import type { Cursors } from './pages.ts';
import type { SessionParts } from './new-session.ts';
import type { Sessions } from './sessions.ts';
import type { Query } from './shapes/parse.ts';
import type { FoundThread, Threads } from './threads.ts';
import type { SessionLease } from './work/credentials.ts';
import type { Work } from './work/work.ts';

export type ManagedRequest = {
  readonly caller: Caller;
  /** The lease that a worker acts for, where the path is a session's or an item's. */
  readonly lease: SessionLease | undefined;
  /** The name of the person or the worker who asks. */
  readonly person: string;
  /** Throws ManagedError 403 when a person may not do what needs the role; workers have none. */
  requires(role: Role): void;
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: unknown;
  /** The header Idempotency-Key. */
  readonly key: string | undefined;
  /** How often the SDK has sent the request before. */
  readonly retries: number;
  readonly lastEventId: string | undefined;
  /** The header Anthropic-Worker-ID, its first LONGEST_WORKER_ID characters. */
  readonly workerId: string | undefined;
  /** The address that the request came to. */
  readonly origin: string;
  /** Aborts when the server closes. */
  readonly closing: AbortSignal;
  /** Must be called once when a stream is over. */
  readonly left: () => void;
};

export const LONGEST_WORKER_ID = 100;

/** A null is JSON's. */
export type Handler = (request: ManagedRequest) => Promise<object | null>;

export type Paged<Item> = { readonly data: readonly Item[]; readonly next_page: string | null };

/** The parts that all handlers share. */
export type Parts = SessionParts & {
  readonly sessions: Sessions;
  readonly threads: Threads;
  readonly bus: EventBus;
  readonly queues: WorkQueues;
  readonly work: Work;
  readonly cursors: () => Promise<Cursors>;
};

/** Reads an id of the path: one that cannot be an id of its kind is not found. */
export function idIn({ params }: ManagedRequest, name: string, prefix: Prefix, what: string, code?: string): string {
  const id = params[name] ?? '';
  if (!isId(prefix, id)) throw notFound(what, id, code);
  return id;
}

export const agentIn = (request: ManagedRequest): string => idIn(request, 'agent_id', 'agent', 'Agent');
export const environmentIn = (request: ManagedRequest): string =>
  idIn(request, 'environment_id', 'env', 'Environment', 'environment_not_found');
export const sessionIn = (request: ManagedRequest): string => idIn(request, 'session_id', 'sesn', 'Session');

/** Throws ManagedError 404. */
export const threadIn = (request: ManagedRequest, threads: Threads): Promise<FoundThread> =>
  threads.find(sessionIn(request), idIn(request, 'thread_id', 'sthr', 'Thread'));

/** Everything of a query that chooses items. */
export const filterOf = (query: Readonly<Record<string, unknown>>): unknown => ({
  ...query,
  limit: undefined,
  page: undefined,
});

/** The size and the cursor of a page, where they were sent. */
export const pageIn = ({
  limit,
  page,
}: {
  readonly limit?: number | undefined;
  readonly page?: string | undefined;
}) => ({
  limit,
  page,
});
