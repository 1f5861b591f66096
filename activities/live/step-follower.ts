// Follows one step of a session through its attempts: what each said goes out once, what became void is taken back (L16).
import type { AttemptReader } from './attempt-reader.ts';
import { isAnnouncement, newStep, passed, type StepCursor } from './cursor.ts';
import type { LiveFate, LiveHeader, Told, Watched } from './events.ts';
import { type FoundLine, type FoundLines, isEvent, isFate } from './live-lines.ts';

/** What there is of a step, in the order of attempts. */
export type FoundStep = {
  readonly step: number;
  readonly attempts: readonly { readonly attempt: number; readonly size: number }[];
  /** A later step has begun that waits for this one: nothing more comes. */
  readonly closed: boolean;
  /** That of a later step which takes its place: the reply is asked for again (L26), or was found in the store (L47). */
  readonly superseded: LiveHeader | undefined;
};

/** Moves the step's cursor and then gives out what it passed. */
export type Emit = (at: StepCursor, told?: Told) => void;

export function followStep(reader: AttemptReader, found: FoundStep, from: StepCursor | undefined, emit: Emit): void {
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

/** An attempt that is void already is passed over; one that has died says why, and that there will be another. */
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
    at = passed(at, line, end);
    move(at, { ...line, step, attempt: at.attempt });
  }
  return at;
}

function fateIn({ lines }: FoundLines): LiveFate | null {
  const found = lines.findLast(({ line }) => isFate(line))?.line;
  return found && isFate(found) ? found : null;
}
