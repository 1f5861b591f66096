// Sends a feed as server-sent events. The browser says where it was and gets what came since; if
// that is forgotten, it is told once and loads the present state. Viewers have no queues: unread
// changes stay in the ring that they share.
import type { Context } from 'hono';
import { startDeadline } from '../../system/async.ts';
import { BEAT, KEEPALIVE_MS, sendFrames, sendStream } from '../event-frames.ts';
import type { Change, Ring } from './ring.ts';

/** Limits of a viewer: changes as `show` returns them, until a moment. */
type ViewerLimits = { readonly show: (change: Change) => Change; readonly until: number };

/**
 * Opens the stream. `from` is `epoch.place`, from the page or the last event. `left` is called when
 * the viewer goes.
 */
export function eventStream(ring: Ring, from: string, left: () => void, limits?: ViewerLimits): Response {
  const [epoch, place] = from.split('.');
  let at = epoch === ring.epoch && /^\d{1,15}$/.test(place ?? '') ? Number(place) : -1;
  let isReset = false;
  return sendFrames({ left }, (signal) => {
    const next = async (): Promise<string | null> => {
      const known = ring.since(at);
      // A reset ends the stream: the viewer must come again.
      if (known === null) return isReset ? null : ((isReset = true), 'event: reset\ndata: \n\n');
      if (known.changes.length === 0) {
        const beat = startDeadline(KEEPALIVE_MS, signal);
        await ring.changed(beat.signal);
        beat.stop();
        const news = ring.since(at);
        return news?.changes.length === 0 ? BEAT : next();
      }
      at = known.at;
      return eventText(`${ring.epoch}.${at}`, joinTexts(limits ? known.changes.map(limits.show) : known.changes));
    };
    return async () => {
      const text = await next();
      return limits && limits.until <= Date.now() ? null : text;
    };
  });
}

function eventText(id: string, changes: readonly Change[]): string {
  return `id: ${id}\ndata: ${JSON.stringify(changes)}\n\n`;
}

/** Joins words that came one by one into one change for a viewer that was behind. */
function joinTexts(changes: readonly Change[]): readonly Change[] {
  const joined: Change[] = [];
  for (const change of changes) {
    const last = joined.at(-1);
    if (change.do === 'text' && last?.do === 'text' && last.id === change.id)
      joined[joined.length - 1] = { ...last, text: last.text + change.text };
    else joined.push(change);
  }
  return joined;
}

/** Sends a feed to a viewer, from the last event that it has. Throws when the feed cannot open. */
export async function sendFeed<Key>(
  context: Context,
  feeds: Pick<OpenFeeds<Key, { readonly ring: Ring }>, 'enter'>,
  key: Key,
  limits?: ViewerLimits,
): Promise<Response> {
  const { feed, leave } = await feeds.enter(key);
  const from = context.req.header('last-event-id') ?? context.req.query('from') ?? '';
  return sendStream(context, eventStream(feed.ring, from, leave, limits));
}

// The open feeds of this process: one for each watched thing, shared by all its viewers. A feed
// stays open for a while after its last viewer has left, for a reload or the next viewer. Only a
// few do: each holds what it shows.
export type OpenFeeds<Key, Feed> = {
  /** Opens or joins a feed. Call `leave` once. Throws the error of opening it. */
  enter(key: Key): Promise<{ readonly feed: Feed; leave(): void }>;
  /**
   * Tells something to a feed that is open, or as soon as it is, and opens none. Why it could not
   * be opened is for those who enter it.
   */
  tell(key: Key, use: (feed: Feed) => void): void;
  /** Number of open feeds. */
  readonly size: number;
  /** Number of viewers. */
  readonly watchers: number;
  close(): void;
};

const LINGER_MS = 30_000;
/** Feeds without a viewer. */
const MOST_LINGERING = 4;

type Open<Feed> = { readonly feed: Promise<Feed>; watchers: number; closing: NodeJS.Timeout | null };

export function openFeeds<Key, Feed extends { close(): void }>(
  open: (key: Key, isWatched: () => boolean) => Promise<Feed>,
  lingerMs = LINGER_MS,
): OpenFeeds<Key, Feed> {
  const entries = new Map<Key, Open<Feed>>();
  const shut = (key: Key, entry: Open<Feed>): void => {
    if (entries.get(key) === entry) entries.delete(key);
    if (entry.closing) clearTimeout(entry.closing);
    void entry.feed.then(
      (feed) => feed.close(),
      () => undefined,
    );
  };
  const openAnew = (key: Key): Open<Feed> => {
    const entry: { watchers: number; closing: null } = { watchers: 0, closing: null };
    const opened = Object.assign(entry, { feed: open(key, () => entry.watchers > 0) });
    entries.set(key, opened);
    return opened;
  };
  const shutOldest = (): void => {
    const unwatched = [...entries].filter(([, { closing }]) => closing !== null);
    for (const [key, entry] of unwatched.slice(0, -MOST_LINGERING)) shut(key, entry);
  };
  return {
    get size() {
      return entries.size;
    },
    get watchers() {
      return [...entries.values()].reduce((sum, { watchers }) => sum + watchers, 0);
    },
    enter: async (key) => {
      const entry = entries.get(key) ?? openAnew(key);
      if (entry.closing) clearTimeout(entry.closing);
      entry.closing = null;
      entry.watchers += 1;
      let hasLeft = false;
      const leave = (): void => {
        if (hasLeft) return;
        hasLeft = true;
        entry.watchers -= 1;
        if (entry.watchers > 0 || entries.get(key) !== entry) return;
        // The last that was left is the last to be shut.
        entries.delete(key);
        entries.set(key, entry);
        entry.closing = setTimeout(() => shut(key, entry), lingerMs);
        entry.closing.unref();
        shutOldest();
      };
      try {
        return { feed: await entry.feed, leave };
      } catch (error) {
        shut(key, entry);
        throw error;
      }
    },
    tell: (key, use) => void entries.get(key)?.feed.then(use, () => undefined),
    close: () => {
      for (const [key, entry] of entries) shut(key, entry);
    },
  };
}

export async function withFeed<Key, Feed, T>(
  feeds: OpenFeeds<Key, Feed>,
  key: Key,
  use: (feed: Feed) => Promise<T> | T,
): Promise<T> {
  const { feed, leave } = await feeds.enter(key);
  try {
    return await use(feed);
  } finally {
    leave();
  }
}
