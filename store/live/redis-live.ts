// The live channel on a Redis, for workers and watchers of many machines (W5). Losing it loses
// nothing that is stored, so nobody waits for it: a run goes on without, and watchers are told that
// they see what is stored, until it is back.
import { awaitInTime } from '../../system/async.ts';
import type { Log } from '../../system/log.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { followAttempts, type Live, type Watching } from './follow.ts';
import { keysOf, listedIn, type SessionKeys } from './redis-keys.ts';
import { openLink, type RedisLink } from './redis-link.ts';
import { Mirror } from './redis-mirror.ts';
import { redisWriters } from './redis-writers.ts';

export type RedisLiveOptions = {
  /** As `liveUrlProblem` accepts it. */
  readonly url: string;
  /** The place of the store: tells the sessions of two stores apart. */
  readonly scope: string;
  /** Told once when the Redis cannot be used, and when it can again. */
  readonly log?: Log;
};

/** Milliseconds between two looks at what may have been said unheard. */
const LOOK_MS = 1_000;
const CHECK_MS = 6_000;

export function redisLive({ url, scope, log = () => undefined }: RedisLiveOptions): Live {
  const keys = keysOf(scope);
  let link: RedisLink | null = null;
  const connected = (): RedisLink => {
    const onTrouble = (why: string | null): void =>
      why === null
        ? log('info', 'the live channel is back: watchers of running sessions see what happens')
        : log(
            'warn',
            `watchers of running sessions see each step when it is stored, for now: ${why}; it is tried again`,
          );
    link ??= openLink({ url, onReady: () => writers.resend(), onTrouble });
    return link;
  };
  const writers = redisWriters(connected, log);
  const followers = redisFollowers(url, keys);
  return {
    open: (header) => writers.open({ type: 'header', ...header }, keys(header.session)),
    forgetBefore: (session, step) => {
      // Whoever opens a run does not wait for it, and what is not forgotten expires.
      forget(connected(), keys(session), step).catch(() => undefined);
      return Promise.resolve();
    },
    follow: followers.follow,
    check: () => checkLink(url),
    close: async () => {
      await writers.close();
      link?.close();
    },
  };
}

async function forget(link: RedisLink, { list, stream }: SessionKeys, step: number): Promise<void> {
  const [entries] = await link.send((pipeline) => pipeline.xrange(list, '-', '+'));
  const old = (entries as readonly [string, readonly string[]][]).flatMap(([id, fields]) => {
    const listed = listedIn(fields);
    return listed && listed.step < step ? [{ id, key: stream(listed) }] : [];
  });
  if (old.length === 0) return;
  await link.send((pipeline) => pipeline.del(...old.map(({ key }) => key)).xdel(list, ...old.map(({ id }) => id)));
}

/** Null when it can be used, else a sentence. */
async function checkLink(url: string): Promise<string | null> {
  let link: RedisLink | undefined;
  const found = new Promise<string | null>((resolve) => {
    link = openLink({ url, onReady: () => resolve(null), onTrouble: resolve });
  });
  try {
    return await awaitInTime(found, `the Redis of PERDURE_LIVE does not answer`, CHECK_MS);
  } finally {
    link?.close();
  }
}

// The reading side: one connection that reads and one that listens, as long as anyone follows; one
// subscription for all followers of a session.

type Links = { readonly read: RedisLink; readonly hear: RedisLink; readonly timer: NodeJS.Timeout };

function redisFollowers(url: string, keys: (session: string) => SessionKeys): Pick<Live, 'follow'> {
  const mirrors = new Map<SessionId, Mirror>();
  const told = new Set<(why: string | null) => void>();
  let links: Links | null = null;
  let trouble: string | null = null;

  const all = (): readonly Mirror[] => [...mirrors.values()];
  const connect = (): Links => {
    const onTrouble = (why: string | null): void => {
      trouble = why;
      for (const tell of told) tell(why);
    };
    const read = openLink({ url, onTrouble, onReady: () => all().forEach((mirror) => mirror.readAnew()) });
    const hear = openLink({
      url,
      // The one that reads has the same to say.
      onTrouble: () => undefined,
      onReady: () => all().forEach((mirror) => subscribe(hear, mirror)),
      onMessage: (channel, stream) =>
        all()
          .find((mirror) => mirror.channel === channel)
          ?.pull(stream),
    });
    const timer = setInterval(() => all().forEach((mirror) => mirror.pull()), LOOK_MS).unref();
    return { read, hear, timer };
  };
  const join = (session: SessionId, log: Log): Mirror => {
    const { hear } = (links ??= connect());
    const known = mirrors.get(session);
    const mirror = known ?? new Mirror({ keys: keys(session), link: () => (links ??= connect()).read, log });
    mirror.users += 1;
    if (known) return mirror;
    mirrors.set(session, mirror);
    subscribe(hear, mirror);
    return mirror;
  };
  const leave = (session: SessionId, mirror: Mirror): void => {
    mirror.users -= 1;
    if (mirror.users > 0) return;
    mirrors.delete(session);
    links?.hear
      .ready()
      ?.unsubscribe(mirror.channel)
      .catch(() => undefined);
    if (mirrors.size > 0) return;
    if (links) clearInterval(links.timer);
    links?.read.close();
    links?.hear.close();
    [links, trouble] = [null, null];
  };
  const follow = async function* (session: SessionId, watching: Watching) {
    const { signal, from, log = () => undefined, onTrouble = () => undefined } = watching;
    const mirror = join(session, log);
    if (trouble !== null) onTrouble(trouble);
    told.add(onTrouble);
    try {
      yield* followAttempts({ reader: mirror.reader, changes: mirror.changes(signal), signal, from, log });
    } finally {
      told.delete(onTrouble);
      leave(session, mirror);
    }
  };
  return { follow };
}

/** Looked at once it is heard of: what was said before that is there. */
function subscribe(hear: RedisLink, mirror: Mirror): void {
  const redis = hear.ready();
  mirror.pull();
  redis?.subscribe(mirror.channel).then(
    () => mirror.pull(),
    // It is looked at now and then in any case.
    () => undefined,
  );
}
