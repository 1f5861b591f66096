// A response as a list of actions, and the one place that performs them on a socket.
import type { ServerResponse } from 'node:http';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { PING } from './sse.ts';

export type Action =
  | { readonly do: 'write'; readonly bytes: Buffer }
  | { readonly do: 'pause'; readonly ms: number }
  | { readonly do: 'hold'; readonly until: Promise<void> }
  /** Sends pings for ever, until the client leaves or the server closes. */
  | { readonly do: 'pings'; readonly everyMs: number }
  | { readonly do: 'silence' }
  /** Destroys the connection. Absent: the response ends well. */
  | { readonly do: 'cut' };

export function writeText(text: string): Action {
  return { do: 'write', bytes: Buffer.from(text) };
}

/** The end of a response. `left`: the client closed first, or the server was closed. */
export type ResponseEnd = 'finished' | 'cut' | 'left';

/**
 * Performs the actions. `closed` aborts when the connection closes. Resolves with the end of the
 * response; never rejects for what a client does.
 */
export async function playActions(
  response: ServerResponse,
  actions: readonly Action[],
  closed: AbortSignal,
): Promise<ResponseEnd> {
  for (const [index, action] of actions.entries()) {
    if (closed.aborted) return 'left';
    if (action.do === 'cut') {
      response.destroy();
      return 'cut';
    }
    if (action.do === 'write' && index === actions.length - 1) {
      // One packet has the end, and the headers when nothing was sent before.
      response.end(action.bytes);
      return 'finished';
    }
    await perform(response, action, closed);
  }
  if (closed.aborted) return 'left';
  response.end();
  return 'finished';
}

async function perform(response: ServerResponse, action: Action, closed: AbortSignal): Promise<void> {
  switch (action.do) {
    case 'write':
      return writeBytes(response, action.bytes);
    case 'pause':
      return pauseFor(action.ms, closed);
    case 'hold':
      return Promise.race([action.until, awaitDeparture(closed)]);
    case 'pings':
      while (!closed.aborted) {
        await pauseFor(action.everyMs, closed);
        if (!closed.aborted) await writeBytes(response, Buffer.from(PING));
      }
      return;
    case 'silence':
      return awaitDeparture(closed);
    case 'cut':
  }
}

/**
 * Resolves when the bytes are with the operating system, so that a cut that follows does not take
 * them along.
 */
function writeBytes(response: ServerResponse, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    response.write(bytes, () => resolve());
  });
}

export async function pauseFor(ms: number, closed: AbortSignal): Promise<void> {
  if (ms === 0) return setImmediate();
  try {
    await setTimeout(ms, undefined, { signal: closed, ref: false });
  } catch (error) {
    if (!closed.aborted) throw error;
  }
}

function awaitDeparture(closed: AbortSignal): Promise<void> {
  if (closed.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    closed.addEventListener('abort', () => resolve(), { once: true });
  });
}
