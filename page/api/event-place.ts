// The place of a listener in an event stream, written as the id of the last event: the last
// iteration it has seen whole, and what it has seen of the next. The next iteration is told again
// from its beginning, since an attempt may have died meanwhile; what was seen of it is taken back
// first, so that nothing valid is told twice.
import { isTombstone } from '../../client/faces/words.ts';
import type { Followed } from '../../client/faces/types.ts';
import { isApprovalEvent } from '../../client/faces/sessions.ts';
import { ClientProblem } from '../../client/faces/start.ts';
import { attemptName } from '../../client/view/reduce-live.ts';

export type EventPlace = {
  readonly run: number;
  /** The last iteration that was seen whole. */
  readonly iteration: number;
  /** Attempts, as `step.attempt`, that told something of later iterations. */
  readonly heard: readonly string[];
  /** Attempts that told events without an iteration after it. */
  readonly loose: readonly string[];
  /** Calls that are known to wait. */
  readonly waiting: readonly string[];
};

/** Id of a stream's last event: there is no more. */
export const OVER = 'over';

export const placeAt = (run: number, iteration: number): EventPlace => ({
  run,
  iteration,
  heard: [],
  loose: [],
  waiting: [],
});

export function formatPlace({ run, iteration, heard: attempts, loose, waiting }: EventPlace): string {
  const parts = [attempts.join(','), loose.join(','), waiting.map(encodeURIComponent).join(',')];
  const used = parts.slice(0, parts.findLastIndex((part) => part !== '') + 1);
  return [`${run}.${iteration}`, ...used].join(';');
}

/** A comma separates numbers of a list, so that a place can be read in only one way. */
const PLACE =
  /^(\d{1,9})\.(\d{1,9})(?:;((?:\d{1,9}\.\d{1,9}(?:,\d{1,9}\.\d{1,9})*)?)(?:;((?:\d{1,9}\.\d{1,9}(?:,\d{1,9}\.\d{1,9})*)?)(?:;([\w.!~*'()%,-]*))?)?)?$/;

/** Throws ClientProblem `refused`. */
export function parsePlace(text: string): EventPlace {
  const [found, run, iteration, attempts = '', loose = '', waiting = ''] = PLACE.exec(text) ?? [];
  const names = namesOf(waiting);
  if (found === undefined || names === null || Number(run) < 1)
    throw new ClientProblem('refused', 'Last-Event-ID is none that this stream gave: leave it out to begin anew');
  const list = (part: string): readonly string[] => part.split(',').filter((one) => one !== '');
  return {
    run: Number(run),
    iteration: Number(iteration),
    heard: list(attempts),
    loose: list(loose),
    waiting: names,
  };
}

function namesOf(text: string): readonly string[] | null {
  try {
    return text.split(',').flatMap((one) => (one === '' ? [] : [decodeURIComponent(one)]));
  } catch (error) {
    if (error instanceof URIError) return null;
    throw error;
  }
}

/** Tracks the place of a listener from `start` on, by the events that it is sent. */
export class PlaceTracker {
  #run: number;
  #iteration: number;
  /** The iteration that is being told. */
  #current: number;
  /**
   * For each attempt the first iteration it told something of: those after `#iteration`, and the
   * rest.
   */
  readonly #heard: Map<string, number>;
  readonly #older: Map<string, number>;
  /**
   * Attempts that told events without an iteration since the last event with one. `#kept` is that
   * set at the end of the iteration before.
   */
  readonly #loose: Set<string>;
  #kept: readonly string[];
  readonly #waiting: Set<string>;

  constructor({ run, iteration, heard: attempts, loose, waiting }: EventPlace) {
    this.#run = run;
    this.#iteration = this.#current = iteration;
    this.#heard = new Map(attempts.map((attempt) => [attempt, iteration + 1]));
    this.#older = new Map(loose.map((attempt) => [attempt, iteration]));
    this.#loose = new Set(loose);
    this.#kept = loose;
    this.#waiting = new Set(waiting);
  }

  /** The place of a listener that has seen all events so far. */
  get place(): EventPlace {
    const attempts = [...this.#heard.keys()];
    return {
      run: this.#run,
      iteration: this.#iteration,
      heard: attempts,
      loose: this.#kept,
      waiting: [...this.#waiting],
    };
  }

  /** Tells whether the attempt has told something that was sent and stands. */
  knows(attempt: string): boolean {
    return this.#heard.has(attempt) || this.#older.has(attempt);
  }

  /** Must be called with each event that is sent. */
  hear(event: Followed): void {
    if (isApprovalEvent(event)) {
      if (event.type === 'approval_settled') this.#waiting.delete(event.call);
      else this.#waiting.add(event.call);
      return;
    }
    if (event.type === 'result') return;
    if (event.type === 'run_start') this.#begin(event.run);
    const attempt = attemptName(event);
    if (isTombstone(event)) {
      const first = this.#firstOf(attempt);
      if (first !== undefined && first <= this.#iteration) this.#shift(first - 1);
      for (const known of [this.#heard, this.#older]) known.delete(attempt);
      return;
    }
    const at = 'iteration' in event ? event.iteration : null;
    if (at !== null) this.#advance(at);
    else this.#loose.add(attempt);
    this.#note(attempt, at ?? this.#current + 1);
  }

  #firstOf(attempt: string): number | undefined {
    return this.#heard.get(attempt) ?? this.#older.get(attempt);
  }

  #begin(next: number): void {
    if (next === this.#run) return;
    this.#run = next;
    this.#iteration = this.#current = 0;
    this.#kept = [];
    for (const known of [this.#heard, this.#older, this.#loose]) known.clear();
  }

  #advance(at: number): void {
    if (at > this.#current) {
      this.#kept = [...this.#loose].filter((attempt) => (this.#firstOf(attempt) ?? at) < at);
      this.#current = at;
      this.#shift(at - 1);
    } else if (at <= this.#iteration) this.#shift(at - 1);
    this.#loose.clear();
  }

  #note(attempt: string, at: number): void {
    const first = Math.min(at, this.#firstOf(attempt) ?? at);
    (first > this.#iteration ? this.#heard : this.#older).set(attempt, first);
  }

  /** Moves the last iteration that was seen whole. */
  #shift(to: number): void {
    const [from, into] = to > this.#iteration ? [this.#heard, this.#older] : [this.#older, this.#heard];
    this.#iteration = to;
    for (const [attempt, first] of from)
      if (first <= to === (into === this.#older)) {
        into.set(attempt, first);
        from.delete(attempt);
      }
  }
}
