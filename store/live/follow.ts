// Reads the live channel for watchers of a session, whatever it lies in. Watchers never see an
// attempt that became void before any of it was given out. If some of it was given out, a tombstone
// takes it back (L16).
import type { Log } from '../../system/log.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import type { AttemptReader } from './attempt-reader.ts';
import {
  type Cursor,
  type LiveItem,
  noCursor,
  type StepCursor,
  isAnnouncement,
  newStep,
  passEvent,
  type FoundLine,
  type FoundLines,
  isEvent,
  isFate,
} from './files.ts';
import type { LiveChannel, LiveHeader, LiveFate, Told, Watched } from './events.ts';

export type { Cursor, LiveItem } from './files.ts';

/** The live channel of a place: both sides. Neither fails for a channel that is not there. */
export type Live = LiveChannel & {
  /**
   * Waits for a session that is not there yet. Best effort: what was forgotten before it was read
   * is a gap.
   */
  follow(session: SessionId, watching: Watching): AsyncGenerator<LiveItem, void>;
  /** Null when it can be used, else a sentence: why not, and what to do. */
  check(): Promise<string | null>;
  /** For a writer that ends; resolves soon. */
  close(): Promise<void>;
};

export type Watching = {
  /** Ends the iteration: whether a run is over is for the caller to see. */
  readonly signal: AbortSignal;
  /** Go on after this item; absent: from the first attempt there is. */
  readonly from?: Cursor | undefined;
  /** Told of what cannot be read. */
  readonly log?: Log | undefined;
  /** Nothing comes for now: why; null when it does again. */
  readonly onTrouble?: ((why: string | null) => void) | undefined;
};

/** When to look again. */
export type Changes = {
  /**
   * Resolves after a change since the last time or on abort: to whether attempts may have come or
   * gone. Never rejects.
   */
  next(): Promise<boolean>;
  close(): void;
};

type Following = Omit<Watching, 'onTrouble'> & { readonly reader: AttemptReader; readonly changes: Changes };

export async function* followAttempts(following: Following): AsyncGenerator<LiveItem, void> {
  const { reader, changes, signal, from, log = () => undefined } = following;
  const look = sessionFollower(reader, from);
  try {
    while (!signal.aborted) {
      const items: LiveItem[] = [];
      try {
        look(items);
      } catch (error) {
        if (!(error instanceof Error && 'syscall' in error)) throw error;
        log('warn', `the live channel cannot be read now: ${error.message}`);
      }
      for (const item of items) {
        yield item;
        if (signal.aborted) return;
      }
      if (!(await changes.next())) reader.keepList();
    }
  } finally {
    changes.close();
    reader.close();
  }
}

// Follows all steps of a session. Order: a step's events come in the order of its file; those of a
// later step come before its last ones only while both are open. A step that waits for another is
// listed only when the other's file is whole, and sizes are taken after the listing: so it is
// enough to read the steps in their order.

/**
 * Adds what is new to `out`; what is in it counts as given out, also when a look fails half-way.
 */
type Look = (out: LiveItem[]) => void;

export function sessionFollower(reader: AttemptReader, from: Cursor = noCursor): Look {
  let before = from.before;
  const steps = new Map(Object.entries(from.steps).map(([step, at]): [number, StepCursor] => [Number(step), at]));

  return (out) => {
    const found = sized(reader, before, steps);
    const barrier = Math.max(before, ...found.filter(({ headers }) => headers.some(isWaiting)).map(({ step }) => step));
    const superseded = new Map(found.flatMap(({ headers }) => headers.map((header) => [header.supersedes, header])));
    for (const { step, attempts } of found) {
      const standing: FoundStep = { step, attempts, closed: step < barrier, superseded: superseded.get(step) };
      followStep(reader, standing, steps.get(step), (at, told) => {
        steps.set(step, at);
        if (told) out.push({ ...told, cursor: { before, steps: Object.fromEntries(steps) } });
      });
      if (steps.get(step)?.over) for (const { attempt } of attempts) reader.letGo({ step, attempt });
      // Each item has its own copy of the cursor, so a step leaves it as soon as it is passed.
      if (step < barrier) {
        steps.delete(step);
        before = step + 1;
      }
    }
    before = barrier;
  };
}

/** Calls run beside each other; everything else waits for all before it. */
export function isWaiting({ activity }: LiveHeader): boolean {
  return activity !== 'runTool';
}

type Sized = Pick<FoundStep, 'step' | 'attempts'> & { readonly headers: readonly LiveHeader[] };

/** First step first. */
function sized(reader: AttemptReader, before: number, known: ReadonlyMap<number, StepCursor>): Sized[] {
  const attempts = new Map([...known].map(([step, { attempt }]): [number, Set<number>] => [step, new Set([attempt])]));
  for (const { step, attempt } of reader.list()) {
    if (step < before) continue;
    attempts.set(step, (attempts.get(step) ?? new Set()).add(attempt));
  }
  const inOrder = [...attempts].sort(([a], [b]) => a - b);
  return inOrder.map(([step, found]) => sizedStep(reader, step, [...found]));
}

function sizedStep(reader: AttemptReader, step: number, found: readonly number[]): Sized {
  const attempts = found
    .toSorted((a, b) => a - b)
    .flatMap((attempt) => {
      const size = reader.size({ step, attempt });
      return size === null ? [] : [{ attempt, size }];
    });
  const headers = attempts.flatMap(({ attempt, size }) => reader.header({ step, attempt }, size) ?? []);
  return { step, attempts, headers };
}

// Follows one step of a session through its attempts: what each said goes out once, what became
// void is taken back (L16).

/** Returns the files of a step, in the order of attempts. */
type FoundStep = {
  readonly step: number;
  readonly attempts: readonly { readonly attempt: number; readonly size: number }[];
  /** A later step has begun that waits for this one: nothing more comes. */
  readonly closed: boolean;
  /**
   * That of a later step which takes its place: the reply is asked for again (L26), or was found in
   * the store (L47).
   */
  readonly superseded: LiveHeader | undefined;
};

/** Moves the step's cursor and then gives out what it passed. */
type Emit = (at: StepCursor, told?: Told) => void;

function followStep(reader: AttemptReader, found: FoundStep, from: StepCursor | undefined, emit: Emit): void {
  const { step, superseded, closed } = found;
  let at = from ?? newStep(found.attempts[0]?.attempt ?? 1);
  const move: Emit = (to, told) => {
    at = to;
    emit(to, told);
  };
  if (superseded && at.over && !at.shown) return;
  if (superseded)
    return takeBack(step, at, instead(step, superseded, 'the reply was cut off and is asked for again'), over(move));
  if (at.over) return;
  // Forgotten before it was read to its end: a gap, of which nothing can be said.
  if (found.attempts.length === 0) return closed ? move({ ...at, over: true }) : undefined;
  for (const { attempt, size } of found.attempts) {
    if (attempt < at.attempt) continue;
    if (attempt > at.attempt) {
      const header = reader.header({ step, attempt }, size);
      takeBack(step, at, instead(step, header, `attempt ${attempt} takes its place`), move);
      reader.letGo({ step, attempt: at.attempt });
      move(newStep(attempt));
    }
    if (size < at.byte)
      takeBack(step, at, { why: 'its file was begun again' }, (_, told) => move(newStep(attempt), told));
    const lines = reader.lines({ step, attempt }, at.byte, size);
    const last = attempt === found.attempts.at(-1)?.attempt;
    readAttempt(step, at, lines, { last, closed }, move);
    if (at.over) return;
  }
  if (closed) takeBack(step, at, { why: 'the attempt was given up' }, over(move));
}

const over =
  (move: Emit): Emit =>
  (at, told) =>
    move({ ...at, over: true }, told);

type Taken = Pick<Extract<Watched, { type: 'tombstone' }>, 'why' | 'retold'>;

function instead(step: number, header: LiveHeader | null, why: string): Taken {
  return header?.retells === step ? { why: 'its reply is stored, and told again', retold: true } : { why };
}

function takeBack(step: number, at: StepCursor, taken: Taken, move: Emit): void {
  const { attempt, shown, iteration } = at;
  const after = { ...at, shown: false };
  if (shown) move(after, { type: 'tombstone', step, attempt, iteration, ...taken });
  else move(after);
}

type Standing = { readonly last: boolean; readonly closed: boolean };

/**
 * An attempt that is void already is passed over; one that has died says why, and that there will
 * be another.
 */
function readAttempt(step: number, from: StepCursor, found: FoundLines, { last, closed }: Standing, move: Emit): void {
  const fate = fateIn(found);
  const stored = fate !== null && fate.fate !== 'died';
  const end = { byte: found.end };
  if (stored || (last && !closed && fate === null)) {
    const at = { ...give(step, from, found.lines, move), ...end, over: stored };
    return fate?.fate === 'stored'
      ? move(at, { type: 'stored', step, attempt: at.attempt, head: fate.head })
      : move(at);
  }
  let at = from;
  if (fate?.fate === 'died') {
    takeBack(step, at, { why: fate.why }, (after, told) => {
      at = after;
      move(after, told);
    });
    if (last && !closed) at = give(step, at, found.lines.filter(isRetry), move);
  }
  move({ ...at, ...end });
}

function isRetry({ line }: FoundLine): boolean {
  return isEvent(line) && isAnnouncement(line);
}

function give(step: number, from: StepCursor, lines: readonly FoundLine[], move: Emit): StepCursor {
  let at = from;
  for (const { line, end } of lines) {
    if (!isEvent(line)) continue;
    at = passEvent(at, line, end);
    move(at, { ...line, step, attempt: at.attempt });
  }
  return at;
}

function fateIn({ lines }: FoundLines): LiveFate | null {
  const found = lines.findLast(({ line }) => isFate(line))?.line;
  return found && isFate(found) ? found : null;
}
