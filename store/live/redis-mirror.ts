// The attempts of one session as this process has read them from a Redis, for all of its followers.
// They are read side by side and shown together: a step that waits for another is never seen before
// the last words of the other (events.ts).
import type { Log } from '../../system/log.ts';
import type { AttemptReader } from './attempt-reader.ts';
import type { LiveHeader } from './events.ts';
import type { AttemptName } from './files.ts';
import { type FoundLine, isFate, parseLines } from './lines.ts';
import {
  type Chunk,
  decodeChunk,
  decodeListed,
  type ListedAttempt,
  type SessionKeys,
  type StreamName,
  formatStreamName,
} from './redis-keys.ts';
import type { RedisLink } from './redis-link.ts';
import { type Changes, waitsForEarlier } from './follow.ts';

/** Pieces, and attempts, that are asked for at once. */
const PAGE = 500;
/** Bytes. Beyond them the lines of the oldest attempts that are over, and stored, are dropped. */
const MOST_KEPT = 32 * 1024 * 1024;
const FIRST = '-';

/** `last` is the id of the last piece read; `over`: no later piece is of interest. */
type MirroredAttempt = {
  readonly name: StreamName;
  readonly header: LiveHeader;
  lines: FoundLine[];
  size: number;
  kept: number;
  last: string;
  over: boolean;
};

type MirrorOptions = {
  readonly keys: SessionKeys;
  readonly link: () => RedisLink;
  readonly log: Log;
};

export class Mirror {
  /** How many followers share the mirror. */
  users = 0;
  private readonly options: MirrorOptions;
  /** Attempts by step and number, in the order in which they began. */
  private readonly attempts = new Map<string, MirroredAttempt>();
  private readonly changed = new Set<() => void>();
  private lastListed = FIRST;
  /** The streams that have grown; null when any may have. */
  private grown: Set<string> | null = null;
  private reading: Promise<void> | null = null;
  private isPullPending = false;

  constructor(options: MirrorOptions) {
    this.options = options;
  }

  get channel(): string {
    return this.options.keys.list;
  }

  /** Reads news of the named stream, or of all streams when it is unknown which has grown. */
  pull(stream: string | null = null): void {
    if (stream === null) this.grown = null;
    else this.grown?.add(stream);
    this.isPullPending = true;
    this.reading ??= this.readWhileNews().finally(() => (this.reading = null));
  }

  /** Reads everything anew after a loss of the Redis, and passes known lines over by place. */
  readAnew(): void {
    this.lastListed = FIRST;
    for (const attempt of this.attempts.values()) attempt.last = FIRST;
    this.pull();
  }

  /** Followers share the reader, so it lets no attempt go. */
  get reader(): AttemptReader {
    const find = (name: AttemptName): MirroredAttempt | undefined => this.attempts.get(keyOf(name));
    return {
      list: (before) => [...this.attempts.values()].flatMap(({ name }) => (name.step < before ? [] : [name])),
      noteChanges: () => undefined,
      size: (name) => find(name)?.size ?? null,
      lines: (name, from, to) => ({ lines: linesBetween(find(name)?.lines ?? [], from, to), end: to, garbage: 0 }),
      header: (name) => find(name)?.header ?? null,
      letGo: () => undefined,
      close: () => undefined,
    };
  }

  changes(signal: AbortSignal): Changes {
    let news = true;
    let wake = (): void => undefined;
    const notice = (): void => {
      news = true;
      wake();
    };
    this.changed.add(notice);
    signal.addEventListener('abort', notice, { once: true });
    return {
      next: async () => {
        if (!news && !signal.aborted) await new Promise<void>((resolve) => (wake = resolve));
        news = false;
        return null;
      },
      close: () => {
        this.changed.delete(notice);
        signal.removeEventListener('abort', notice);
      },
    };
  }

  private async readWhileNews(): Promise<void> {
    try {
      while (this.isPullPending && this.options.link().ready() !== null) {
        this.isPullPending = false;
        if (await this.readOnce()) for (const notice of this.changed) notice();
      }
    } catch {
      // The link says why, and has everything read anew when it is back.
      this.grown = null;
      this.lastListed = FIRST;
    }
  }

  /** Resolves to whether anything was new. */
  private async readOnce(): Promise<boolean> {
    const { grown } = this;
    this.grown = new Set();
    const news = await this.readList();
    const known = [...this.attempts.values()].filter(
      ({ over, name }) => !over && (grown === null || news.length > 0 || grown.has(formatStreamName(name))),
    );
    const unread = [...known, ...news];
    const pieces = await this.readPieces(unread);
    for (const attempt of news) this.attempts.set(keyOf(attempt.name), attempt);
    unread.forEach((attempt, at) => this.addPieces(attempt, pieces[at] ?? []));
    if (pieces.some(({ length }) => length === PAGE)) this.pull();
    if (news.length > 0) this.dropOld();
    return news.length > 0 || pieces.some(({ length }) => length > 0);
  }

  private async readList(): Promise<readonly MirroredAttempt[]> {
    const news = new Map<string, MirroredAttempt>();
    for (let more = true; more;) {
      const [page] = await this.ask([[this.options.keys.list, this.lastListed]]);
      for (const [id, fields] of page ?? []) {
        this.lastListed = id;
        const listed = decodeListed(fields);
        if (listed && this.isNew(listed, news)) news.set(keyOf(listed), startMirroring(listed));
      }
      more = page?.length === PAGE;
    }
    return [...news.values()];
  }

  /** Tells whether an attempt is new: a writer lists it again after a lost connection. */
  private isNew(listed: ListedAttempt, news: ReadonlyMap<string, MirroredAttempt>): boolean {
    const known = news.get(keyOf(listed)) ?? this.attempts.get(keyOf(listed));
    return known?.name.nonce !== listed.nonce;
  }

  private async readPieces(attempts: readonly MirroredAttempt[]): Promise<readonly (readonly Entry[])[]> {
    const { keys } = this.options;
    return attempts.length === 0 ? [] : this.ask(attempts.map(({ name, last }) => [keys.stream(name), last]));
  }

  private async ask(
    streams: readonly (readonly [key: string, after: string])[],
  ): Promise<readonly (readonly Entry[])[]> {
    const answers = await this.options.link().send((pipeline) => {
      for (const [key, after] of streams)
        pipeline.xrange(key, after === FIRST ? after : `(${after}`, '+', 'COUNT', PAGE);
      return pipeline;
    });
    return answers as readonly (readonly Entry[])[];
  }

  private addPieces(attempt: MirroredAttempt, pieces: readonly Entry[]): void {
    for (const [id, fields] of pieces) {
      attempt.last = id;
      const chunk = decodeChunk(fields);
      // The piece was sent again because its first acknowledgement was lost.
      if (!(chunk.at >= attempt.size)) continue;
      this.addLines(attempt, chunk);
    }
  }

  private addLines(attempt: MirroredAttempt, { at, text }: Chunk): void {
    const bytes = Buffer.from(text);
    const { lines, end, garbage } = parseLines(bytes, at);
    if (garbage > 0) {
      const where = `${this.options.keys.stream(attempt.name)} has ${garbage} unreadable lines from byte ${at} on`;
      this.options.log('warn', `${where}: they are left out`);
    }
    attempt.lines.push(...lines);
    attempt.kept += bytes.length;
    attempt.size = end;
    attempt.over ||= lines.some(({ line }) => isFate(line));
  }

  /**
   * Drops runs before the last one, closes steps that a later one has closed, and drops lines
   * beyond the bound.
   */
  private dropOld(): void {
    const all = [...this.attempts.values()];
    const opened = all.filter(({ header }) => header.activity === 'openRun').map(({ name }) => name.step);
    const before = [...new Set(opened)].toSorted((a, b) => b - a)[1] ?? 0;
    const barrier = Math.max(0, ...all.filter(({ header }) => waitsForEarlier(header)).map(({ name }) => name.step));
    let total = 0;
    for (const attempt of all.toReversed()) {
      const { step } = attempt.name;
      if (step < before) this.attempts.delete(keyOf(attempt.name));
      attempt.over ||= step < barrier;
      total += attempt.kept;
      if (total <= MOST_KEPT || !attempt.over) continue;
      attempt.lines = [];
      attempt.kept = 0;
    }
  }
}

type Entry = readonly [id: string, fields: readonly string[]];

const keyOf = ({ step, attempt }: AttemptName): string => `${step}.${attempt}`;

function startMirroring(name: ListedAttempt): MirroredAttempt {
  return { name, header: name.header, lines: [], size: 0, kept: 0, last: FIRST, over: false };
}

function linesBetween(lines: readonly FoundLine[], from: number, to: number): readonly FoundLine[] {
  let [low, high] = [0, lines.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((lines[middle]?.end ?? 0) <= from) low = middle + 1;
    else high = middle;
  }
  const end = lines.findIndex((line, at) => at >= low && line.end > to);
  return lines.slice(low, end < 0 ? undefined : end);
}
