// Keeps views of recent heads, per worker. It forgets the sessions used longest ago; forgetting
// costs a cold read and nothing else.
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import type { View } from './shared-view.ts';

export type ViewCache = {
  find(session: SessionId, head: Hash): View | undefined;
  keep(view: View): void;
};

/**
 * The heads that are kept of one session: the newest, and those that another attempt may still ask
 * for. They share their entries.
 */
const HEADS = 4;

/**
 * `maxBytes` bounds the stored size of the cached transcripts; the one used last is kept whatever
 * its size.
 */
export function createViewCache({ maxBytes = 64 * 1024 * 1024 }: { readonly maxBytes?: number } = {}): ViewCache {
  /** The session used last comes last, and so does a session's newest view. */
  const sessions = new Map<SessionId, readonly View[]>();

  const touch = (session: SessionId, views: readonly View[]): void => {
    sessions.delete(session);
    sessions.set(session, views);
  };
  const trim = (): void => {
    let total = [...sessions.values()].reduce((sum, views) => sum + bytesOf(views), 0);
    for (const [session, views] of sessions) {
      if (total <= maxBytes || sessions.size === 1) return;
      sessions.delete(session);
      total -= bytesOf(views);
    }
  };

  return {
    find: (session, head) => {
      const views = sessions.get(session);
      const found = views?.find((view) => view.head === head);
      if (views && found) touch(session, views);
      return found;
    },
    keep: (view) => {
      const others = (sessions.get(view.session) ?? []).filter((other) => other.head !== view.head);
      touch(view.session, [...others, view].slice(-HEADS));
      trim();
    },
  };
}

function bytesOf(views: readonly View[]): number {
  return Math.max(...views.map((view) => view.bytes));
}
