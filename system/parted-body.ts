// A request's body that is sent part by part: put together, each request would copy a whole
// conversation, several times, and hold it until the reply has ended.

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
