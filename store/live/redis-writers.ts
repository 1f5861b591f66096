// The writing side of the live channel on Redis. Nothing here waits: lines are held, up to a bound,
// until the Redis has acknowledged them. Pieces that are not acknowledged when the connection is
// lost are sent again, each with its place, so that no reader takes one twice.
import { randomUUID } from 'node:crypto';
import type { ChainableCommander } from 'ioredis';
import { awaitInTime, TextBatch } from '../../system/async.ts';
import type { Log } from '../../system/log.ts';
import { BATCH, type LiveFate, type LiveHeader, type LiveLine, type LiveWriter } from './events.ts';
import {
  type Chunk,
  encodeChunk,
  KEPT_S,
  encodeListed,
  MOST_LISTED,
  type SessionKeys,
  formatStreamName,
} from './redis-keys.ts';
import { isRedisRefusal, type RedisLink } from './redis-link.ts';

/** Bytes that are held for the Redis, of one attempt and of all. */
const MOST_OF_ATTEMPT = 1024 * 1024;
const MOST_HELD = 8 * 1024 * 1024;
/** The most ended attempts whose last lines are held. */
const MOST_ENDED = 500;
/** About so many bytes and pieces are kept of one attempt's stream; the oldest go first. */
const MOST_STREAMED = 8 * 1024 * 1024;
const MOST_PIECES = 10_000;
const LEAST_PIECES = 16;
/** Milliseconds in which a Redis may take the last lines of a worker that ends. */
const LAST_WORDS_MS = 500;

type RedisWriters = {
  open(header: LiveHeader, keys: SessionKeys): LiveWriter;
  /** Sends all that is held, because the link can be used again. */
  resend(): void;
  /** Resolves soon, whether or not the last lines were taken. */
  close(): Promise<void>;
};

type SharedState = {
  readonly link: () => RedisLink;
  readonly log: Log;
  readonly writers: Set<AttemptWriter>;
  readonly underWay: Set<Promise<unknown>>;
  /** Bytes. */
  held: number;
  /** Lost lines are reported once, until the Redis takes some again. */
  warned: boolean;
};

export function createRedisWriters(link: () => RedisLink, log: Log): RedisWriters {
  const shared: SharedState = { link, log, writers: new Set(), underWay: new Set(), held: 0, warned: false };
  return {
    open: (header, keys) => {
      const writer = new AttemptWriter(shared, header, keys);
      shared.writers.add(writer);
      return { write: (event) => writer.line(event), end: (fate) => writer.end(fate) };
    },
    resend: () => {
      shared.warned = false;
      for (const writer of shared.writers) writer.resend();
    },
    close: async () => {
      await awaitInTime(Promise.allSettled(shared.underWay), [], LAST_WORDS_MS);
      for (const writer of shared.writers) writer.drop();
      shared.writers.clear();
    },
  };
}

/** A piece that is held. `isSent` says that it is on its way, and not acknowledged. */
type HeldPiece = { readonly at: number; text: string; bytes: number; isSent: boolean };

class AttemptWriter {
  private readonly shared: SharedState;
  private readonly header: LiveHeader;
  private readonly keys: SessionKeys;
  private readonly nonce = randomUUID().slice(0, 8);
  /**
   * `quiet`: lines were lost, and watchers must not see those after them; the fate is sent all the
   * same.
   */
  private state: 'open' | 'quiet' | 'ended' = 'open';
  private isListed = false;
  /** Bytes of all lines so far, lost ones included, without those of the batch. */
  private size = 0;
  private readonly batch = new TextBatch(BATCH, (text) => this.holdAndSend(text));
  /** The held pieces, oldest first. */
  private held: HeldPiece[] = [];
  private pieces = 0;

  constructor(shared: SharedState, header: LiveHeader, keys: SessionKeys) {
    this.shared = shared;
    this.header = header;
    this.keys = keys;
    this.line(header);
  }

  line(value: LiveLine): void {
    if (this.state === 'ended') return;
    const text = formatLine(value);
    if (text === null || this.state === 'quiet') return this.loseLines(text ?? '');
    this.batch.add(text);
  }

  end(fate: LiveFate): Promise<void> {
    if (this.state !== 'ended') {
      this.state = 'open';
      this.line(fate);
      this.batch.flush();
      this.state = 'ended';
      this.forgetIfDone();
    }
    return Promise.resolve();
  }

  get hasEnded(): boolean {
    return this.state === 'ended';
  }

  resend(): void {
    this.isListed = false;
    for (const piece of this.held) piece.isSent = false;
    this.send();
  }

  drop(): void {
    this.batch.takeAll();
    this.releasePieces(this.held);
  }

  private holdAndSend(text: string): void {
    this.hold(text);
    const own = this.held.reduce((sum, { bytes }) => sum + bytes, 0);
    // A piece may be larger than the bound: it goes when it can go at once.
    const waits = this.held.length > 1 || this.shared.link().ready() === null;
    if (waits && (own > MOST_OF_ATTEMPT || this.shared.held > MOST_HELD)) this.loseLines('');
    else this.send();
  }

  private hold(text: string): void {
    const bytes = Buffer.byteLength(text);
    const last = this.held.at(-1);
    if (last && !last.isSent && last.bytes < BATCH.size) {
      last.text += text;
      last.bytes += bytes;
    } else this.held.push({ at: this.size, text, bytes, isSent: false });
    this.size += bytes;
    this.shared.held += bytes;
  }

  /** Drops all that is held, and `text`. */
  private loseLines(text: string): void {
    if (this.state === 'open') this.state = 'quiet';
    this.size += Buffer.byteLength(this.batch.takeAll()) + Buffer.byteLength(text);
    this.drop();
    if (this.shared.warned) return;
    this.shared.warned = true;
    const { step, session } = this.header;
    this.shared.log(
      'warn',
      `watchers miss a part of step ${step} of session ${session}: the live channel did not take it, the store has it`,
    );
  }

  private send(): void {
    const link = this.shared.link();
    const pieces = this.held.filter(({ isSent }) => !isSent);
    if (pieces.length === 0 || link.ready() === null) return;
    for (const piece of pieces) piece.isSent = true;
    this.pieces += pieces.length;
    const sending = link
      .send((pipeline) => this.fill(pipeline, pieces))
      .then(
        () => this.releasePieces(pieces),
        // Without a connection the pieces are sent again when there is one.
        (error: unknown) => (isRedisRefusal(error) ? this.loseLines('') : undefined),
      )
      .finally(() => this.shared.underWay.delete(sending));
    this.shared.underWay.add(sending);
  }

  private fill(pipeline: ChainableCommander, pieces: readonly Chunk[]): ChainableCommander {
    const { list, stream: streamOf } = this.keys;
    const { step, attempt } = this.header;
    const name = { step, attempt, nonce: this.nonce };
    const stream = streamOf(name);
    const listed = encodeListed({ ...name, header: this.header });
    if (!this.isListed) pipeline.xadd(list, 'MAXLEN', '~', MOST_LISTED, '*', ...listed);
    this.isListed = true;
    const most = Math.floor(MOST_STREAMED / (this.size / this.pieces));
    const length = Math.min(MOST_PIECES, Math.max(LEAST_PIECES, most));
    for (const piece of pieces) pipeline.xadd(stream, 'MAXLEN', '~', length, '*', ...encodeChunk(piece));
    return pipeline.expire(stream, KEPT_S).expire(list, KEPT_S).publish(list, formatStreamName(name));
  }

  private releasePieces(pieces: readonly HeldPiece[]): void {
    const released = new Set(pieces);
    for (const piece of this.held) if (released.has(piece)) this.shared.held -= piece.bytes;
    this.held = this.held.filter((piece) => !released.has(piece));
    this.forgetIfDone();
  }

  private forgetIfDone(): void {
    const { writers } = this.shared;
    if (this.state !== 'ended') return;
    if (this.held.length === 0) writers.delete(this);
    const finished = [...writers].filter(({ hasEnded }) => hasEnded);
    const [oldest] = finished;
    if (oldest && finished.length > MOST_ENDED) oldest.drop();
  }
}

/** Returns null for a value that cannot be written as JSON. */
function formatLine(value: LiveLine): string | null {
  try {
    return `${JSON.stringify(value)}\n`;
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}
