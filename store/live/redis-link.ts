// One connection to a Redis that may be unreachable. It never throws at its user, reconnects by
// itself, and says in one sentence what is wrong. The client is loaded on first use, so a worker
// that keeps the live channel in a folder neither needs nor loads it.
import type { ChainableCommander, Redis } from 'ioredis';
import { codeOf, reasonOf } from '../../system/text.ts';

export type RedisLink = {
  /** Returns the client, or null while it cannot be used. */
  ready(): Redis | null;
  /** Sends a pipeline at once. Rejects when any command failed, or no answer came. */
  send(fill: (pipeline: ChainableCommander) => ChainableCommander): Promise<readonly unknown[]>;
  close(): void;
};

export type LinkOptions = {
  readonly url: string;
  /** Called when the Redis can be used, for the first time or again. */
  readonly onReady: (redis: Redis) => void;
  /** Receives a sentence once when the Redis cannot be used, and null when it can again. */
  readonly onTrouble: (why: string | null) => void;
  /** Receives published messages, with their channel. */
  readonly onMessage?: (channel: string, message: string) => void;
};

const CONNECT_MS = 5_000;
/** After these milliseconds without an answer the connection is made anew. */
const ANSWER_MS = 5_000;
const LONGEST_PAUSE_MS = 2_000;
/** A connection that is lost and back within this time is not reported. */
const BLIP_MS = 2_000;

export function openRedisLink({ url, onReady, onTrouble, onMessage }: LinkOptions): RedisLink {
  const closed = new AbortController();
  const trouble = createTroubleReporter(onTrouble);
  let redis: Redis | null = null;
  const ready = (): Redis | null => (redis?.status === 'ready' ? redis : null);

  const connect = async (): Promise<void> => {
    const Client = await loadClient();
    if (closed.signal.aborted) return;
    redis = new Client(url, {
      lazyConnect: true,
      enableOfflineQueue: false,
      autoResubscribe: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: null,
      connectTimeout: CONNECT_MS,
      commandTimeout: ANSWER_MS,
      retryStrategy: (times) => Math.min(50 * 2 ** times, LONGEST_PAUSE_MS),
    });
    listen(redis);
    // The client tries on by itself; the error event has told why this try failed.
    await redis.connect().catch(() => undefined);
  };
  const listen = (client: Redis): void => {
    client.on('ready', () => {
      trouble.over();
      onReady(client);
    });
    client.on('close', () => trouble.soon(describeProblem(url, null)));
    client.on('error', (error: Error) => {
      trouble.now(describeProblem(url, error));
      // A client that was refused, or left without an answer, would stay as it is.
      if (client.status === 'connect') client.disconnect(true);
    });
    if (onMessage) client.on('message', onMessage);
  };
  connect().catch((error: unknown) => trouble.now(describeProblem(url, error)));

  return {
    ready,
    send: async (fill) => {
      const client = ready();
      if (client === null) throw new Error('not connected');
      const answers = await fill(client.pipeline()).exec();
      const failed = answers?.find(([error]) => error !== null)?.[0];
      if (failed) {
        if (isUnanswered(failed)) client.disconnect(true);
        if (isRedisRefusal(failed)) trouble.now(describeProblem(url, failed));
        throw failed;
      }
      return (answers ?? []).map(([, answer]) => answer);
    },
    close: () => {
      closed.abort();
      trouble.close();
      redis?.disconnect();
    },
  };
}

function createTroubleReporter(tell: LinkOptions['onTrouble']) {
  let reported: string | null = null;
  let timer: NodeJS.Timeout | null = null;
  const stop = (): void => {
    if (timer) clearTimeout(timer);
    timer = null;
  };
  const now = (why: string): void => {
    stop();
    if (reported === null) tell((reported = why));
  };
  return {
    now,
    soon: (why: string): void => {
      if (reported === null) timer ??= setTimeout(() => now(why), BLIP_MS).unref();
    },
    over: (): void => {
      stop();
      if (reported !== null) tell((reported = null));
    },
    close: stop,
  };
}

/** Imports inside `try`, so that bundlers pass over a package that is not installed. */
async function loadClient(): Promise<typeof Redis> {
  try {
    return (await import('ioredis')).Redis;
  } catch (error) {
    if (codeOf(error)?.endsWith('MODULE_NOT_FOUND') !== true) throw error;
    throw new MissingClient('the package ioredis is not installed: npm install ioredis', { cause: error });
  }
}

// Checks the address of a Redis, and says in sentences what is wrong there. The name and password
// in an address never leave this file.
export class MissingClient extends Error {}

/** Tells whether the Redis answered and refused the command. */
export function isRedisRefusal(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError';
}

export function isUnanswered(error: Error): boolean {
  return error.message === 'Command timed out';
}

const ADDRESS = /^rediss?:\/\/[^/?#\s]+(?:\/\d{0,4})?$/;

/** Returns why `PERDURE_LIVE` cannot be `url`, or undefined. */
export function liveUrlProblem(url: string): string | undefined {
  const fits = ADDRESS.test(url) && URL.canParse(url) && new URL(url).hostname !== '' && isDecodable(url);
  return fits
    ? undefined
    : 'PERDURE_LIVE is no address of a Redis: give redis://host:port/database, with user:password@ before the host where it wants them (rediss:// for TLS), or unset it to keep the live channel in the data folder';
}

function isDecodable(text: string): boolean {
  try {
    return decodeURIComponent(text) !== '';
  } catch {
    return false;
  }
}

/** Returns the address without name and password. */
export function addressWithoutSecrets(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}

/** Advice by the code of an error, or the first word of an answer. */
const ADVICE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing answers there: see PERDURE_LIVE and that it runs',
  ENOTFOUND: 'its host is not known: see PERDURE_LIVE and the network',
  EAI_AGAIN: 'its host is not known now: see the network',
  ETIMEDOUT: 'it does not answer: see PERDURE_LIVE and the network',
  WRONGPASS: 'its user or password is wrong: give the right ones in PERDURE_LIVE',
  NOAUTH: 'it wants a password: give it in PERDURE_LIVE, as redis://:password@host',
  NOPERM:
    'its user may not use it: allow the keys and channels perdure:* and the commands of streams, expiry and publishing',
  LOADING: 'it still reads its data',
  OOM: 'its memory is full: raise maxmemory there',
  READONLY: 'it is a replica: name the one that takes writes in PERDURE_LIVE',
  MISCONF: 'it takes no writes, for it cannot save them: see its log',
};

const OTHER_PROTOCOL = /Unknown RESP type|Protocol error/;

/** `error` is null when the connection was closed without one. */
export function describeProblem(url: string, error: unknown): string {
  const what = `the Redis at ${addressWithoutSecrets(url)} cannot be used`;
  if (error === null) return `${what}: the connection was lost`;
  if (error instanceof MissingClient) return `${what}: ${error.message}`;
  const reason = reasonOf(error);
  if (OTHER_PROTOCOL.test(reason)) return `${what}: something else than a Redis answers there: see PERDURE_LIVE`;
  if (error instanceof Error && isUnanswered(error)) return `${what}: it does not answer`;
  if (reason.startsWith('ERR DB index')) return `${what}: it has no database of that number: see PERDURE_LIVE`;
  const advice = ADVICE[codeOf(error) ?? ''] ?? ADVICE[reason.split(' ')[0] ?? ''];
  return `${what}: ${advice ?? hideSecrets(url, reason)}`;
}

function hideSecrets(url: string, reason: string): string {
  const { username, password } = new URL(url);
  const secrets = [username, password].flatMap((secret) => [secret, decodeURIComponent(secret)]);
  return secrets
    .filter((secret) => secret !== '')
    .reduce((text, secret) => text.replaceAll(secret, '[redacted]'), reason);
}
