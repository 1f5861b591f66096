// Sends texts as server-sent events, to viewers of the page and listeners of the API.
import type { Context } from 'hono';

/** Milliseconds between signs of life for a proxy or a listener. */
export const KEEPALIVE_MS = 15_000;
/** Neither ends a frame: a frame without data is an event of its own for some clients. */
const RETRY = 'retry: 1000\n';
export const BEAT = ': here\n';

/** Returns what comes next; null at the end. */
export type NextText = () => Promise<string | null>;

type Sending = {
  /** Is called when the listener has gone, or the stream is over. */
  readonly left: () => void;
  /** Ends the stream when it is aborted. */
  readonly closing?: AbortSignal;
  /** Milliseconds after which a listener that reads nothing is dropped; absent: never. */
  readonly stalledMs?: number;
};

/** `open` begins the stream; its signal is aborted when nothing more is wanted. */
export function sendFrames({ left, closing, stalledMs }: Sending, open: (signal: AbortSignal) => NextText): Response {
  const stop = new AbortController();
  const end = (): void => {
    if (stop.signal.aborted) return;
    stop.abort();
    left();
  };
  const signal = AbortSignal.any(closing ? [stop.signal, closing] : [stop.signal]);
  signal.addEventListener('abort', end, { once: true });
  const next = open(signal);
  const encoder = new TextEncoder();
  let stalled: NodeJS.Timeout | undefined;
  const body = new ReadableStream<Uint8Array>(
    {
      start: (controller) => controller.enqueue(encoder.encode(RETRY)),
      pull: async (controller) => {
        clearTimeout(stalled);
        const text = await next();
        if (text === null) {
          end();
          return controller.close();
        }
        if (stop.signal.aborted) return;
        controller.enqueue(encoder.encode(text));
        if (stalledMs === undefined) return;
        stalled = setTimeout(() => (end(), controller.error(new Error('nothing was read'))), stalledMs);
        stalled.unref();
      },
      cancel: () => (clearTimeout(stalled), end()),
    },
    { highWaterMark: 1 },
  );
  return new Response(body, {
    headers: { 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' },
  });
}

/** Adds the headers that every answer has. */
export function sendStream(context: Context, response: Response): Response {
  for (const [name, value] of response.headers) context.header(name, value);
  return context.body(response.body ?? '', 200);
}
