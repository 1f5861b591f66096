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
