// How a worker reaches other machines over HTTP: through the proxies that its environment names,
// trusting the certificates that it names. Every part that sends requests takes a `Network`.
// A request's body that is sent part by part: put together, each request would copy a whole
// conversation, several times, and hold it until the reply has ended.
import { reasonOf } from './text.ts';

export type Network = {
  /** Names the proxy, if it uses one, in the errors that it throws. */
  readonly fetch: typeof fetch;
  /**
   * The proxy's host and port, and the variable that names it, as people read them. Null when the
   * address is reached directly.
   */
  proxyFor(url: URL): { readonly label: string; readonly by: string } | null;
  /** Replace Node's own certificates; undefined keeps those. */
  readonly certificates?: readonly string[] | undefined;
};

/**
 * A header on answers that came through a proxy and may be the proxy's own. Its value is the
 * proxy's host and port.
 */
export const VIA_HEADER = 'x-perdure-proxy';

/**
 * A header on answers that refuse a credential. Its value is the variable that the credential came
 * from, which may be empty, `@`, and the server's host and port.
 */
export const CREDENTIAL_HEADER = 'x-perdure-credential';

/** Returns the reason of the error's cause: `fetch failed` alone says nothing. */
export function whyFetchFailed(error: unknown): string {
  return reasonOf(error instanceof TypeError && error.cause instanceof Error ? error.cause : error);
}

/** The most bytes that are put together, so that small parts do not each cost a write. */
const PIECE = 64 * 1024;

/** A stream for senders of any body; `pieces` are for those that know this one. */
export class PartedBody extends ReadableStream<Uint8Array> {
  readonly byteLength: number;
  readonly #content: { parts: readonly Uint8Array[] };

  /** `parts` must not change until the body was sent. */
  constructor(parts: readonly Uint8Array[]) {
    const content = { parts };
    let pieces: Iterator<Uint8Array, undefined> | undefined;
    super(
      {
        pull(controller) {
          const { done, value } = (pieces ??= piecesOf(content.parts)).next();
          if (done === true) controller.close();
          else controller.enqueue(value);
        },
      },
      { highWaterMark: 0 },
    );
    this.#content = content;
    let length = 0;
    for (const part of parts) length += part.length;
    this.byteLength = length;
  }

  /** Begins anew with each call, for a request that a server has sent elsewhere. */
  pieces(): Iterable<Uint8Array> {
    return piecesOf(this.#content.parts);
  }

  /** Forgets the parts: fetch and signals may hold an answered request for long. */
  release(): void {
    this.#content.parts = [];
  }
}

function* piecesOf(parts: readonly Uint8Array[]): Generator<Uint8Array, undefined> {
  let waiting: Uint8Array[] = [];
  let length = 0;
  for (const part of parts) {
    if (waiting.length > 0 && length + part.length > PIECE) {
      yield Buffer.concat(waiting);
      [waiting, length] = [[], 0];
    }
    waiting.push(part);
    length += part.length;
  }
  if (waiting.length > 0) yield Buffer.concat(waiting);
}
