// What a compaction keeps as it is and what it summarises (L10): the prompts of the run, the newest rounds that fit, and never a
// part of a trajectory with signed thinking (L59).
import type { Entry } from '../transcript/log/entries.ts';
import { inView } from '../transcript/view/in-view.ts';
import type { Bodies } from '../transcript/view/project.ts';
import { type Block, blocksOf, type Item, runStartsOf } from './blocks.ts';

/** Shares of the window. */
type Shares = {
  readonly recent: number;
  /** The newest round stays when it alone is not larger: the model has not answered it yet. */
  readonly newest: number;
  /** The open trajectory stays whole up to here, and is else summarised whole. */
  readonly open: number;
};

const SHARES: Readonly<Record<'auto' | 'reactive', Shares>> = {
  auto: { recent: 0.2, newest: 0.4, open: 0.4 },
  reactive: { recent: 0.05, newest: 0.2, open: 0.1 },
};
const PROMPTS_SHARE = 0.25;

export type Kept = {
  /** What is summarised, oldest first; the prompts that stay are among it, for what they say. */
  readonly old: readonly Item[];
  readonly from: number;
  readonly prompts: readonly number[];
  readonly shrunkBefore: number;
};

/** `characters`: of the window. Null when nothing is there to be summarised. */
export function chooseKept(
  entries: readonly Entry[],
  bodies: Bodies,
  { characters: fitting, trigger }: { readonly characters: number; readonly trigger: 'auto' | 'reactive' },
): Kept | null {
  const { shown, marks } = inView(entries);
  const runStarts = runStartsOf(entries);
  const { shrunkBefore } = marks;
  const blocks = blocksOf({ shown, shrunkBefore, bodies }, runStarts);
  // What the API has refused is more than its window holds, whatever we believe of that.
  const there = blocks.reduce((sum, block) => sum + block.characters, 0);
  const characters = trigger === 'reactive' ? Math.min(fitting, there) : fitting;
  const first = firstKept(blocks, SHARES[trigger], characters, marks.boundary?.from ?? 0);
  const from = blocks[first]?.from ?? entries.length;
  const older = blocks.slice(0, first);
  const prompts = promptsOf(older, runStarts.at(-1) ?? -1, characters * PROMPTS_SHARE);
  const old = older.flatMap(({ items }) => items);
  const news = old.filter(({ shown: { kind, position } }) => kind !== 'summary' && !prompts.includes(position));
  return news.length === 0 ? null : { old, from, prompts, shrunkBefore };
}

/** Index of the oldest block that stays; what was before the last boundary never does by itself. */
function firstKept(blocks: readonly Block[], shares: Shares, characters: number, begin: number): number {
  let total = 0;
  let replies = 0;
  for (let at = blocks.length - 1; at >= 0; at -= 1) {
    const block = blocks[at] as Block;
    if (block.from < begin || block.items[0]?.shown.kind === 'summary') return at + 1;
    total += block.characters;
    const unanswered = block.kind === 'said' && replies === 0;
    if (!unanswered && total > characters * share(block, shares, replies)) return at + 1;
    if (block.kind !== 'said') replies += 1;
  }
  return 0;
}

function share({ kind, open }: Block, shares: Shares, replies: number): number {
  if (replies > 0) return shares.recent;
  if (kind === 'trajectory') return open ? shares.open : shares.recent;
  return shares.newest;
}

/** The first, whatever its size, and of the others the newest that fit. */
function promptsOf(blocks: readonly Block[], runStart: number, most: number): number[] {
  const said = blocks
    .flatMap(({ items }) => items)
    .flatMap(({ shown }) => {
      if (shown.kind !== 'entry' || shown.entry.kind !== 'user' || shown.position < runStart) return [];
      const { body } = shown.entry;
      return [{ position: shown.position, characters: body.kind === 'text' ? body.text.length : body.bytes }];
    });
  const [first, ...others] = said;
  if (!first) return [];
  let total = first.characters;
  const newest = others.toReversed();
  const over = newest.findIndex(({ characters }) => (total += characters) > most);
  const fitting = over < 0 ? newest : newest.slice(0, over);
  return [first, ...fitting].map(({ position }) => position).toSorted((a, b) => a - b);
}
