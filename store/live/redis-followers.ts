// The reading side of the live channel on Redis: one connection that reads and one that listens, as
// long as anyone follows, and one subscription for all followers of a session.
import type { Log } from '../../system/log.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { followAttempts, type LiveItem, type Watching } from './follow.ts';
import type { SessionKeys } from './redis-keys.ts';
import { openRedisLink, type RedisLink } from './redis-link.ts';
import { Mirror } from './redis-mirror.ts';

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
