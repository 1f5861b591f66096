// Collects the iterations of a session from its transcript: one for each pass of the loop, with
// what was written in it. Pure.
import { isReply, type Item, type ReplyItem } from './items.ts';
import type { Step } from './steps.ts';
import type { RunEnded } from '../../../workflows/contract/activities.ts';
import type { TransitionReason } from '../../../workflows/contract/loop.ts';

export type Iteration = {
  readonly run: number;
  readonly iteration: number;
  /** Position of its first entry; null while nothing of it is stored. */
  readonly position: number | null;
  readonly reply: ReplyItem | null;
  /** Why the loop came to it. */
  readonly transitions: readonly TransitionReason[];
  /** True when the context was compacted before its reply. */
  readonly compacted: boolean;
  /** The end of the run if this was its last iteration. */
  readonly ended: RunEnded | null;
  /** The last known moment before it, in milliseconds since the epoch. */
  readonly after: number;
};

type Draft = { -readonly [Key in keyof Iteration]: Iteration[Key] };

export function iterationsOf(items: readonly Item[]): readonly Iteration[] {
  const found: Draft[] = [];
  let after = 0;
  let compacted = false;
  const at = ({ run, position }: Item, iteration: number): Draft => {
    const last = found.at(-1);
    if (last?.run === run && last.iteration === iteration) return last;
    const transitions: readonly TransitionReason[] = [];
    const next = { run, iteration, position, reply: null, transitions, compacted, ended: null, after };
    found.push(next);
    compacted = false;
    return next;
  };
  for (const item of items) {
    const { entry } = item;
    if (entry.kind === 'run_started') after = entry.at;
    if (entry.kind === 'boundary') {
      const current = found.at(-1);
      if (current?.reply === null) current.compacted = true;
      else compacted = true;
    }
    if (entry.kind === 'transition') {
      const one = at(item, entry.iteration);
      one.transitions = [...one.transitions, entry.reason];
    }
    if (isReply(item)) {
      // A second reply of an iteration sums up the run (L51).
      at(item, item.entry.iteration).reply ??= item;
      after = item.entry.at;
    }
    const last = found.at(-1);
    if (entry.kind === 'run_ended' && last?.run === entry.ended.run) last.ended = entry.ended;
  }
  return found;
}

type Numbers = Pick<Iteration, 'run' | 'iteration'>;

/** Names an iteration, such as 2.17. */
export const iterationName = ({ run, iteration }: Numbers): string => `${run}.${iteration}`;

export type StepsByName = ReadonlyMap<string, readonly Step[]>;

/**
 * Groups steps by the names of their iterations and leaves out steps without one, the opening and
 * the end of a run. If calls ended without a step of their own, their iteration lasts until the
 * step that records them.
 */
export function stepsByIteration(steps: readonly Step[]): StepsByName {
  const found = new Map<string, Step[]>();
  const add = (name: string, step: Step): Map<string, Step[]> => found.set(name, [...(found.get(name) ?? []), step]);
  let last: string | null = null;
  // A step that comes to nothing leaves its records to the next one.
  const known = new Set<number>();
  for (const step of steps) {
    const ends = step.endsCalls.some((each) => !known.has(each));
    for (const each of step.endsCalls) known.add(each);
    if (ends && last !== null) add(last, callsEnd(step));
    if (step.iteration === null) continue;
    last = iterationName({ run: step.run, iteration: step.iteration });
    add(last, step);
  }
  return found;
}

/** Makes a step without duration for calls that ended. */
function callsEnd({ run, iteration, askedAt }: Step): Step {
  const none = { attempt: 1, worker: null, failure: null, decided: false, endsCalls: [] } as const;
  return { name: 'runTool', run, iteration, askedAt, beganAt: askedAt, endedAt: askedAt, delegated: true, ...none };
}

/**
 * Adds iterations between the shown ones that stored nothing because they failed or still go on,
 * and with `newest` those after them too.
 */
export function withUnstored(visible: readonly Iteration[], steps: StepsByName, newest: boolean): readonly Iteration[] {
  const [first, last] = [visible[0], visible.at(-1)];
  const known = new Set(visible.map(iterationName));
  const more = [...steps].flatMap(([name, [step]]) => {
    if (known.has(name) || step?.iteration == null) return [];
    const { run, iteration, askedAt: after } = step;
    const one = { run, iteration, position: null, reply: null, transitions: [], compacted: false, ended: null, after };
    const isAmong = (!first || isBefore(first, one)) && (newest || (last !== undefined && isBefore(one, last)));
    return isAmong ? [one] : [];
  });
  return [...visible, ...more].sort((one, other) => (isBefore(one, other) ? -1 : 1));
}

const isBefore = (one: Numbers, other: Numbers): boolean =>
  one.run === other.run ? one.iteration < other.iteration : one.run < other.run;
