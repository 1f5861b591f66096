// The feeds that are open in this process: one for each session that somebody watches, however many watch it. It stays a while after the
// last one has gone, for a reload, and for whoever comes next.
import type { SessionId } from '../../../workflows/contract/ids.ts';
import type { PagePorts } from '../ports.ts';
import { openSessionFeed, type SessionFeed } from './session-feed.ts';
import type { Frame } from './standing.tsx';

export type OpenFeeds = {
  /** `leave` must be called once. Throws as `openSessionFeed` does. */
  enter(session: SessionId): Promise<{ readonly feed: SessionFeed; leave(): void }>;
  /** How many sessions are followed. */
  readonly size: number;
  close(): void;
};

const LINGER_MS = 30_000;

type Open = { readonly feed: Promise<SessionFeed>; watchers: number; closing: NodeJS.Timeout | null };

export function openFeeds(ports: PagePorts, frame: Frame, lingerMs = LINGER_MS): OpenFeeds {
  const open = new Map<SessionId, Open>();
  const shut = (session: SessionId, entry: Open): void => {
    if (open.get(session) === entry) open.delete(session);
    if (entry.closing) clearTimeout(entry.closing);
    void entry.feed.then(
      (feed) => feed.close(),
      () => undefined,
    );
  };
  return {
    get size() {
      return open.size;
    },
    enter: async (session) => {
      const entry: Open = open.get(session) ?? {
        feed: openSessionFeed(ports, session, frame),
        watchers: 0,
        closing: null,
      };
      open.set(session, entry);
      if (entry.closing) clearTimeout(entry.closing);
      entry.closing = null;
      entry.watchers += 1;
      const leave = (): void => {
        entry.watchers -= 1;
        if (entry.watchers > 0) return;
        entry.closing = setTimeout(() => shut(session, entry), lingerMs);
        entry.closing.unref();
      };
      try {
        return { feed: await entry.feed, leave };
      } catch (error) {
        shut(session, entry);
        throw error;
      }
    },
    close: () => {
      for (const [session, entry] of open) shut(session, entry);
    },
  };
}
