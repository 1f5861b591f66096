// Chooses what a compaction keeps and what it summarises (L10). It keeps the prompts of the run and
// the newest rounds that fit. A model that checks what stood before its thinking gets them without
// that thinking; for others, a trajectory with thinking is never split (L59).
import type { Entry } from '../../store/log/entries.ts';
import { inView } from '../../store/view/in-view.ts';
import type { Bodies } from '../../store/log/bodies.ts';
import { prepareReply } from '../../store/view/sent-reply.ts';
import { type Block, groupBlocks, type BlockItem, findRunStarts } from './blocks.ts';
import type { CompactionTrigger } from '../../workflows/contract/activities.ts';
import { bodyCharacters } from '../../workflows/contract/people.ts';

/** Shares of the window. */
type Shares = {
  readonly recent: number;
  /** The newest round stays when it alone is not larger: the model has not answered it yet. */
  readonly newest: number;
  /** The open trajectory stays whole up to this share, and is else summarised whole. */
  readonly open: number;
};

const SHARES: Readonly<Record<CompactionTrigger, Shares>> = {
  auto: { recent: 0.2, newest: 0.4, open: 0.4 },
  reactive: { recent: 0.05, newest: 0.2, open: 0.1 },
  // A person who asks for a summary means all that was said.
  manual: { recent: 0, newest: 0, open: 0 },
};
const PROMPTS_SHARE = 0.25;

export type KeptPart = {
  /**
   * The entries to summarise, oldest first; the prompts that stay are among them, for their words.
   */
  readonly old: readonly BlockItem[];
  readonly from: number;
  readonly prompts: readonly number[];
  readonly shrunkBefore: number;
};

/**
 * `characters` is the size of the window. `plain`: no thinking is kept, and a trajectory may be cut
 * between two rounds. `fromReply`: the kept part begins with a reply, so that the summarised part
 * is what the model was sent when it made that reply.
 */
type KeepOptions = {
  readonly characters: number;
  readonly trigger: CompactionTrigger;
  readonly plain?: boolean | undefined;
  readonly fromReply?: boolean | undefined;
};

/** Chooses the kept entries; null when nothing is left to summarise. */
export function chooseKept(
  entries: readonly Entry[],
  bodies: Bodies,
  { characters: fitting, trigger, plain, fromReply }: KeepOptions,
): KeptPart | null {
  const { shown: parts, marks } = inView(entries);
  const runStarts = findRunStarts(entries);
  const { shrunkBefore } = marks;
  const blocks = groupBlocks({ parts, shrunkBefore, bodies, plain }, runStarts);
  // A request that the API refused holds more than its window, whatever we believe.
  const there = blocks.reduce((sum, block) => sum + block.characters, 0);
  const characters = trigger === 'reactive' ? Math.min(fitting, there) : fitting;
  const fits = findFirstKept(blocks, SHARES[trigger], characters, marks.boundary?.from ?? 0);
  const first = fromReply ? blocks.findIndex((block, at) => at >= fits && isReply(block)) : fits;
  if (first < 0) return null;
  const from = blocks[first]?.from ?? entries.length;
  const older = blocks.slice(0, first);
  const prompts = choosePrompts(older, runStarts.at(-1) ?? -1, characters * PROMPTS_SHARE);
  const old = older.flatMap(({ items }) => items);
  const news = old.filter(({ part: { kind, position } }) => !isOfBoundary(kind) && !prompts.includes(position));
  return news.length === 0 ? null : { old, from, prompts, shrunkBefore };
}

/** Tells whether a block is a reply of which something is sent. */
function isReply({ items }: Block): boolean {
  const part = items[0]?.part;
  return part?.kind === 'entry' && part.entry.kind === 'reply' && prepareReply(part.entry, new Set()).blocks.length > 0;
}

/** Tells whether a kind belongs to a boundary: it is said anew at the next one. */
function isOfBoundary(kind: BlockItem['part']['kind']): boolean {
  return kind === 'summary' || kind === 'carried';
}

/**
 * Returns the index of the oldest block that stays; entries before the last boundary never stay by
 * themselves.
 */
function findFirstKept(blocks: readonly Block[], shares: Shares, characters: number, begin: number): number {
  let total = 0;
  let replies = 0;
  for (let at = blocks.length - 1; at >= 0; at -= 1) {
    const block = blocks[at] as Block;
    if (block.from < begin || isOfBoundary(block.items[0]?.part.kind ?? 'entry')) return at + 1;
    total += block.characters;
    const unanswered = block.kind === 'said' && replies === 0;
    if (!unanswered && total > characters * shareFor(block, shares, replies)) return at + 1;
    if (block.kind !== 'said') replies += 1;
  }
  return 0;
}

function shareFor({ kind, open }: Block, shares: Shares, replies: number): number {
  if (replies > 0) return shares.recent;
  if (kind === 'trajectory') return open ? shares.open : shares.recent;
  return shares.newest;
}

/** Returns the first prompt, whatever its size, and the newest of the others that fit. */
function choosePrompts(blocks: readonly Block[], runStart: number, most: number): number[] {
  const sizes = blocks
    .flatMap(({ items }) => items)
    .flatMap(({ part }) => {
      if (part.kind !== 'entry' || part.entry.kind !== 'user' || part.position < runStart) return [];
      const { body } = part.entry;
      return [{ position: part.position, characters: bodyCharacters(body) }];
    });
  const [first, ...others] = sizes;
  if (!first) return [];
  let total = first.characters;
  const newest = others.toReversed();
  const over = newest.findIndex(({ characters }) => (total += characters) > most);
  const fitting = over < 0 ? newest : newest.slice(0, over);
  return [first, ...fitting].map(({ position }) => position).toSorted((a, b) => a - b);
}
