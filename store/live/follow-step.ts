// Follows one step of a session through its attempts: each event goes out once, and what became
// void is taken back (L16).
// How far a watcher has come, in a form that it can keep and return after a reconnect.
import type { AttemptReader } from './attempt-reader.ts';
import {
  type ChannelItem,
  type LiveEvent,
  type LiveFate,
  type LiveHeader,
  type Tombstone,
  tombstoneOf,
} from './events.ts';
import { type FoundLine, type FoundLines, isEvent, isFate } from './lines.ts';

/** The files of a step, in the order of attempts. */
export type FoundStep = {
  readonly step: number;
  readonly attempts: readonly { readonly attempt: number; readonly size: number }[];
  /** A later step has begun that waits for this one, so no more events come. */
  readonly closed: boolean;
  /**
   * The header of a later step that takes its place: the reply is asked for again (L26), or was
   * found in the store (L47).
   */
  readonly superseded: LiveHeader | undefined;
};

/** Moves the step's cursor and then gives out the item it passed. */
type Emit = (at: StepCursor, item?: ChannelItem) => void;

export function followStep(reader: AttemptReader, found: FoundStep, from: StepCursor | undefined, emit: Emit): void {
  const { step, superseded, closed } = found;
  let at = from ?? startStep(found.attempts[0]?.attempt ?? 1);
  const move: Emit = (to, item) => {
    at = to;
    emit(to, item);
  };
  if (superseded && at.over && !at.shown) return;
  if (superseded)
    return takeBack(
      step,
      at,
      explainReplacement(step, superseded, 'the reply was cut off and is asked for again'),
      endingStep(move),
    );
  if (at.over) return;
  // The files were forgotten before they were read to their end: a gap, of which nothing can be
  // said.
  if (found.attempts.length === 0) return closed ? move({ ...at, over: true }) : undefined;
  for (const { attempt, size } of found.attempts) {
    if (attempt < at.attempt) continue;
    if (attempt > at.attempt) {
      const header = reader.header({ step, attempt }, size);
      takeBack(step, at, explainReplacement(step, header, `attempt ${attempt} takes its place`), move);
      reader.letGo({ step, attempt: at.attempt });
      move(startStep(attempt));
    }
    if (size < at.byte)
      takeBack(step, at, { why: 'its file was begun again' }, (_, item) => move(startStep(attempt), item));
    const lines = reader.lines({ step, attempt }, at.byte, size);
    const last = attempt === found.attempts.at(-1)?.attempt;
    readAttempt(step, at, { ...lines, last, closed }, move);
    if (at.over) return;
  }
  if (closed) takeBack(step, at, { why: 'the attempt was given up' }, endingStep(move));
}

const endingStep =
  (move: Emit): Emit =>
  (at, item) =>
    move({ ...at, over: true }, item);

type TakenBack = Pick<Tombstone, 'why' | 'retold'>;

function explainReplacement(step: number, header: LiveHeader | null, why: string): TakenBack {
  return header?.retells === step ? { why: 'its reply is stored, and told again', retold: true } : { why };
}

function takeBack(step: number, at: StepCursor, reason: TakenBack, move: Emit): void {
  const { attempt, shown: isVisible, iteration } = at;
  const after = { ...at, shown: false };
  if (isVisible) move(after, tombstoneOf({ step, attempt }, reason, iteration));
  else move(after);
}

/** The lines of an attempt, and whether it is the last of its step, and the step closed. */
type AttemptLines = FoundLines & { readonly last: boolean; readonly closed: boolean };

/**
 * Gives out the events of an attempt. One that is void already is passed over; one that has died
 * says why, and that another follows.
 */
function readAttempt(step: number, from: StepCursor, found: AttemptLines, move: Emit): void {
  const { last, closed } = found;
  const fate = findFate(found);
  const stored = fate !== null && fate.fate !== 'died';
  const end = { byte: found.end };
  if (stored || (last && !closed && fate === null)) {
    const at = { ...giveOut(step, from, found.lines, move), ...end, over: stored };
    return fate?.fate === 'stored'
      ? move(at, { type: 'stored', step, attempt: at.attempt, head: fate.head })
      : move(at);
  }
  let at = from;
  if (fate?.fate === 'died') {
    takeBack(step, at, { why: fate.why }, (after, item) => {
      at = after;
      move(after, item);
    });
    if (last && !closed) at = giveOut(step, at, found.lines.filter(isRetry), move);
  }
  move({ ...at, ...end });
}

function isRetry({ line }: FoundLine): boolean {
  return isEvent(line) && isAnnouncement(line);
}

function giveOut(step: number, from: StepCursor, lines: readonly FoundLine[], move: Emit): StepCursor {
  let at = from;
  for (const { line, end } of lines) {
    if (!isEvent(line)) continue;
    at = passEvent(at, line, end);
    move(at, { ...line, step, attempt: at.attempt });
  }
  return at;
}

export function findFate({ lines }: FoundLines): LiveFate | null {
  const found = lines.findLast(({ line }) => isFate(line))?.line;
  return found && isFate(found) ? found : null;
}

export type Cursor = {
  /** Steps before this one are over. */
  readonly before: number;
  /** The cursors of later steps, by step number. */
  readonly steps: Readonly<Record<string, StepCursor>>;
};

export type StepCursor = {
  readonly attempt: number;
  /** Lines up to this byte were given out, or never will be. */
  readonly byte: number;
  /** True when nothing of this step follows. */
  readonly over: boolean;
  /** True when an event of this attempt was given out that a tombstone would have to take back. */
  readonly shown: boolean;
  /** The last iteration that the attempt named. */
  readonly iteration: number | null;
};

export type LiveItem = ChannelItem & { readonly cursor: Cursor };

export const START: Cursor = { before: 0, steps: {} };

export function startStep(attempt: number): StepCursor {
  return { attempt, byte: 0, over: false, shown: false, iteration: null };
}

/**
 * Tells whether an event stays true although its attempt died: a tombstone does not take it back.
 */
export function isAnnouncement(event: LiveEvent): boolean {
  return event.type === 'retry' || event.type === 'request_start';
}

/** Moves the cursor past `event`, which was given out or passed over. */
export function passEvent(at: StepCursor, event: LiveEvent, byte: number): StepCursor {
  const isVisible = at.shown || !isAnnouncement(event);
  return { ...at, byte, shown: isVisible, iteration: 'iteration' in event ? event.iteration : at.iteration };
}
