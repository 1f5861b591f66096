// The iterations of a session, as its transcript has them: one for each pass of the loop, with what was written in it. Pure.
import { isReply, type Item, type ReplyItem } from '../transcript/items.ts';
import type { RunEnded } from '../../../workflows/contract/activities.ts';
import type { TransitionReason } from '../../../workflows/contract/loop.ts';

export type Iteration = {
  readonly run: number;
  readonly iteration: number;
  /** Of the first entry of it; null while nothing of it is stored. */
  readonly position: number | null;
  readonly reply: ReplyItem | null;
  /** Why the loop came to it. */
  readonly transitions: readonly TransitionReason[];
  /** The context was compacted before its reply. */
  readonly compacted: boolean;
  /** It was the run's last. */
  readonly ended: RunEnded | null;
  /** Milliseconds since the epoch: the last moment that is known before it. */
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
      const begun = found.at(-1);
      if (begun?.reply === null) begun.compacted = true;
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

/** The address of its part of the transcript. */
export function linkOf(session: string, { run, iteration, position, reply }: Iteration): string {
  const path = `/sessions/${session}`;
  if (reply) return `${path}?at=${run}.${iteration}#it-${reply.anchor}`;
  return position === null ? path : `${path}?at=e${position}#e${position}`;
}

/** Its element on the timeline. */
export const rowId = ({ run, iteration }: Pick<Iteration, 'run' | 'iteration'>): string => `t-${run}-${iteration}`;
