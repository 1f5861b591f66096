// Finds closed old stretches that may be shown short one day (L9): whole rounds or trajectories,
// old enough, without a prompt of the run that goes on, and not staged or short already.
import type { Bodies } from '../../store/log/bodies.ts';
import type { Entry } from '../../store/log/entries.ts';
import { type Block, groupBlocks, type BlockItem, findRunStarts } from './blocks.ts';
import { inView } from '../../store/view/in-view.ts';

/** The share of what is in view that is too new. */
const NEWEST = 0.3;
/**
 * Shares of the window: a stretch is at least the first, grows no more when it has reached the
 * second, and past the third only when one round does.
 */
const LEAST = 0.05;
const ENOUGH = 0.12;
const MOST_OF_WINDOW = 0.2;

/** `to` is exclusive. */
export type OldStretch = {
  readonly from: number;
  readonly to: number;
  readonly items: readonly BlockItem[];
  readonly characters: number;
};

type OldStretches = { readonly stretches: readonly OldStretch[]; readonly shrunkBefore: number };

/** Finds the stretches, oldest first, at most `most`. `window` is in characters. */
export function findOldStretches(
  entries: readonly Entry[],
  bodies: Bodies,
  window: number,
  most: number,
): OldStretches {
  const { shown, marks } = inView(entries);
  const { shrunkBefore, staged } = marks;
  const runStarts = findRunStarts(entries);
  const blocks = groupBlocks({ shown, shrunkBefore, bodies }, runStarts);
  const old = blocks.slice(0, findFirstNew(blocks));
  const run = runStarts.at(-1) ?? 0;
  const free = old.map((block): OldStretch | null => {
    if (!mayShrink(block, run, marks.boundary?.from ?? 0)) return null;
    const { items, characters, from } = block;
    const stretch = { from, to: endPosition(items), items, characters };
    return staged.some((each) => each.from < stretch.to && stretch.from < each.to) ? null : stretch;
  });
  return { stretches: groupStretches(free, window).slice(0, most), shrunkBefore };
}

/** Returns the index of the first block that is too new. */
function findFirstNew(blocks: readonly Block[]): number {
  const total = blocks.reduce((sum, { characters }) => sum + characters, 0);
  let newer = 0;
  let at = blocks.length;
  while (at > 0 && newer < total * NEWEST) newer += blocks[(at -= 1)]?.characters ?? 0;
  return at;
}

/**
 * Tells whether a block may be shortened. A person's words in this run stay as they are; so do
 * short forms.
 */
function mayShrink({ items, kind, open, from }: Block, run: number, begin: number): boolean {
  if (open || from < begin) return false;
  const asIs = items.some(
    ({ shown }) =>
      shown.kind !== 'entry' || (shown.entry.kind === 'user' && (shown.position >= run || shown.position < begin)),
  );
  return !asIs && (kind !== 'said' || from < run);
}

function endPosition(items: readonly BlockItem[]): number {
  return Math.max(...items.map(({ shown }) => shown.position)) + 1;
}

/** Joins neighbours. Null stands for a block that stays between. */
function groupStretches(blocks: readonly (OldStretch | null)[], window: number): OldStretch[] {
  const made: OldStretch[] = [];
  let group: OldStretch | null = null;
  for (const block of [...blocks, null]) {
    const next: OldStretch | null = group && block ? joinStretches(group, block) : block;
    if (group && (!next || (next.characters > window * MOST_OF_WINDOW && group.characters >= window * LEAST))) {
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

function joinStretches(a: OldStretch, b: OldStretch): OldStretch {
  return { from: a.from, to: b.to, items: [...a.items, ...b.items], characters: a.characters + b.characters };
}
