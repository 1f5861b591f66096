// Sends a feed as server-sent events. The browser says where it was and gets what came since; if
// that is forgotten, it is told once and loads the present state. Viewers have no queues: unread
// changes stay in the ring that they share.
import type { Context } from 'hono';
import { startDeadline } from '../../system/async.ts';
import { BEAT, KEEPALIVE_MS, sendFrames, sendStream } from '../event-frames.ts';
import type { OpenFeeds } from './open-feeds.ts';
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
