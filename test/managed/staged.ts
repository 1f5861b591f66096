// The face without a server or a worker: the real SDK talks to the app, sessions stand as a test
// says, transcripts are in memory.
import Anthropic from '@anthropic-ai/sdk';
import type { AgentCreateParams } from '@anthropic-ai/sdk/resources/beta/agents';
import { managedApp } from '../../managed/app.ts';
import type { ManagedPorts } from '../../managed/ports.ts';
import type { SessionDescription } from '../../client/index.ts';
import { ClientProblem } from '../../client/problem.ts';
import { ownAccess } from '../../page/hosting/access.ts';
import { description } from '../client/support.ts';
import { memoryKeys } from '../support/memory-keys.ts';
import { memoryStore } from '../support/memory-store.ts';
import { SECRETS } from '../support/page-ports.ts';

export const BASE = 'http://127.0.0.1:4567';

export const token = (role: string): string => `${role}-`.padEnd(40, '0');
const people = (['look', 'decide', 'steer'] as const).map((role) => ({ name: `${role}er`, role, token: token(role) }));

export type Staged = {
  /** What was sent to sessions: the method and its arguments. */
  readonly calls: unknown[][];
  /** How sessions with a workflow stand. */
  readonly described: Map<string, SessionDescription>;
  /** Leases that are held, as `work_….1`. */
  readonly leases: Set<string>;
  readonly store: ReturnType<typeof memoryStore>;
  readonly ports: ManagedPorts;
  readonly client: Anthropic;
  /** A client of its own for a person. */
  as(apiKey: string): Anthropic;
  ask(path: string, init?: RequestInit): Promise<Response>;
  /** Goes on with a new process of the server, which knows what is stored alone. */
  restart(): void;
  /** Fires deployments that are due. */
  fire(): Promise<void>;
};

/** Does what a test says around the start of a workflow. */
type AroundStart = (session: string, start: () => void) => void | Promise<void>;

async function* noItems(): AsyncGenerator<never> {}

export function stagedManaged(
  changes: Partial<ManagedPorts> = {},
  aroundStart: AroundStart = (_, start) => start(),
): Staged {
  const calls: unknown[][] = [];
  const described = new Map<string, SessionDescription>();
  const leases = new Set<string>();
  const store = memoryStore();
  const note =
    (name: string) =>
    async (session: string, ...more: unknown[]): Promise<void> =>
      void calls.push([name, session, ...more]);
  const decision =
    (name: string) =>
    async (session: string, ...more: unknown[]): Promise<never> => {
      calls.push([name, session, ...more]);
      // Nobody looks at what was decided about.
      return undefined as never;
    };
  const ports: ManagedPorts = {
    as: (by) => ({
      start: async (prompt, options = {}) => {
        const session = options.session as SessionDescription['session'];
        calls.push(['start', session, by, prompt, options]);
        await aroundStart(session, () => {
          if (!described.has(session)) described.set(session, description({ session, phase: 'running' }));
        });
        return { session, messageId: options.messageId as never };
      },
      interrupt: note('interrupt'),
      setOptions: note('setOptions'),
      approve: decision('approve'),
      deny: decision('deny'),
      cancel: async (session) => {
        calls.push(['cancel', session]);
        described.set(session, { ...described.get(session)!, status: 'cancelled', phase: 'closed' });
      },
    }),
    giveResult: async (session, given) => void calls.push(['giveResult', session, given]),
    relabel: async (session, labels) => void calls.push(['relabel', session, labels]),
    describe: async (session) => {
      const found = described.get(session);
      if (!found) throw new ClientProblem('no_session', `no session ${session}`);
      return found;
    },
    newestStep: async () => ({ head: null }),
    live: () => noItems(),
    removeWorkflow: async (session) => void described.delete(session),
    openWorkspace: async (session) => `/srv/${session}`,
    outputs: async () => null,
    leases: {
      open: async (lease) => void leases.add(`${lease.work}.${lease.g}`),
      beat: async ({ work, g }) => leases.has(`${work}.${g}`),
      end: async ({ work, g }) => void leases.delete(`${work}.${g}`),
      lastBeat: async () => null,
    },
    leaseMs: 60_000,
    publicUrl: undefined,
    idleLeaseMs: undefined,
    workerTools: [],
    keys: memoryKeys(),
    fetch: () => Promise.reject(new TypeError('fetch failed')),
    store,
    now: Date.now,
    log: () => undefined,
    ...changes,
  };
  const access = ownAccess(SECRETS, () => 'perdure-1a2b.localhost:4567', { people });
  let face = managedApp(ports, access);
  const ask = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers);
    if (!headers.has('host')) headers.set('host', '127.0.0.1:4567');
    return face.app.request(path, { ...init, headers });
  };
  const as = (apiKey: string): Anthropic =>
    new Anthropic({
      apiKey,
      baseURL: BASE,
      authToken: null,
      logLevel: 'off',
      maxRetries: 0,
      fetch: (url, init) => ask(new Request(url, init).url.replace(`${BASE}/v1`, ''), init),
    });
  const restart = (): void => void (face = managedApp(ports, access));
  const fire = (): Promise<void> => face.fire();
  return { calls, described, leases, store, ports, client: as('secret'), as, ask, restart, fire };
}

export const HEADERS = { 'content-type': 'application/json', 'x-api-key': 'secret' };
export const post = (body: unknown, headers: Readonly<Record<string, string>> = {}): RequestInit => ({
  method: 'POST',
  headers: { ...HEADERS, ...headers },
  body: typeof body === 'string' ? body : JSON.stringify(body),
});

export async function collect<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** The error of a promise that must be rejected. */
export async function errorOf(promise: Promise<unknown>): Promise<InstanceType<typeof Anthropic.APIError>> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof Anthropic.APIError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

/** Returns the `error_code` of an error's details. */
export function codeOf({ error }: InstanceType<typeof Anthropic.APIError>): unknown {
  const envelope: { error?: { details?: { error_code?: unknown } } } | undefined = error;
  return envelope?.error?.details?.error_code;
}

export const AGENT: AgentCreateParams = {
  name: 'Coder',
  model: 'claude-sonnet-5-5',
  tools: [{ type: 'agent_toolset_20260401' }],
};
export const text = (words: string) => ({
  type: 'user.message' as const,
  content: [{ type: 'text' as const, text: words }],
});
