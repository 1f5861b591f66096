// Follows all steps of a session. Order: a step's events come in the order of its file; those of a later step come before its
// last ones only while both are open. A step that waits for another is listed only when the other's file is whole, and sizes are
// taken after the listing: so it is enough to read the steps in their order.
import type { AttemptReader } from './attempt-reader.ts';
import { type Cursor, type LiveItem, noCursor, type StepCursor } from './cursor.ts';
import type { LiveHeader } from './events.ts';
import { followStep, type FoundStep } from './step-follower.ts';

/** Adds what is new to `out`; what is in it counts as given out, also when a look fails half-way. */
export type Look = (out: LiveItem[]) => void;

export function sessionFollower(reader: AttemptReader, from: Cursor = noCursor): Look {
  let before = from.before;
  const steps = new Map(Object.entries(from.steps).map(([step, at]): [number, StepCursor] => [Number(step), at]));

  return (out) => {
    const found = sized(reader, before, steps);
    const barrier = Math.max(before, ...found.filter(({ headers }) => headers.some(waits)).map(({ step }) => step));
    const superseded = new Map(found.flatMap(({ headers }) => headers.map((header) => [header.supersedes, header])));
    for (const { step, attempts } of found) {
      const standing: FoundStep = { step, attempts, closed: step < barrier, superseded: superseded.get(step) };
      followStep(reader, standing, steps.get(step), (at, told) => {
        steps.set(step, at);
        if (told) out.push({ ...told, cursor: { before, steps: Object.fromEntries(steps) } });
      });
      if (steps.get(step)?.over) for (const { attempt } of attempts) reader.letGo({ step, attempt });
    }
    before = barrier;
    for (const step of steps.keys()) if (step < before) steps.delete(step);
  };
}

/** Calls run beside each other; everything else waits for all before it. */
function waits({ activity }: LiveHeader): boolean {
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
