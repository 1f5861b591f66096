// Connects a client to a Temporal server, and makes sure that it answers and has the namespace.
// Tells whether anything listens at an address. A gRPC channel that was refused waits before it
// tries again, and does not say why.
import { connect } from 'node:net';
import { Client, Connection, isRetryableError, makeGrpcRetryInterceptor } from '@temporalio/client';
import { SetupProblem } from '../system/setup-problem.ts';
import { codeOf, reasonOf } from '../system/text.ts';
import { present } from '../workflows/contract/present.ts';
import { GRPC, readGrpcFailure } from './grpc-failure.ts';
import type { Proxy } from './network/proxy-rules.ts';
import { createClientConverter } from './payloads/data-converter.ts';
import type { ExternalServer } from './resolve-connection.ts';

/** Where to connect: the server that the environment names, or the embedded one. */
export type Target = Omit<ExternalServer, 'kind'>;

export type Connected = {
  readonly connection: Connection;
  readonly client: Client;
  /** Closes the connection; calls that are still open fail. */
  close(): Promise<void>;
};

const CONNECT_MS = 4_000;
const PROBE_MS = 1_000;

/**
 * The retries of a call. One that meets a continue-as-new pauses 2 s on the SDK's own backoff, and
 * at most 0.2 s on this.
 */
const CALL_RETRIES = { attempts: 50, firstMs: 20, factor: 1.3, mostMs: 500 };

/** Milliseconds between attempts after a restart of the server; gRPC's own are 1 s and 2 min. */
const QUICK_RECONNECT = { 'grpc.initial_reconnect_backoff_ms': 50, 'grpc.max_reconnect_backoff_ms': 2_000 };

/**
 * Throws SetupProblem when no server answers within 5 s, when it is too old, or when it lacks the
 * namespace. The caller closes the connection.
 */
export async function connectClient(target: Target): Promise<Connected> {
  const { interceptors, end } = createRetries();
  const connection = Connection.lazy({
    ...directOptions(target),
    ...channelOptions(target),
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
  const client = new Client({
    connection,
    namespace: target.namespace,
    dataConverter: createClientConverter(target.keys),
  });
  return { connection, client, close };
}

/**
 * Tells gRPC which proxy to use. By itself it reads only the variables in small letters of the
 * process's environment, and would use a proxy also for a server of this machine, which no proxy
 * reaches.
 */
function channelOptions({ address, proxy }: Target) {
  const own = { ...QUICK_RECONNECT, 'grpc.enable_http_proxy': 0 };
  if (proxy === undefined) return { channelArgs: own };
  const tunnel = { 'grpc.http_connect_target': `dns:${address}`, 'grpc.default_authority': address };
  const creds = credentialsOf(proxy);
  return {
    address: proxy.label,
    channelArgs: { ...own, ...tunnel, ...(creds && { 'grpc.http_connect_creds': creds }) },
  };
}

/** Returns `name:password`. */
function credentialsOf({ token }: Proxy): string | undefined {
  return token && Buffer.from(token.slice('Basic '.length), 'base64').toString('utf8');
}

type Interceptor = ReturnType<typeof makeGrpcRetryInterceptor>;

/**
 * Makes the SDK's retries, and a way to end them. A retry that is due when its connection is closed
 * throws where it cannot be caught: `end` stops further ones from being planned, and resolves when
 * those that were planned have begun.
 */
function createRetries() {
  const { attempts, firstMs, factor, mostMs } = CALL_RETRIES;
  const started = new WeakSet<object>();
  let [planned, ending] = [0, false];
  let none = (): void => {};
  const again = makeGrpcRetryInterceptor({
    retryableDecider: (attempt, status) => !ending && attempt < attempts && isRetryableError(status),
    delayFunction: (attempt) => {
      planned += 1;
      return Math.min(mostMs, factor ** attempt * firstMs) * (0.8 + Math.random() * 0.4);
    },
  });
  // Each try of a call passes here, with the same options.
  const count: Interceptor = (options, next) => {
    if (started.has(options)) planned -= 1;
    else started.add(options);
    if (planned === 0) none();
    return next(options) as ReturnType<Interceptor>;
  };
  const end = async (): Promise<void> => {
    ending = true;
    if (planned > 0) await new Promise<void>((resolve) => (none = resolve));
  };
  return { interceptors: [again, count], end };
}

/** Returns the options of NativeConnection.connect. */
export function connectionOptions(target: Target) {
  return { ...directOptions(target), ...present({ proxy: target.proxy && tunnelOptions(target.proxy) }) };
}

function directOptions({ address, tls, apiKey, metadata }: Target) {
  return {
    address,
    ...present({ tls, apiKey, metadata: metadata && { ...metadata } }),
  };
}

function tunnelOptions(proxy: Proxy) {
  const [username = '', ...password] = credentialsOf(proxy)?.split(':') ?? [];
  const basicAuth = { username, password: password.join(':') };
  return { type: 'http-connect' as const, targetHost: proxy.label, ...(proxy.token !== undefined && { basicAuth }) };
}

async function ensureConnected(connection: Connection, { address, proxy }: Target): Promise<void> {
  try {
    await connection.ensureConnected();
  } catch (error) {
    const { code, why } = readGrpcFailure(error);
    if (code === GRPC.permissionDenied || code === GRPC.unauthenticated)
      throw new SetupProblem(`the Temporal server at ${address} refuses these credentials: ${why}`);
    if (proxy !== undefined) throw new SetupProblem(describeProxyFailure(address, proxy, why));
    const known = code === undefined ? await probeTcp(address, PROBE_MS) : why;
    const reason =
      known ?? 'something listens there, but does not speak gRPC this way (is TLS set as the server wants it?)';
    throw new SetupProblem(
      `no Temporal server answers at ${address}: ${reason}; start it, or correct TEMPORAL_ADDRESS or the Temporal profile`,
    );
  }
}

function describeProxyFailure(address: string, { label, by }: Proxy, why: string): string {
  const remedy = `see that the proxy leads there, or name ${address.replace(/:\d+$/, '')} in NO_PROXY if it is reached directly`;
  return `no Temporal server answers at ${address} through the proxy ${label} (${by}): ${why}; ${remedy}`;
}

async function checkNamespace(connection: Connection, { address, namespace }: Target): Promise<void> {
  const { workflowService } = connection;
  const ask = <T>(call: () => Promise<T>): Promise<T> => connection.withDeadline(Date.now() + CONNECT_MS, call);
  try {
    const { namespaceInfo } = await ask(() => workflowService.describeNamespace({ namespace }));
    if (namespaceInfo?.capabilities?.syncUpdate) return;
    const { serverVersion } = await ask(() => workflowService.getSystemInfo({}));
    throw new SetupProblem(describeMissingUpdates(address, serverVersion));
  } catch (error) {
    if (error instanceof SetupProblem) throw error;
    const { code, why } = readGrpcFailure(error);
    // A client that may not look at the namespace may still be allowed to use it.
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

/**
 * Words that the server lacks updates. Decisions are updates: without them no approval would ever
 * be taken.
 */
function describeMissingUpdates(address: string, version: string): string {
  const server = `the Temporal server at ${address} (version ${version || 'unknown'})`;
  return `${server} takes no workflow updates: use 1.25 or newer, or set frontend.enableUpdateWorkflowExecution in its dynamic configuration`;
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'its name cannot be looked up',
};

/** Resolves to null when a connection was accepted, else to why not. `address` is host:port. */
export function probeTcp(address: string, timeoutMs: number): Promise<string | null> {
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
    socket.once('error', (error) => done(REASONS[codeOf(error) ?? ''] ?? reasonOf(error)));
  });
}
