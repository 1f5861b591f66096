// The live channel on a Redis, for workers and watchers on many machines (W5). Losing it loses
// nothing that is stored, so no step waits for it: a run continues without it, and watchers learn
// that they see only what is stored until it is back.
import { awaitInTime } from '../../system/async.ts';
import type { Log } from '../../system/log.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { followAttempts, type Live, type LiveItem, type Watching } from './follow.ts';
import { parseLines } from './lines.ts';
import { type LivePeek, NOTHING_SAID, peekAt } from './peek.ts';
import { createSessionKeys, decodeChunk, decodeListed, type SessionKeys } from './redis-keys.ts';
import { openRedisLink, type RedisLink } from './redis-link.ts';
import { Mirror } from './redis-mirror.ts';
import { createRedisWriters } from './redis-writers.ts';

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

// The reading side of the live channel on Redis: one connection that reads and one that listens, as
// long as anyone follows, and one subscription for all followers of a session.
/** Milliseconds between two looks for news that no message announced. */
const LOOK_MS = 1_000;

type Links = { readonly read: RedisLink; readonly hear: RedisLink; readonly timer: NodeJS.Timeout };

/** Follows sessions in one Redis. It connects for the first follower and leaves with the last. */
export class RedisFollowers {
  private readonly url: string;
  private readonly keys: (session: string) => SessionKeys;
  private readonly mirrors = new Map<SessionId, Mirror>();
  private readonly troubleListeners = new Set<(why: string | null) => void>();
  private links: Links | null = null;
  private trouble: string | null = null;

  constructor(url: string, keys: (session: string) => SessionKeys) {
    this.url = url;
    this.keys = keys;
  }

  async *follow(session: SessionId, watching: Watching): AsyncGenerator<LiveItem, void> {
    const { signal, from, log = () => undefined, onTrouble = () => undefined } = watching;
    const mirror = this.join(session, log);
    if (this.trouble !== null) onTrouble(this.trouble);
    this.troubleListeners.add(onTrouble);
    try {
      yield* followAttempts({ reader: mirror.reader, changes: mirror.changes(signal), signal, from, log });
    } finally {
      this.troubleListeners.delete(onTrouble);
      this.leave(session, mirror);
    }
  }

  private connect(): Links {
    const { url } = this;
    const read = openRedisLink({
      url,
      onTrouble: (why) => this.reportTrouble(why),
      onReady: () => this.forEachMirror((mirror) => mirror.readAnew()),
    });
    const hear = openRedisLink({
      url,
      // The link that reads reports the same trouble.
      onTrouble: () => undefined,
      onReady: () => this.forEachMirror((mirror) => subscribeMirror(hear, mirror)),
      onMessage: (channel, stream) => this.findMirror(channel)?.pull(stream),
    });
    const timer = setInterval(() => this.forEachMirror((mirror) => mirror.pull()), LOOK_MS).unref();
    return { read, hear, timer };
  }

  private join(session: SessionId, log: Log): Mirror {
    const { hear } = (this.links ??= this.connect());
    const known = this.mirrors.get(session);
    const mirror =
      known ?? new Mirror({ keys: this.keys(session), link: () => (this.links ??= this.connect()).read, log });
    mirror.users += 1;
    if (known) return mirror;
    this.mirrors.set(session, mirror);
    subscribeMirror(hear, mirror);
    return mirror;
  }

  private leave(session: SessionId, mirror: Mirror): void {
    mirror.users -= 1;
    if (mirror.users > 0) return;
    this.mirrors.delete(session);
    const { links } = this;
    links?.hear
      .ready()
      ?.unsubscribe(mirror.channel)
      .catch(() => undefined);
    if (this.mirrors.size > 0) return;
    if (links) clearInterval(links.timer);
    links?.read.close();
    links?.hear.close();
    this.links = null;
    this.trouble = null;
  }

  private reportTrouble(why: string | null): void {
    this.trouble = why;
    for (const report of this.troubleListeners) report(why);
  }

  private findMirror(channel: string): Mirror | undefined {
    return [...this.mirrors.values()].find((mirror) => mirror.channel === channel);
  }

  private forEachMirror(visit: (mirror: Mirror) => void): void {
    [...this.mirrors.values()].forEach(visit);
  }
}

/** Subscribes, and pulls once the subscription stands: earlier words are in the streams. */
function subscribeMirror(hear: RedisLink, mirror: Mirror): void {
  const redis = hear.ready();
  mirror.pull();
  redis?.subscribe(mirror.channel).then(
    () => mirror.pull(),
    // The timer pulls in any case.
    () => undefined,
  );
}
