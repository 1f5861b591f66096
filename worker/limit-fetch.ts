// Limits the bytes of one answer of a model server, after decompression: a server that streams
// without end, or a few kilobytes that unpack into gigabytes, end their attempt with a sentence
// (L14), and not the worker.
import type { ClientOptions } from '@anthropic-ai/sdk';
import { UnusableReply } from '../activities/model/stream/accumulate.ts';

type Fetch = NonNullable<ClientOptions['fetch']>;

/** Bytes. The largest reply that a model can make, thinking and all, is a few million. */
export const MOST_OF_ANSWER = 32 * 1024 * 1024;

/** Bytes without the end of an event: the SDK looks at all of them again with each chunk. */
export const MOST_OF_EVENT = 4 * 1024 * 1024;

export function limitFetch(fetch: Fetch): Fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (response.body === null) return response;
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(limitBytes()), { status, statusText, headers });
  };
}

/**
 * Makes a stream that fails beyond the limits. An error of a transform ends its source as well: the
 * connection is closed.
 */
function limitBytes(): TransformStream<Uint8Array, Uint8Array> {
  let total = 0;
  let event = 0;
  /**
   * The last bytes of the chunk before: some proxies send line by line, and the end of an event in
   * two chunks.
   */
  let last = new Uint8Array();
  return new TransformStream({
    transform(chunk, controller) {
      total += chunk.length;
      const end = endOfEvent(last, chunk);
      last = Buffer.concat([last, chunk.subarray(-2)]).subarray(-2);
      event = end < 0 ? event + chunk.length : chunk.length - end;
      if (total > MOST_OF_ANSWER) controller.error(tooLarge('the answer', MOST_OF_ANSWER));
      else if (event > MOST_OF_EVENT) controller.error(tooLarge('one event of the answer', MOST_OF_EVENT));
      else controller.enqueue(chunk);
    },
  });
}

/** Returns where in `chunk`, which follows `last`, the last event ends; -1 for none. */
function endOfEvent(last: Uint8Array, chunk: Uint8Array): number {
  const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  const within = Math.max(bytes.lastIndexOf('\n\n'), bytes.lastIndexOf('\n\r\n'));
  if (within >= 0) return within;
  return /\n\r?\n/.test(Buffer.concat([last, bytes.subarray(0, 2)]).toString('latin1')) ? 0 : -1;
}

function tooLarge(what: string, most: number): UnusableReply {
  return new UnusableReply(`${what} is larger than ${most / 1024 / 1024} MiB, and no reply of a model is that large`);
}
