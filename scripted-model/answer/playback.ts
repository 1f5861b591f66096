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
 * Performs the actions. `gone` aborts when the connection closes. Resolves with the end of the
 * response; never rejects for what a client does.
 */
export async function playActions(
  response: ServerResponse,
  actions: readonly Action[],
  gone: AbortSignal,
): Promise<ResponseEnd> {
  for (const [index, action] of actions.entries()) {
    if (gone.aborted) return 'left';
    if (action.do === 'cut') {
      response.destroy();
      return 'cut';
    }
    if (action.do === 'write' && index === actions.length - 1) {
      // One packet has the end, and the headers when nothing was sent before.
      response.end(action.bytes);
      return 'finished';
    }
    await perform(response, action, gone);
  }
  if (gone.aborted) return 'left';
  response.end();
  return 'finished';
}

async function perform(response: ServerResponse, action: Action, gone: AbortSignal): Promise<void> {
  switch (action.do) {
    case 'write':
      return writeBytes(response, action.bytes);
    case 'pause':
      return pauseFor(action.ms, gone);
    case 'hold':
      return Promise.race([action.until, awaitDeparture(gone)]);
    case 'pings':
      while (!gone.aborted) {
        await pauseFor(action.everyMs, gone);
        if (!gone.aborted) await writeBytes(response, Buffer.from(PING));
      }
      return;
    case 'silence':
      return awaitDeparture(gone);
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

export async function pauseFor(ms: number, gone: AbortSignal): Promise<void> {
  if (ms === 0) return setImmediate();
  try {
    await setTimeout(ms, undefined, { signal: gone, ref: false });
  } catch (error) {
    if (!gone.aborted) throw error;
  }
}

function awaitDeparture(gone: AbortSignal): Promise<void> {
  if (gone.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    gone.addEventListener('abort', () => resolve(), { once: true });
  });
}
