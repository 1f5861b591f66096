// A feed as server-sent events. The browser says where it was, and is given what came since; where
// that is forgotten it is told so, once, and loads what is there now. Nothing is queued for one
// viewer: what it has not read stays in the ring it shares with the others.
import { startDeadline } from '../../system/async.ts';
import type { Change, Ring } from './ring.ts';

/** Milliseconds: a proxy, or a viewer, learns that the other side is there. */
const BEAT_MS = 15_000;

/**
 * `from`: `epoch.place`, as given with the page or with the last event. `left` is called when the
 * viewer goes.
 */
export function eventStream(ring: Ring, from: string, left: () => void): Response {
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
      return ': here\n\n';
    }
    at = known.at;
    return eventText(`${ring.epoch}.${at}`, joinTexts(known.changes));
  };
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>(
    {
      start: (controller) => controller.enqueue(encoder.encode('retry: 1000\n\n')),
      pull: async (controller) => {
        const text = await next();
        if (gone.signal.aborted) return;
        controller.enqueue(encoder.encode(text ?? ''));
        // After a reset there is nothing to say until the viewer comes again.
        if (text?.startsWith('event: reset')) {
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

/** Words that came one by one for a viewer that was behind go out as one. */
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
