// A client of a Temporal server that is known to answer and to have the namespace.
import { connect } from 'node:net';
import { Client, Connection, isRetryableError, makeGrpcRetryInterceptor, isGrpcServiceError } from '@temporalio/client';
import { clientConverter } from './payloads/data-converter.ts';
import type { External } from './resolve-connection.ts';
import type { Proxy } from './network/proxy-rules.ts';
import { SetupProblem } from '../system/setup-problem.ts';
import { codeOf, reasonOf } from '../system/text.ts';

/** Where to connect: what the environment names, or the address of the embedded server. */
export type Target = Omit<External, 'kind'>;

export type Connected = {
  readonly connection: Connection;
  readonly client: Client;
  /** Calls that are still open then fail. */
  close(): Promise<void>;
};

const CONNECT_MS = 4_000;
const PROBE_MS = 1_000;

/**
 * A call that meets a continue-as-new pauses 2 s on the SDK's own backoff, at most 0.2 s on this.
 */
const patience = { attempts: 50, firstMs: 20, factor: 1.3, mostMs: 500 };

/** After a restart of the server; gRPC's own are 1 s and 2 min. */
const quickReconnect = { 'grpc.initial_reconnect_backoff_ms': 50, 'grpc.max_reconnect_backoff_ms': 2_000 };

/**
 * Throws SetupProblem when no server answers within 5 s, it is too old, or it lacks the namespace.
 * The caller closes the connection.
 */
export async function connectClient(target: Target): Promise<Connected> {
  const { interceptors, end } = retriesUntilClosed();
  const connection = Connection.lazy({
    ...directOptions(target),
    ...channelTo(target),
    connectTimeout: CONNECT_MS,
    interceptors,
  });
  const close = async (): Promise<void> => {
    await end();
    await connection.close();
  };
  try {
    await ensureConnected(connection, target);
    await checkNamespace(connection, target);
  } catch (error) {
    await close();
    throw error;
  }
  const client = new Client({ connection, namespace: target.namespace, dataConverter: clientConverter(target.keys) });
  return { connection, client, close };
}

/**
 * Of its own, gRPC asks the proxy of the process's environment in small letters alone, and also for
 * a server of this machine, which no proxy reaches. It is told instead, as it tells itself.
 */
function channelTo({ address, proxy }: Target) {
  const own = { ...quickReconnect, 'grpc.enable_http_proxy': 0 };
  if (proxy === undefined) return { channelArgs: own };
  const tunnel = { 'grpc.http_connect_target': `dns:${address}`, 'grpc.default_authority': address };
  const creds = credentialsOf(proxy);
  return {
    address: proxy.shown,
    channelArgs: { ...own, ...tunnel, ...(creds && { 'grpc.http_connect_creds': creds }) },
  };
}

/** `name:password` */
function credentialsOf({ token }: Proxy): string | undefined {
  return token && Buffer.from(token.slice('Basic '.length), 'base64').toString('utf8');
}

type Interceptor = ReturnType<typeof makeGrpcRetryInterceptor>;

/**
 * The SDK's retries. One that is due when its connection is closed throws where nobody can catch
 * it: `end` lets none be planned any more, and resolves when those that were have begun.
 */
function retriesUntilClosed() {
  const { attempts, firstMs, factor, mostMs } = patience;
  const begun = new WeakSet<object>();
  let [planned, ending] = [0, false];
  let none = (): void => {};
  const again = makeGrpcRetryInterceptor({
    retryableDecider: (attempt, status) => !ending && attempt < attempts && isRetryableError(status),
    delayFunction: (attempt) => {
      planned += 1;
      return Math.min(mostMs, factor ** attempt * firstMs) * (0.8 + Math.random() * 0.4);
    },
  });
  // Each try of a call comes by here, with the same options.
  const count: Interceptor = (options, next) => {
    if (begun.has(options)) planned -= 1;
    else begun.add(options);
    if (planned === 0) none();
    return next(options) as ReturnType<Interceptor>;
  };
  const end = async (): Promise<void> => {
    ending = true;
    if (planned > 0) await new Promise<void>((resolve) => (none = resolve));
  };
  return { interceptors: [again, count], end };
}

/** What NativeConnection.connect takes. */
export function connectionOptions(target: Target) {
  return { ...directOptions(target), ...(target.proxy === undefined ? {} : { proxy: tunnelOf(target.proxy) }) };
}

function directOptions({ address, tls, apiKey, metadata }: Target) {
  return {
    address,
    ...(tls === undefined ? {} : { tls }),
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(metadata === undefined ? {} : { metadata: { ...metadata } }),
  };
}

function tunnelOf(proxy: Proxy) {
  const [username = '', ...password] = credentialsOf(proxy)?.split(':') ?? [];
  const basicAuth = { username, password: password.join(':') };
  return { type: 'http-connect' as const, targetHost: proxy.shown, ...(proxy.token !== undefined && { basicAuth }) };
}

async function ensureConnected(connection: Connection, { address, proxy }: Target): Promise<void> {
  try {
    await connection.ensureConnected();
  } catch (error) {
    const { code, why } = grpcFailure(error);
    if (code === GRPC.permissionDenied || code === GRPC.unauthenticated)
      throw new SetupProblem(`the Temporal server at ${address} refuses these credentials: ${why}`);
    if (proxy !== undefined) throw new SetupProblem(behindProxy(address, proxy, why));
    const reason = code === undefined ? await tcpProbe(address, PROBE_MS) : why;
    const said =
      reason ?? 'something listens there, but does not speak gRPC this way (is TLS set as the server wants it?)';
    throw new SetupProblem(
      `no Temporal server answers at ${address}: ${said}; start it, or correct TEMPORAL_ADDRESS or the Temporal profile`,
    );
  }
}

function behindProxy(address: string, { shown, by }: Proxy, why: string): string {
  const remedy = `see that the proxy leads there, or name ${address.replace(/:\d+$/, '')} in NO_PROXY if it is reached directly`;
  return `no Temporal server answers at ${address} through the proxy ${shown} (${by}): ${why}; ${remedy}`;
}

async function checkNamespace(connection: Connection, { address, namespace }: Target): Promise<void> {
  const { workflowService } = connection;
  const ask = <T>(call: () => Promise<T>): Promise<T> => connection.withDeadline(Date.now() + CONNECT_MS, call);
  try {
    const { namespaceInfo } = await ask(() => workflowService.describeNamespace({ namespace }));
    if (namespaceInfo?.capabilities?.syncUpdate) return;
    const { serverVersion } = await ask(() => workflowService.getSystemInfo({}));
    throw new SetupProblem(withoutUpdates(address, serverVersion));
  } catch (error) {
    if (error instanceof SetupProblem) throw error;
    const { code, why } = grpcFailure(error);
    // Who may not look at it may still be allowed to use it.
    if (code === GRPC.permissionDenied) return;
    if (code === GRPC.unimplemented)
      throw new SetupProblem(
        `what answers at ${address} is no Temporal server, or one that is far too old: correct TEMPORAL_ADDRESS or the Temporal profile`,
      );
    if (code !== GRPC.notFound)
      throw new SetupProblem(`the Temporal server at ${address} does not work as it should: ${why}`);
    const remedy = `create it with \`temporal operator namespace create -n ${namespace}\`, or correct TEMPORAL_NAMESPACE`;
    throw new SetupProblem(`the Temporal server at ${address} has no namespace ${namespace}: ${remedy}`);
  }
}

/** Decisions are updates: without them no approval would ever be taken. */
function withoutUpdates(address: string, version: string): string {
  const server = `the Temporal server at ${address} (version ${version || 'unknown'})`;
  return `${server} takes no workflow updates: use 1.25 or newer, or set frontend.enableUpdateWorkflowExecution in its dynamic configuration`;
}

// Whether anything listens at an address. A gRPC channel that was refused waits before it tries
// again, and does not say why.

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'its name cannot be looked up',
};

/** Null when a connection was accepted, else why not. `address` is host:port. */
export function tcpProbe(address: string, timeoutMs: number): Promise<string | null> {
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, colon).replace(/^\[(.*)\]$/, '$1');
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(address.slice(colon + 1)), timeout: timeoutMs });
    const done = (problem: string | null) => {
      socket.destroy();
      resolve(problem);
    };
    socket.once('connect', () => done(null));
    socket.once('timeout', () => done('it does not answer'));
    socket.once('error', (error) => done(reasons[codeOf(error) ?? ''] ?? reasonOf(error)));
  });
}

// Reads a failed call to a Temporal server, whether the SDK wrapped the failure or not.

/** The gRPC status codes that are decided on here. */
export const GRPC = {
  invalidArgument: 3,
  notFound: 5,
  alreadyExists: 6,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  unimplemented: 12,
  unauthenticated: 16,
} as const;

type GrpcFailure = {
  /** Undefined when the failure did not come from the server. */
  readonly code: number | undefined;
  /** One line. */
  readonly why: string;
};

export function grpcFailure(error: unknown): GrpcFailure {
  const inner = error instanceof Error && error.cause !== undefined ? error.cause : error;
  if (isGrpcServiceError(inner))
    return { code: inner.code, why: inner.details.split('\n', 1)[0] || `code ${inner.code}` };
  return { code: undefined, why: reasonOf(inner) };
}
