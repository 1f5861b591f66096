// The place of a listener in an event stream, written as the id of the last event: the last
// iteration it has seen whole, and what it has seen of the next. The next iteration is told again
// from its beginning, since an attempt may have died meanwhile; what was seen of it is taken back
// first, so that nothing valid is told twice.
import type { Followed } from '../../client/follow/cursor.ts';
import { isApprovalEvent } from '../../client/sessions/waiting-approval.ts';
import { ClientProblem } from '../../client/problem.ts';

/** An attempt of a step, written as `step.attempt`. */
export type StreamAttempt = string;

export const attemptOf = ({ step, attempt }: { readonly step: number; readonly attempt: number }): StreamAttempt =>
  `${step}.${attempt}`;

export type EventPlace = {
  readonly run: number;
  /** The last iteration that was seen whole. */
  readonly iteration: number;
  /** Attempts that told something of later iterations. */
  readonly heard: readonly StreamAttempt[];
  /** Attempts that told events without an iteration after it. */
  readonly loose: readonly StreamAttempt[];
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

export function formatPlace({ run, iteration, heard, loose, waiting }: EventPlace): string {
  const parts = [heard.join(','), loose.join(','), waiting.map(encodeURIComponent).join(',')];
  const told = parts.slice(0, parts.findLastIndex((part) => part !== '') + 1);
  return [`${run}.${iteration}`, ...told].join(';');
}

/** A comma separates numbers of a list, so that a place can be read in only one way. */
const PLACE =
  /^(\d{1,9})\.(\d{1,9})(?:;((?:\d{1,9}\.\d{1,9}(?:,\d{1,9}\.\d{1,9})*)?)(?:;((?:\d{1,9}\.\d{1,9}(?:,\d{1,9}\.\d{1,9})*)?)(?:;([\w.!~*'()%,-]*))?)?)?$/;

/** Throws ClientProblem `refused`. */
export function parsePlace(text: string): EventPlace {
  const [found, run, iteration, heard = '', loose = '', waiting = ''] = PLACE.exec(text) ?? [];
  const names = namesOf(waiting);
  if (found === undefined || names === null || Number(run) < 1)
    throw new ClientProblem('refused', 'Last-Event-ID is none that this stream gave: leave it out to begin anew');
  const list = (part: string): readonly string[] => part.split(',').filter((one) => one !== '');
  return {
    run: Number(run),
    iteration: Number(iteration),
    heard: list(heard),
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

export type PlaceTracker = {
  /** The place of a listener that has seen all events so far. */
  readonly place: EventPlace;
  /** Tells whether the attempt has told something that was sent and stands. */
  knows(attempt: StreamAttempt): boolean;
  /** Must be called with each event that is sent. */
  hear(event: Followed): void;
};

/** Tracks the events that a listener is sent, from `start` on. */
export function trackPlace(start: EventPlace): PlaceTracker {
  let { run, iteration } = start;
  /** The iteration that is being told. */
  let current = iteration;
  /**
   * For each attempt the first iteration it told something of: those after `iteration`, and the
   * rest.
   */
  const heard = new Map(start.heard.map((attempt) => [attempt, iteration + 1]));
  const older = new Map<StreamAttempt, number>(start.loose.map((attempt) => [attempt, iteration]));
  /**
   * Attempts that told events without an iteration since the last event with one. `kept` is that
   * set at the end of the iteration before.
   */
  const loose = new Set(start.loose);
  let kept: readonly StreamAttempt[] = start.loose;
  const waiting = new Set(start.waiting);

  const shift = (to: number): void => {
    const [from, into] = to > iteration ? [heard, older] : [older, heard];
    iteration = to;
    for (const [attempt, first] of from)
      if (first <= to === (into === older)) {
        into.set(attempt, first);
        from.delete(attempt);
      }
  };
  const note = (attempt: StreamAttempt, at: number): void => {
    const first = Math.min(at, heard.get(attempt) ?? at, older.get(attempt) ?? at);
    (first > iteration ? heard : older).set(attempt, first);
  };
  const begin = (next: number): void => {
    if (next === run) return;
    [run, iteration, current, kept] = [next, 0, 0, []];
    for (const known of [heard, older, loose]) known.clear();
  };
  const advance = (at: number): void => {
    if (at > current) {
      kept = [...loose].filter((attempt) => (older.get(attempt) ?? heard.get(attempt) ?? at) < at);
      current = at;
      shift(at - 1);
    } else if (at <= iteration) shift(at - 1);
    loose.clear();
  };
  return {
    get place() {
      return { run, iteration, heard: [...heard.keys()], loose: kept, waiting: [...waiting] };
    },
    knows: (attempt) => heard.has(attempt) || older.has(attempt),
    hear: (event) => {
      if (isApprovalEvent(event)) {
        if (event.type === 'approval_settled') waiting.delete(event.call);
        else waiting.add(event.call);
        return;
      }
      if (event.type === 'result') return;
      if (event.type === 'run_start') begin(event.run);
      const attempt = attemptOf(event);
      if (event.type === 'tombstone') {
        const first = heard.get(attempt) ?? older.get(attempt);
        if (first !== undefined && first <= iteration) shift(first - 1);
        for (const known of [heard, older]) known.delete(attempt);
        return;
      }
      const at = 'iteration' in event ? event.iteration : null;
      if (at !== null) advance(at);
      else loose.add(attempt);
      note(attempt, at ?? current + 1);
    },
  };
}
