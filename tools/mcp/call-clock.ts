// Measures the time of a call to an MCP server.
import { McpError } from './failures.ts';

export type CallTimes = {
  /** Milliseconds in which a call must be answered, or give a sign that it is at work. */
  readonly silent: number;
  /** Milliseconds in all, however often it gives one. */
  readonly most: number;
};

/** Measures the time of a call, which stands still while people are asked. */
export class CallClock {
  readonly #late = new AbortController();
  readonly #times: CallTimes;
  #left: number;
  #leftInAll: number;
  #since = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #paused = 0;
  #isOver = false;
  #hasShownWork = false;

  /** `used`: milliseconds of both that are over. */
  constructor(times: CallTimes, used = 0) {
    this.#times = times;
    this.#left = times.silent - used;
    this.#leftInAll = Math.max(times.most, times.silent) - used;
    this.#start();
  }

  /** Aborted with a McpError when the time is over. */
  get signal(): AbortSignal {
    return this.#late.signal;
  }

  /** The call has given a sign that it is at work. */
  prolong(): void {
    if (this.#isOver) return;
    this.#hasShownWork = true;
    if (this.#paused === 0) this.#stand();
    this.#left = this.#times.silent;
    if (this.#paused === 0) this.#start();
  }

  async pause<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.#paused === 0) this.#stand();
    this.#paused += 1;
    try {
      return await work();
    } finally {
      this.#paused -= 1;
      if (this.#paused === 0 && !this.#isOver) this.#start();
    }
  }

  /** Ends the clock with the call, even while a question is open. */
  stop(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  #stand(): void {
    clearTimeout(this.#timer);
    const passed = performance.now() - this.#since;
    this.#left -= passed;
    this.#leftInAll -= passed;
  }

  #start(): void {
    this.#since = performance.now();
    const isLast = this.#leftInAll <= this.#left;
    const late = (): void => {
      this.#isOver = true;
      this.#late.abort(new McpError('late', this.#describeEnd(isLast), undefined));
    };
    this.#timer = setTimeout(late, Math.max(1, Math.min(this.#left, this.#leftInAll)));
  }

  #describeEnd(isLast: boolean): string {
    const { silent, most } = this.#times;
    if (!this.#hasShownWork) return `it did not answer within ${silent} ms`;
    return isLast ? `it was still at work after ${most} ms` : `it gave no sign of its work for ${silent} ms`;
  }
}
