// Sends bodies in parts to the connection as they are, past fetch, which copies a body several
// times and holds it for as long as the request may be aborted.
import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { PartedBody } from '../../system/parted-body.ts';

export type Undici = typeof import('undici');
export type Dispatching = { readonly undici: Undici; readonly dispatcher: Dispatcher };

/** Fetch sees this in place of the body. */
const STAND_IN = new Uint8Array(1);

/** Returns options of fetch: what sends the request, and the body that fetch is to see. */
export function sendBy(dispatching: Dispatching, body: unknown): { dispatcher: Dispatcher; body?: Uint8Array } {
  // Bun's fetch asks no dispatcher: it reads the body as the stream that it is.
  const isAsked = process.versions['bun'] === undefined;
  if (!(body instanceof PartedBody) || !isAsked) return { dispatcher: dispatching.dispatcher };
  return { dispatcher: dispatchParts(dispatching, body), body: STAND_IN };
}

function dispatchParts({ undici, dispatcher }: Dispatching, body: PartedBody): Dispatcher {
  class Parts extends undici.Dispatcher {
    override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
      // A redirect may have made it a request without a body.
      if (!options.body) return dispatcher.dispatch(options, handler);
      const entries = Object.entries(options.headers as Record<string, string>);
      const others = entries.filter(([name]) => name.toLowerCase() !== 'content-length');
      const headers = { ...Object.fromEntries(others), 'content-length': `${body.byteLength}` };
      // The types of undici leave out that it takes an iterable.
      return dispatcher.dispatch({ ...options, headers, body: body.pieces() as unknown as Readable }, handler);
    }
  }
  return new Parts();
}
