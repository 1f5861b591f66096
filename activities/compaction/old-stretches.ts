// Closed old stretches that may be shown short one day (L9): whole rounds or trajectories, old enough, without a prompt of the
// run that goes on, and not staged or short already.
import type { Entry } from '../transcript/log/entries.ts';
import { inView } from '../transcript/view/in-view.ts';
import type { Bodies } from '../transcript/view/project.ts';
import { type Block, blocksOf, type Item, runStartsOf } from './blocks.ts';

/** Share of what is in view that is too new. */
const NEWEST = 0.3;
/** Shares of the window: a stretch is at least the first, grows no more when it has reached the second, and past the third only when one round does. */
const LEAST = 0.05;
const ENOUGH = 0.12;
const MOST = 0.2;

/** `to` is not included. */
export type OldStretch = {
  readonly from: number;
  readonly to: number;
  readonly items: readonly Item[];
  readonly characters: number;
};

export type OldStretches = { readonly stretches: readonly OldStretch[]; readonly shrunkBefore: number };

/** Oldest first, at most `most`. `window` in characters. */
export function oldStretches(entries: readonly Entry[], bodies: Bodies, window: number, most: number): OldStretches {
  const { shown, marks } = inView(entries);
  const { shrunkBefore, staged } = marks;
  const runStarts = runStartsOf(entries);
  const blocks = blocksOf({ shown, shrunkBefore, bodies }, runStarts);
  const old = blocks.slice(0, firstNew(blocks));
  const run = runStarts.at(-1) ?? 0;
  const free = old.map((block): OldStretch | null => {
    if (!mayShrink(block, run, marks.boundary?.from ?? 0)) return null;
    const { items, characters, from } = block;
    const stretch = { from, to: endOf(items), items, characters };
    return staged.some((each) => each.from < stretch.to && stretch.from < each.to) ? null : stretch;
  });
  return { stretches: grouped(free, window).slice(0, most), shrunkBefore };
}

/** Index of the first block that is too new. */
function firstNew(blocks: readonly Block[]): number {
  const total = blocks.reduce((sum, { characters }) => sum + characters, 0);
  let newer = 0;
  let at = blocks.length;
  while (at > 0 && newer < total * NEWEST) newer += blocks[(at -= 1)]?.characters ?? 0;
  return at;
}

/** What a person said in this run stays as it is; so does what stands for something else already. */
function mayShrink({ items, kind, open, from }: Block, run: number, begin: number): boolean {
  if (open || from < begin) return false;
  const asIs = items.some(
    ({ shown }) =>
      shown.kind !== 'entry' || (shown.entry.kind === 'user' && (shown.position >= run || shown.position < begin)),
  );
  return !asIs && (kind !== 'said' || from < run);
}

function endOf(items: readonly Item[]): number {
  return Math.max(...items.map(({ shown }) => shown.position)) + 1;
}

/** Neighbours together. Null: something that stays stands between. */
function grouped(blocks: readonly (OldStretch | null)[], window: number): OldStretch[] {
  const made: OldStretch[] = [];
  let group: OldStretch | null = null;
  for (const block of [...blocks, null]) {
    const next: OldStretch | null = group && block ? joined(group, block) : block;
    if (group && (!next || (next.characters > window * MOST && group.characters >= window * LEAST))) {
      if (group.characters >= window * LEAST) made.push(group);
      group = block;
    } else {
      group = next;
    }
    if (group && group.characters >= window * ENOUGH) {
      made.push(group);
      group = null;
    }
  }
  return made;
}

function joined(a: OldStretch, b: OldStretch): OldStretch {
  return { from: a.from, to: b.to, items: [...a.items, ...b.items], characters: a.characters + b.characters };
}
