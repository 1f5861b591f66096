// The live channel on a Redis, for workers and watchers on many machines (W5). Losing it loses
// nothing that is stored, so no step waits for it: a run continues without it, and watchers learn
// that they see only what is stored until it is back.
import { awaitInTime } from '../../system/async.ts';
import type { Log } from '../../system/log.ts';
import type { Live } from './follow.ts';
import { type LivePeek, NOTHING_SAID, peekAt } from './peek.ts';
import { parseLines } from './lines.ts';
import { createSessionKeys, decodeChunk, decodeListed, type SessionKeys } from './redis-keys.ts';
import { openRedisLink, type RedisLink } from './redis-link.ts';
import { createRedisWriters } from './redis-writers.ts';
import { RedisFollowers } from './redis-followers.ts';

type RedisLiveOptions = {
  /** The address, as `liveUrlProblem` accepts it. */
  readonly url: string;
  /** The place of the store, which tells the sessions of two stores apart. */
  readonly scope: string;
  /** Receives one line when the Redis cannot be used, and one when it can again. */
  readonly log?: Log;
};

const CHECK_MS = 6_000;

export function redisLive({ url, scope, log = () => undefined }: RedisLiveOptions): Live {
  const keys = createSessionKeys(scope);
  let link: RedisLink | null = null;
  const connected = (): RedisLink => {
    const onTrouble = (why: string | null): void =>
      why === null
        ? log('info', 'the live channel is back: watchers of running sessions see what happens')
        : log(
            'warn',
            `watchers of running sessions see each step when it is stored, for now: ${why}; it is tried again`,
          );
    link ??= openRedisLink({ url, onReady: () => writers.resend(), onTrouble });
    return link;
  };
  const writers = createRedisWriters(connected, log);
  const followers = new RedisFollowers(url, keys);
  return {
    open: (header) => writers.open({ type: 'header', ...header }, keys(header.session)),
    forgetBefore: (session, step) => {
      // Opening a run does not wait for this, and entries that are not forgotten expire.
      forgetAttempts(connected(), keys(session), step).catch(() => undefined);
      return Promise.resolve();
    },
    follow: (session, watching) => followers.follow(session, watching),
    peek: (session) => peekOf(connected(), keys(session)).catch(() => NOTHING_SAID),
    check: () => checkLink(url),
    close: async () => {
      await writers.close();
      link?.close();
    },
  };
}

async function forgetAttempts(link: RedisLink, { list, stream }: SessionKeys, step: number): Promise<void> {
  const [entries] = await link.send((pipeline) => pipeline.xrange(list, '-', '+'));
  const old = (entries as readonly [string, readonly string[]][]).flatMap(([id, fields]) => {
    const listed = decodeListed(fields);
    return listed && listed.step < step ? [{ id, key: stream(listed) }] : [];
  });
  if (old.length === 0) return;
  await link.send((pipeline) => pipeline.del(...old.map(({ key }) => key)).xdel(list, ...old.map(({ id }) => id)));
}

/** Pieces of an attempt to read, from its end. */
const PIECES = 16;

/** Reads the end of the newest attempt; the id of a piece begins with the Redis's time. */
async function peekOf(link: RedisLink, { list, stream }: SessionKeys): Promise<LivePeek> {
  const [listed] = await link.send((pipeline) => pipeline.xrevrange(list, '+', '-', 'COUNT', 1));
  const [newest] = (listed as Entries).flatMap(([, fields]) => decodeListed(fields) ?? []);
  if (!newest) return NOTHING_SAID;
  const [pieces] = await link.send((pipeline) => pipeline.xrevrange(stream(newest), '+', '-', 'COUNT', PIECES));
  const read = (pieces as Entries).toReversed();
  const text = read.map(([, fields]) => decodeChunk(fields).text).join('');
  const { lines } = parseLines(Buffer.from(text), 0);
  return peekAt(
    newest.step,
    lines.map(({ line }) => line),
    Number.parseInt(read.at(-1)?.[0] ?? '0', 10),
  );
}

type Entries = readonly (readonly [id: string, fields: readonly string[]])[];

/** Resolves to null when the Redis can be used, else to a sentence. */
async function checkLink(url: string): Promise<string | null> {
  let link: RedisLink | undefined;
  const found = new Promise<string | null>((resolve) => {
    link = openRedisLink({ url, onReady: () => resolve(null), onTrouble: resolve });
  });
  try {
    return await awaitInTime(found, `the Redis of PERDURE_LIVE does not answer`, CHECK_MS);
  } finally {
    link?.close();
  }
}
