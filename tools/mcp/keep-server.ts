// Keeps one server of the configuration for as long as the worker lives: connected when it starts,
// and again after its end, with back-off, when a call needs it. Its list of tools is the last that
// came; a run waits for the next one no longer than a bound (L75).
import type { Log } from '../../system/log.ts';
import { awaitInTime, TimedOut, runWithin } from '../../system/async.ts';
import { reasonOf } from '../../system/text.ts';
import { ServerAway, isRunEnding, isUnauthorized, joinReasons, McpError, appendLastWords } from './failures.ts';
import type { Link, LinkNews, OpenLink } from './link.ts';
import { type ListedTool, listTools } from './list-tools.ts';
import { CONNECT_MS, type McpBounds, type McpServer, SERVER_BOUNDS } from './servers.ts';

export type KeepOptions = {
  readonly open: OpenLink;
  readonly bounds: McpBounds;
  readonly log: Log;
  /** Returns milliseconds, of any origin. */
  readonly now?: () => number;
  /** Milliseconds without a use until the connection closes; the next opens it. Absent: never. */
  readonly idleMs?: number;
};

type KeptList = { readonly tools: readonly ListedTool[]; readonly print: string };

/** `late`: it is not waited for. */
type PendingList = { readonly done: Promise<void>; late: boolean };

/**
 * Milliseconds: a link that ended sooner counts as one more failure in a row; an end is waited for
 * this long.
 */
const LIVED_MS = 10_000;
const LONGEST_END_MS = 5_000;
const MOST_WARNINGS = 100;
const NO_TOOLS = { tools: [], print: '', leftOut: [] };

export class KeptServer {
  readonly name: string;
  readonly settings: McpServer;
  readonly #keeping: KeepOptions;
  readonly #connectMs: number;
  readonly #now: () => number;
  readonly #closing = new AbortController();
  readonly #warned = new Set<string>();
  /** The number of requests that each link carries. */
  readonly #uses = new Map<Link, number>();
  #current: { readonly link: Link; readonly since: number } | null = null;
  #opening: Promise<Link> | null = null;
  /** Settles when the attempt has left nothing behind, also when it is not waited for. */
  #attempt: Promise<unknown> = Promise.resolve();
  #pending: PendingList | null = null;
  #list: KeptList | null = null;
  #leftOut: readonly string[] = [];
  /** The link is there because the server forgot the session of the one before. */
  #isRenewed = false;
  /** The server has told of a change. */
  #isStale = false;
  /** The last list did not come: the next is asked for while runs go on. */
  #isSlow = false;
  #askedAt = 0;
  #failures = 0;
  #nextAt = 0;
  #why = '';
  #isFatal = false;
  #isUnauthorized = false;
  /** The connection was closed because nothing used it. */
  #isResting = false;
  #usedAt = 0;
  #rest: NodeJS.Timeout | null = null;
  #last = { instructions: '', hasResources: false };

  /** Connects at once. */
  constructor(name: string, settings: McpServer, keeping: KeepOptions) {
    this.name = name;
    this.settings = settings;
    this.#keeping = keeping;
    this.#connectMs = settings.connectTimeoutMs ?? CONNECT_MS;
    this.#now = keeping.now ?? (() => performance.now());
    this.#noteUse();
    void this.#begin();
  }

  /** The tools as last listed, the same array while nothing has changed; null until a list came. */
  get tools(): readonly ListedTool[] | null {
    return this.#list?.tools ?? null;
  }

  /** A sentence for each tool that the last list left out. */
  get leftOut(): readonly string[] {
    return this.#leftOut;
  }

  get instructions(): string {
    return this.#last.instructions;
  }

  get hasResources(): boolean {
    return this.#last.hasResources;
  }

  /** The reason why the server is away; null while it works, or is being connected. */
  get away(): ServerAway | null {
    return this.#current === null && this.#opening === null && !this.#isResting ? this.#away() : null;
  }

  /** Waits for a new list, in bounds. Never throws. */
  async refresh(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#noteUse();
    this.#askIfDue();
    const pending = this.#pending;
    if (pending === null || pending.late) return;
    const { listMs } = this.#keeping.bounds;
    const isThere = pending.done.then(() => true);
    if (await awaitInTime(isThere, false, listMs)) return;
    pending.late = true;
    this.#warn(`it was not ready within ${listMs} ms: runs go on without what is new of it`);
  }

  /**
   * Waits for the first list, however long it takes to connect. Throws what the signal is aborted
   * with, and Away.
   */
  async arrive(signal: AbortSignal): Promise<void> {
    if (this.#list !== null) return;
    await this.link(signal);
    const { done } = this.#pending ?? {};
    if (done) await runWithin(this.#keeping.bounds.listMs, signal, () => done);
  }

  /** Connects if need be. Throws Away, and what the signal is aborted with. */
  async link(signal: AbortSignal): Promise<Link> {
    this.#noteUse();
    if (this.#current !== null) return this.#current.link;
    if (this.#opening === null && this.#now() < this.#nextAt) throw this.#away();
    if (this.#closing.signal.aborted)
      throw new ServerAway(`The MCP server ${this.name} is away: the worker ends.`, false);
    const opening = this.#opening ?? this.#begin();
    return await runWithin(this.#connectMs, signal, () => opening);
  }

  /** Runs work on a link. A retired link is closed only when all its requests have ended. */
  async using<Value>(link: Link, work: () => Promise<Value>): Promise<Value> {
    this.#uses.set(link, (this.#uses.get(link) ?? 0) + 1);
    try {
      return await work();
    } finally {
      const left = (this.#uses.get(link) ?? 1) - 1;
      this.#noteUse();
      if (left > 0) this.#uses.set(link, left);
      else this.#uses.delete(link);
      if (left === 0 && this.#current?.link !== link) void link.close();
    }
  }

  /**
   * Retires a link: the next call gets another. `error`: it is of no use. Null: a later question of
   * its server may be about a call that was given up (L77).
   */
  retire(link: Link, error: Error | null): void {
    if (error !== null) this.#lose(link, error.message, error);
    else if (this.#current?.link === link) void this.#begin();
    if (!this.#uses.has(link)) void link.close();
  }

  /**
   * Replaces a link whose session the server has forgotten. A server that forgets new ones, too, is
   * away for a while.
   */
  renew(link: Link, error: Error): void {
    if (this.#current?.link !== link) return;
    const isYoung = this.#now() - this.#current.since < LIVED_MS;
    if (isYoung && this.#isRenewed) return this.retire(link, error);
    this.#isRenewed = true;
    this.retire(link, null);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    if (this.#rest !== null) clearTimeout(this.#rest);
    const link = this.#current?.link;
    this.#current = null;
    await Promise.all([link?.close(), awaitInTime(this.#attempt, undefined, LONGEST_END_MS)]);
  }

  #noteUse(): void {
    const { idleMs } = this.#keeping;
    this.#usedAt = this.#now();
    if (idleMs === undefined || this.#rest !== null || this.#closing.signal.aborted) return;
    this.#rest = setTimeout(() => this.#restIfIdle(idleMs), idleMs).unref();
  }

  #restIfIdle(idleMs: number): void {
    this.#rest = null;
    const link = this.#current?.link;
    if (link === undefined && this.#opening === null) return;
    const left = this.#usedAt + idleMs - this.#now();
    if (left > 0 || this.#opening !== null || this.#uses.size > 0) {
      this.#rest = setTimeout(() => this.#restIfIdle(idleMs), Math.max(left, 1_000)).unref();
      return;
    }
    this.#current = null;
    this.#isResting = true;
    void link?.close();
  }

  #begin(): Promise<Link> {
    this.#current = null;
    this.#isResting = false;
    const isFirst = this.#list === null && this.#failures === 0;
    const opening = this.#connect();
    this.#opening = opening;
    this.#await(
      opening.then((link) => this.#askForList(link)),
      !isFirst,
    );
    return opening;
  }

  async #connect(): Promise<Link> {
    const { signal: closing } = this.#closing;
    let printed = (): string => '';
    const news: LinkNews = {
      toolsChanged: () => void (this.#isStale = true),
      warn: (problem) => this.#warn(problem),
      began: (tell) => void (printed = tell),
    };
    try {
      const link = await runWithin(this.#connectMs, closing, (signal) => {
        const opened = this.#keeping.open(signal, news);
        this.#attempt = opened.catch(() => undefined);
        return opened;
      });
      this.#current = { link, since: this.#now() };
      const { instructions, offers } = link;
      this.#last = { instructions: instructions.slice(0, SERVER_BOUNDS.instructions), hasResources: offers.resources };
      void link.closed.then((reason) => this.#lose(link, reason));
      return link;
    } catch (error) {
      const late = `it did not connect within ${this.#connectMs} ms`;
      const reason = error instanceof TimedOut ? joinReasons(late, printed()) : reasonOf(error);
      this.#fail(reason, error, error instanceof McpError ? error.lastWords : '');
      throw this.#away(error);
    } finally {
      this.#opening = null;
    }
  }

  #askIfDue(): void {
    if (this.#pending !== null) return;
    if (this.#current === null) {
      if (this.#opening === null && this.#now() >= this.#nextAt) void this.#begin();
      return;
    }
    const { link } = this.#current;
    const isDue = !link.offers.tellsOfChanges && this.#now() - this.#askedAt >= this.#keeping.bounds.pollMs;
    const late = this.#isSlow || !this.#isStale;
    if (this.#isStale || isDue) this.#await(this.#askForList(link), late);
  }

  /** Remembers the work; its rejection is handled by then. */
  #await(work: Promise<void>, late: boolean): void {
    const settled = work.catch(() => undefined);
    const pending: PendingList = {
      late,
      done: settled.then(() => void (this.#pending === pending && (this.#pending = null))),
    };
    this.#pending = pending;
  }

  async #askForList(link: Link): Promise<void> {
    this.#isStale = false;
    this.#askedAt = this.#now();
    try {
      const { slowListMs } = this.#keeping.bounds;
      const { leftOut, ...found } = link.offers.tools
        ? await this.using(link, () => listTools(link, slowListMs))
        : NO_TOOLS;
      this.#isSlow = false;
      for (const each of leftOut) this.#warn(`left out: ${each}`);
      this.#leftOut = leftOut;
      if (found.print !== this.#list?.print) this.#list = found;
    } catch (error) {
      if (error instanceof McpError && error.kind === 'forgotten') return this.renew(link, error);
      // The link may serve calls of others all the same.
      [this.#isSlow, this.#isStale] = [true, true];
      this.#warn(`its list of tools stays as it was: ${reasonOf(error)}`);
    }
  }

  #lose(link: Link, reason: string, cause?: unknown): void {
    if (this.#current?.link !== link) return;
    if (this.#now() - this.#current.since >= LIVED_MS) this.#failures = 0;
    this.#current = null;
    this.#fail(reason, cause, link.lastWords());
  }

  #fail(reason: string, cause: unknown, lastWords: string): void {
    if (this.#closing.signal.aborted) return;
    const { backoffMs, mostBackoffMs } = this.#keeping.bounds;
    this.#nextAt = this.#now() + Math.min(backoffMs * 2 ** this.#failures, mostBackoffMs);
    this.#failures += 1;
    this.#why = reason;
    this.#isFatal = isRunEnding(this.settings, cause);
    this.#isUnauthorized = isUnauthorized(cause);
    this.#warn(appendLastWords(reason, lastWords));
  }

  #away(cause?: unknown): ServerAway {
    const seconds = Math.ceil((this.#nextAt - this.#now()) / 1_000);
    const again = seconds > 0 ? `in ${seconds} s` : 'with the next call';
    const text = `The MCP server ${this.name} is away: ${this.#why}. It is connected again ${again}.`;
    return new ServerAway(text, this.#isFatal, { reason: this.#why, unauthorized: this.#isUnauthorized, cause });
  }

  /** Warns of each problem only once. */
  #warn(message: string): void {
    if (this.#warned.has(message)) return;
    if (this.#warned.size >= MOST_WARNINGS) this.#warned.clear();
    this.#warned.add(message);
    this.#keeping.log('warn', `MCP server ${this.name}: ${message}`);
  }
}
