// Remembers accepted updates: anyone who reaches the server can capture a sealed one and send it
// again, and it must not count twice.
import { LONGEST_ID } from '../contract/session.ts';
import { isOnce } from '../contract/steered.ts';

/**
 * How many updates are remembered. One that is older than the newest forgotten one is refused, for
 * it may be that one.
 */
const REMEMBERED_UPDATES = 200;

/** `times`: when each id was asked for, by the client's clock. `since`: nothing older is taken. */
export type AskedOnceSnapshot = {
  readonly times: readonly (readonly [id: string, at: number])[];
  readonly since: number;
};

export class AskedOnce {
  private readonly times: Map<string, number>;
  private since: number;

  /** `sealed`: an update that is not sealed is refused. */
  constructor(
    private readonly sealed: boolean,
    { times, since }: AskedOnceSnapshot = { times: [], since: 0 },
  ) {
    this.times = new Map(times);
    this.since = since;
  }

  /** Returns a sentence that says why an update of this name is not taken; undefined when it is. */
  problem(name: string, request: unknown): string | undefined {
    if (!isOnce(request)) {
      return this.sealed
        ? 'this was asked by a client of another release, or sent again: nothing was changed; ask with the perdure that the worker is of'
        : undefined;
    }
    const { update, id, at } = request;
    if (update !== name || id.length > LONGEST_ID)
      return 'what was asked is not what it was sealed for: nothing was changed';
    if (this.times.has(id) || at <= this.since) return 'this was asked before, and counts once: nothing was changed';
    return undefined;
  }

  /** Remembers an update that was taken. */
  note(request: unknown): void {
    if (!isOnce(request)) return;
    this.times.set(request.id, request.at);
    if (this.times.size <= REMEMBERED_UPDATES) return;
    const [[oldest, at]] = [...this.times].toSorted((a, b) => a[1] - b[1]) as [[string, number]];
    this.times.delete(oldest);
    this.since = Math.max(this.since, at);
  }

  /** Returns null while there is nothing to remember. */
  snapshot(): AskedOnceSnapshot | null {
    return this.times.size === 0 ? null : { times: [...this.times], since: this.since };
  }
}
