// Waits with a time limit, in batches and in line. The workflow uses none of this: it waits by
// Temporal's own timers.
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';

/** Its message is worded as the end of a sentence. */
export class TimedOut extends Error {
  override readonly name = 'TimedOut';

  constructor(ms: number) {
    super(`timed out after ${ms} ms`);
  }
}

/** `signal` aborts when the time is up, unless `stop` is called before. */
export type Deadline = { readonly signal: AbortSignal; readonly stop: () => void };

/**
 * Returns a signal that aborts with `signal`, or with TimedOut after `ms`. AbortSignal.timeout
 * within AbortSignal.any will not do: where nothing else holds on to it, the garbage collector of
 * Node 20 takes it, and its time is never up.
 */
export function startDeadline(ms: number, signal: AbortSignal): Deadline {
  const time = new AbortController();
  const timer = setTimeout(() => time.abort(new TimedOut(ms)), ms);
  timer.unref();
  return { signal: AbortSignal.any([signal, time.signal]), stop: () => clearTimeout(timer) };
}

/**
 * Runs foreign code, which may not heed the signal it is given. That signal aborts with `signal`,
 * or after `ms`. Rejects with TimedOut or with the signal's reason at that moment, whatever `work`
 * does.
 */
export async function runWithin<Value>(
  ms: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Value | Promise<Value>,
): Promise<Value> {
  const deadline = startDeadline(ms, signal);
  let giveUp = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    giveUp = () => reject(deadline.signal.reason as Error);
    if (deadline.signal.aborted) giveUp();
    else deadline.signal.addEventListener('abort', giveUp, { once: true });
  });
  try {
    return await Promise.race([Promise.resolve().then(() => work(deadline.signal)), aborted]);
  } finally {
    deadline.stop();
    deadline.signal.removeEventListener('abort', giveUp);
  }
}

/** Resolves as `sent` does, or with `late` when that takes more than `ms` or `hurry` aborts. */
export async function awaitInTime<T>(sent: Promise<T>, late: T, ms: number, hurry?: AbortSignal): Promise<T> {
  const over = new AbortController();
  const enough = hurry ? AbortSignal.any([over.signal, hurry]) : over.signal;
  try {
    return await Promise.race([sent, waitOut(ms, enough).then(() => late)]);
  } finally {
    over.abort();
  }
}

/** Waits one more turn of the event loop, so that a value that has arrived already is not late. */
async function waitOut(ms: number, enough: AbortSignal): Promise<void> {
  await pause(ms, enough);
  await turn();
}

/** Waits for `ms`. Returns false when the signal aborted first. */
export async function pause(ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await sleep(ms, undefined, { signal });
    return true;
  } catch {
    // Only the signal ends it early.
    return false;
  }
}

/** Passes on at most one value in `ms`; those between are dropped. */
export function throttle<Value>(ms: number, pass: (value: Value) => void): (value: Value) => void {
  let next = 0;
  return (value) => {
    if (performance.now() < next) return;
    next = performance.now() + ms;
    pass(value);
  };
}

/**
 * Writes texts together: soon when nothing was written in the last `ms`, else when they are over,
 * and at once when `size` characters wait.
 */
export class TextBatch {
  private readonly bounds: { readonly ms: number; readonly size: number };
  private readonly write: (text: string) => void;
  private text = '';
  private timer: NodeJS.Timeout | null = null;
  /** A batch that has begun just now keeps its first pieces together. */
  private wroteAt = performance.now();

  constructor(bounds: { readonly ms: number; readonly size: number }, write: (text: string) => void) {
    this.bounds = bounds;
    this.write = write;
  }

  add(text: string): void {
    const { ms, size } = this.bounds;
    this.text += text;
    if (this.text.length >= size) this.flush();
    else this.timer ??= setTimeout(() => this.flush(), Math.max(0, this.wroteAt + ms - performance.now())).unref();
  }

  flush(): void {
    const text = this.takeAll();
    this.wroteAt = performance.now();
    if (text !== '') this.write(text);
  }

  /** Returns the text that waits, and does not write it. */
  takeAll(): string {
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
    const { text } = this;
    this.text = '';
    return text;
  }
}

/** Runs at most a fixed number of functions at once; the rest wait in line. */
type Limit = <T>(run: () => Promise<T>) => Promise<T>;

export function createLimit(max: number): Limit {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (run) => {
    if (running >= max) await new Promise<void>((go) => waiting.push(go));
    else running += 1;
    try {
      return await run();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
}

type ShareInFlight<Key, Value> = (key: Key, ask: (key: Key) => Promise<Value>) => Promise<Value>;

/**
 * Callers that ask for the same key at the same time share one answer: many agents ask about one
 * parent at once.
 */
export function shareInFlight<Key, Value>(): ShareInFlight<Key, Value> {
  const open = new Map<Key, Promise<Value>>();
  return (key, ask) => {
    const pending = open.get(key) ?? ask(key).finally(() => open.delete(key));
    open.set(key, pending);
    return pending;
  };
}

/** Runs `run` once, however often the result is called; a failure is not remembered. */
export function runOnce<T>(run: () => Promise<T>): () => Promise<T> {
  let done: Promise<T> | undefined;
  return () => {
    done ??= run().catch((error: unknown) => {
      done = undefined;
      throw error;
    });
    return done;
  };
}

/** Milliseconds between two looks at the clocks. */
const LOOK_MS = 2_000;
/** Milliseconds that must be missing; a busy process looks late, too. */
const LEAST_JUMP_MS = 30_000;

/**
 * Tells that this machine slept, or that its clock was set: the time passed on, and nothing here
 * noticed. Node's timers stand still while a machine sleeps, and connections die meanwhile. Calls
 * `onWake` after each jump, with the milliseconds that are missing, until it is stopped.
 */
export function listenForWakes(onWake: (ms: number) => void): { readonly stop: () => void } {
  // One of the two goes on while the machine sleeps; which, depends on the system.
  let before = [Date.now(), performance.now()] as const;
  const look = (): void => {
    const now = [Date.now(), performance.now()] as const;
    const missing = Math.max(now[0] - before[0], now[1] - before[1]) - LOOK_MS;
    before = now;
    if (missing >= LEAST_JUMP_MS) onWake(missing);
  };
  const timer = setInterval(look, LOOK_MS).unref();
  return { stop: () => clearInterval(timer) };
}
