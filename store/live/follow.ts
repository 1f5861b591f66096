// Reads the live channel for watchers of a session, whether it lies in files or in a Redis.
// Watchers never see an attempt that became void before any of it was given out. If some of it was
// given out, a tombstone takes it back (L16).
import type { Log } from '../../system/log.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import type { AttemptReader } from './attempt-reader.ts';
import {
  type Cursor,
  findFate,
  followStep,
  type FoundStep,
  type LiveItem,
  START,
  type StepCursor,
} from './follow-step.ts';
import type { LiveChannel, LiveHeader } from './events.ts';
import type { LivePeek } from './peek.ts';

export type { Cursor, LiveItem } from './follow-step.ts';

/** Both sides of the live channel of a place. Neither fails for a channel that is missing. */
export type Live = LiveChannel & {
  /**
   * Follows a session, and waits for one that does not exist yet. It is best effort: events that
   * were forgotten before they were read leave a gap.
   */
  follow(session: SessionId, watching: Watching): AsyncGenerator<LiveItem, void>;
  /** Looks at the end of what a session's newest attempts told. Never rejects. */
  peek(session: SessionId): Promise<LivePeek>;
  /**
   * Resolves to null when the channel can be used, else to a sentence that says why not, and what
   * to do.
   */
  check(): Promise<string | null>;
  /** Ends the writing side; resolves soon. */
  close(): Promise<void>;
};

export type Watching = {
  /** Ends the iteration: the caller decides when a run is over. */
  readonly signal: AbortSignal;
  /**
   * The item to go on after; absent: from the first attempt that exists. `unstored`: from the
   * newest step with which everything before it was stored, for a watcher who reads the store.
   */
  readonly from?: Cursor | 'unstored' | undefined;
  /** Receives warnings about lines that cannot be read. */
  readonly log?: Log | undefined;
  /** Receives why nothing comes for now, and null when events come again. */
  readonly onTrouble?: ((why: string | null) => void) | undefined;
};

/** Tells when to look again. */
export type Changes = {
  /**
   * Resolves after a change since the last time or on abort, to the files of attempts that may have
   * come or gone, in that order; null when any may have. `took`: milliseconds that the last look
   * took. Never rejects.
   */
  next(took: number): Promise<readonly string[] | null>;
  close(): void;
};

type Following = Omit<Watching, 'onTrouble'> & { readonly reader: AttemptReader; readonly changes: Changes };

export async function* followAttempts(following: Following): AsyncGenerator<LiveItem, void> {
  const { reader, changes, signal, from, log = () => undefined } = following;
  const look = createSessionFollower(reader, from);
  try {
    while (!signal.aborted) {
      const items: LiveItem[] = [];
      const began = performance.now();
      try {
        look(items);
      } catch (error) {
        if (!(error instanceof Error && 'syscall' in error)) throw error;
        log('warn', `the live channel cannot be read now: ${error.message}`);
      }
      const took = performance.now() - began;
      for (const item of items) {
        yield item;
        if (signal.aborted) return;
      }
      reader.noteChanges(await changes.next(took));
    }
  } finally {
    changes.close();
    reader.close();
  }
}

/**
 * Follows all steps of a session. A step's events come in the order of its file; those of a later
 * step come before its last ones only while both are open. A step that waits for another is listed
 * only when the other's file is whole, and sizes are taken after the listing, so it is enough to
 * read the steps in their order.
 */
/** Adds new items to `out`; those in it count as given out, also when a look fails half-way. */
type Look = (out: LiveItem[]) => void;

export function createSessionFollower(reader: AttemptReader, from: Cursor | 'unstored' = START): Look {
  let { before, steps: known } = from === 'unstored' ? START : from;
  const steps = new Map(Object.entries(known).map(([step, at]): [number, StepCursor] => [Number(step), at]));
  let isFirst = from === 'unstored';

  return (out) => {
    if (isFirst) before = findNewestStored(reader);
    isFirst = false;
    const found = listSizedSteps(reader, before, steps);
    const barrier = Math.max(
      before,
      ...found.filter(({ headers }) => headers.some(waitsForEarlier)).map(({ step }) => step),
    );
    const superseded = new Map(found.flatMap(({ headers }) => headers.map((header) => [header.supersedes, header])));
    for (const { step, attempts } of found) {
      const foundStep: FoundStep = { step, attempts, closed: step < barrier, superseded: superseded.get(step) };
      followStep(reader, foundStep, steps.get(step), (at, item) => {
        steps.set(step, at);
        if (item) out.push({ ...item, cursor: { before, steps: Object.fromEntries(steps) } });
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

/**
 * Most attempts to look at for the newest stored step: calls of a reply run side by side.
 */
const MOST_SOUGHT = 100;

/** Returns the newest step that waited for all before it and is stored; 0 without one. */
function findNewestStored(reader: AttemptReader): number {
  const newest = reader.list(0).toSorted((a, b) => b.step - a.step || b.attempt - a.attempt);
  for (const name of newest.slice(0, MOST_SOUGHT)) {
    const size = reader.size(name);
    const header = size === null ? null : reader.header(name, size);
    if (size === null || header === null || !waitsForEarlier(header)) continue;
    const fate = findFate(reader.lines(name, 0, size));
    reader.letGo(name);
    if (fate?.fate === 'stored') return name.step;
  }
  return 0;
}

/**
 * Tells whether a step waits for all before it. Calls run next to each other; everything else
 * waits.
 */
export function waitsForEarlier({ activity }: LiveHeader): boolean {
  return activity !== 'runTool';
}

type SizedStep = Pick<FoundStep, 'step' | 'attempts'> & { readonly headers: readonly LiveHeader[] };

/** Lists the steps in their order, with the sizes of their files. */
function listSizedSteps(reader: AttemptReader, before: number, known: ReadonlyMap<number, StepCursor>): SizedStep[] {
  const attempts = new Map([...known].map(([step, { attempt }]): [number, Set<number>] => [step, new Set([attempt])]));
  for (const { step, attempt } of reader.list(before))
    attempts.set(step, (attempts.get(step) ?? new Set()).add(attempt));
  const inOrder = [...attempts].sort(([a], [b]) => a - b);
  return inOrder.map(([step, found]) => sizeStep(reader, step, [...found]));
}

function sizeStep(reader: AttemptReader, step: number, found: readonly number[]): SizedStep {
  const attempts = found
    .toSorted((a, b) => a - b)
    .flatMap((attempt) => {
      const size = reader.size({ step, attempt });
      return size === null ? [] : [{ attempt, size }];
    });
  const headers = attempts.flatMap(({ attempt, size }) => reader.header({ step, attempt }, size) ?? []);
  return { step, attempts, headers };
}
