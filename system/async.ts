// Waiting for what may not come, and for a turn. The workflow has none of this: it waits by
// Temporal's own timers.
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';

/** The message is the end of a sentence. */
export class TimedOut extends Error {
  override readonly name = 'TimedOut';

  constructor(ms: number) {
    super(`timed out after ${ms} ms`);
  }
}

/** What is aborted when its time is up, until it is stopped. */
export type Timed = { readonly signal: AbortSignal; readonly stop: () => void };

/**
 * Aborted with `signal`, or with TimedOut after `ms`. Not AbortSignal.timeout within
 * AbortSignal.any: where nothing else holds on to it, the garbage collector of Node 20 takes it,
 * and its time is never up.
 */
export function timed(ms: number, signal: AbortSignal): Timed {
  const time = new AbortController();
  const timer = setTimeout(() => time.abort(new TimedOut(ms)), ms);
  timer.unref();
  return { signal: AbortSignal.any([signal, time.signal]), stop: () => clearTimeout(timer) };
}

/**
 * Waits for foreign code, which may not heed the signal it is given: aborted with `signal`, or
 * after `ms`. Rejects with TimedOut or with the signal's reason at that moment, whatever `work`
 * does.
 */
export async function within<Value>(
  ms: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Value | Promise<Value>,
): Promise<Value> {
  const either = timed(ms, signal);
  let give = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    give = () => reject(either.signal.reason as Error);
    if (either.signal.aborted) give();
    else either.signal.addEventListener('abort', give, { once: true });
  });
  try {
    return await Promise.race([Promise.resolve().then(() => work(either.signal)), aborted]);
  } finally {
    either.stop();
    either.signal.removeEventListener('abort', give);
  }
}

/**
 * Resolves as `sent` does; with `late` when that takes more than `ms`, or someone is in a hurry.
 */
export async function awaitInTime<T>(sent: Promise<T>, late: T, ms: number, hurry?: AbortSignal): Promise<T> {
  const over = new AbortController();
  const enough = hurry ? AbortSignal.any([over.signal, hurry]) : over.signal;
  try {
    return await Promise.race([sent, isOver(ms, enough).then(() => late)]);
  } finally {
    over.abort();
  }
}

/** A value that has arrived already is not late, however great the hurry. */
async function isOver(ms: number, enough: AbortSignal): Promise<void> {
  await pause(ms, enough);
  await turn();
}

/** Waits; false when the signal came first. */
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
export function throttled<Value>(ms: number, pass: (value: Value) => void): (value: Value) => void {
  let next = 0;
  return (value) => {
    if (performance.now() < next) return;
    next = performance.now() + ms;
    pass(value);
  };
}

/**
 * Text that is written together: soon when nothing was in the last `ms`, else when they are over,
 * and at once when `size` characters wait.
 */
export class TextBatch {
  private readonly bounds: { readonly ms: number; readonly size: number };
  private readonly write: (text: string) => void;
  private text = '';
  private timer: NodeJS.Timeout | null = null;
  /** Of a batch that has begun just now, the first pieces come together. */
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

  /** What waits, which is not written then. */
  takeAll(): string {
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
    const { text } = this;
    this.text = '';
    return text;
  }
}

// At most `max` of something at once; the rest wait in line.

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

/** `ask` is given the key. */
type Shared<Key, Value> = (key: Key, ask: (key: Key) => Promise<Value>) => Promise<Value>;

/**
 * Who asks for what is being asked for gets the same answer: many agents ask about one parent at
 * the same time.
 */
export function shared<Key, Value>(): Shared<Key, Value> {
  const open = new Map<Key, Promise<Value>>();
  return (key, ask) => {
    const asked = open.get(key) ?? ask(key).finally(() => open.delete(key));
    open.set(key, asked);
    return asked;
  };
}

/** Runs once, however often it is asked for; a failure is not remembered. */
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
