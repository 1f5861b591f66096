// Sends a feed as server-sent events. The browser says where it was and gets what came since; if
// that is forgotten, it is told once and loads the present state. Viewers have no queues: unread
// changes stay in the ring that they share.
import type { Context } from 'hono';
import { startDeadline } from '../../system/async.ts';
import type { Change, Ring } from './ring.ts';

/** Milliseconds between signs of life for a proxy or a viewer. */
const BEAT_MS = 15_000;

/** What a viewer sees who may not see all: changes as `show` gives them, until a moment. */
export type ViewerLimits = { readonly show: (change: Change) => Change; readonly until: number };

/**
 * Opens the stream. `from` is `epoch.place`, from the page or the last event. `left` is called when
 * the viewer goes.
 */
export function eventStream(ring: Ring, from: string, left: () => void, limits?: ViewerLimits): Response {
  const gone = new AbortController();
  const end = (): void => {
    if (gone.signal.aborted) return;
    gone.abort();
    left();
  };
  const [epoch, place] = from.split('.');
  let at = epoch === ring.epoch && /^\d{1,15}$/.test(place ?? '') ? Number(place) : -1;
  const next = async (): Promise<string | null> => {
    const known = ring.since(at);
    if (known === null) return 'event: reset\ndata: \n\n';
    if (known.changes.length === 0) {
      const beat = startDeadline(BEAT_MS, gone.signal);
      await ring.changed(beat.signal);
      beat.stop();
      const news = ring.since(at);
      if (news === null || news.changes.length > 0) return next();
      return ': here\n';
    }
    at = known.at;
    return eventText(`${ring.epoch}.${at}`, joinTexts(limits ? known.changes.map(limits.show) : known.changes));
  };
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>(
    {
      start: (controller) => controller.enqueue(encoder.encode('retry: 1000\n')),
      pull: async (controller) => {
        const text = await next();
        if (gone.signal.aborted) return;
        const isOver = limits !== undefined && limits.until <= Date.now();
        if (!isOver) controller.enqueue(encoder.encode(text ?? ''));
        // A reset ends the stream: the viewer must come again.
        if (isOver || text?.startsWith('event: reset')) {
          end();
          controller.close();
        }
      },
      cancel: end,
    },
    { highWaterMark: 1 },
  );
  return new Response(body, {
    headers: { 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' },
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

/** Adds the headers that every answer has. */
export function sendStream(context: Context, response: Response): Response {
  for (const [name, value] of response.headers) context.header(name, value);
  return context.body(response.body ?? '', 200);
}

export const placeFrom = (context: Context): string =>
  context.req.header('last-event-id') ?? context.req.query('from') ?? '';
