// Measures the time of a call to an MCP server.
import { McpError } from './failures.ts';

/** Measures the time of a call, which stands still while people are asked. */
export class CallClock {
  readonly #late = new AbortController();
  #left: number;
  #since = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #paused = 0;
  #isOver = false;

  constructor(ms: number) {
    this.#left = ms;
    this.#start();
  }

  /** Aborted with a McpError when the time is over. */
  get signal(): AbortSignal {
    return this.#late.signal;
  }

  async pause<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.#paused === 0) {
      clearTimeout(this.#timer);
      this.#left -= performance.now() - this.#since;
    }
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

  #start(): void {
    this.#since = performance.now();
    const late = (): void => this.#late.abort(new McpError('late', 'its time is over', undefined));
    this.#timer = setTimeout(late, Math.max(1, this.#left));
  }
}
