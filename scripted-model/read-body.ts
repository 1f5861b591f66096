// Reads a request's body into memory, up to the API's limit. A larger body is read to its end and
// dropped: a client that is still sending would see a reset instead of the answer.
import type { IncomingMessage } from 'node:http';

const MOST_BYTES = 32 * 1_024 * 1_024;

export type ReadBody = { readonly kind: 'body'; readonly bytes: Buffer } | { readonly kind: 'too_large' };

/** Reads the body. `left`: the client went away before its body was whole. */
export function readBody(request: IncomingMessage): Promise<ReadBody | { readonly kind: 'left' }> {
  return new Promise((resolve) => {
    let chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= MOST_BYTES) chunks.push(chunk);
      else chunks = [];
    });
    request.on('end', () =>
      resolve(size > MOST_BYTES ? { kind: 'too_large' } : { kind: 'body', bytes: Buffer.concat(chunks) }),
    );
    request.on('close', () => resolve({ kind: 'left' }));
    request.on('error', () => resolve({ kind: 'left' }));
  });
}
