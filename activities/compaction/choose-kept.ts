// Chooses what a compaction keeps and what it summarises (L10). It keeps the prompts of the run and
// the newest rounds that fit: of a model that checks what stood before its thinking without that
// thinking, of others never a part of a trajectory with it (L59).
import type { Entry } from '../../store/log/entries.ts';
import { inView } from '../../store/view/in-view.ts';
import type { Bodies } from '../../store/log/bodies.ts';
import { countRequestCharacters } from '../../store/transcript/request-size.ts';
import { project } from '../../store/view/project.ts';
import { prepareReply } from '../../store/view/sent-reply.ts';
import { type Block, blocksOf, type Item, runStartsOf } from './blocks.ts';
import type { CompactionTrigger } from '../../workflows/contract/activities.ts';
import type { RunConfig, RunModel } from '../../store/configuration.ts';
import { totalTokens } from '../../workflows/contract/loop.ts';
import { bodyCharacters } from '../../workflows/contract/people.ts';
import { CHARACTERS_PER_TOKEN, estimateTokens } from '../../workflows/contract/tokens.ts';
import { isDamage } from '../../store/values/store.ts';
import type { Transcripts } from '../../store/transcript/transcripts.ts';

/** Shares of the window. */
type Shares = {
  readonly recent: number;
  /** The newest round stays when it alone is not larger: the model has not answered it yet. */
  readonly newest: number;
  /** The open trajectory stays whole up to here, and is else summarised whole. */
  readonly open: number;
};

const SHARES: Readonly<Record<CompactionTrigger, Shares>> = {
  auto: { recent: 0.2, newest: 0.4, open: 0.4 },
  reactive: { recent: 0.05, newest: 0.2, open: 0.1 },
  // A person who asks for a summary means all that was said.
  manual: { recent: 0, newest: 0, open: 0 },
};
const PROMPTS_SHARE = 0.25;

export type Kept = {
  /**
   * The entries to summarise, oldest first; the prompts that stay are among them, for their words.
   */
  readonly old: readonly Item[];
  readonly from: number;
  readonly prompts: readonly number[];
  readonly shrunkBefore: number;
};

/**
 * `characters`: of the window. `plain`: no thinking is kept, and a trajectory may be cut between
 * two rounds. `fromReply`: what is kept begins with a reply, so that what is summarised is what the
 * model was sent when it made that.
 */
type Keeping = {
  readonly characters: number;
  readonly trigger: CompactionTrigger;
  readonly plain?: boolean | undefined;
  readonly fromReply?: boolean | undefined;
};

/** Null when nothing is there to be summarised. */
export function chooseKept(
  entries: readonly Entry[],
  bodies: Bodies,
  { characters: fitting, trigger, plain, fromReply }: Keeping,
): Kept | null {
  const { shown, marks } = inView(entries);
  const runStarts = runStartsOf(entries);
  const { shrunkBefore } = marks;
  const blocks = blocksOf({ shown, shrunkBefore, bodies, plain }, runStarts);
  // A request that the API refused is more than its window holds, whatever we believe.
  const there = blocks.reduce((sum, block) => sum + block.characters, 0);
  const characters = trigger === 'reactive' ? Math.min(fitting, there) : fitting;
  const fits = firstKept(blocks, SHARES[trigger], characters, marks.boundary?.from ?? 0);
  const first = fromReply ? blocks.findIndex((block, at) => at >= fits && isReply(block)) : fits;
  if (first < 0) return null;
  const from = blocks[first]?.from ?? entries.length;
  const older = blocks.slice(0, first);
  const prompts = promptsOf(older, runStarts.at(-1) ?? -1, characters * PROMPTS_SHARE);
  const old = older.flatMap(({ items }) => items);
  const news = old.filter(({ shown: { kind, position } }) => !isOfBoundary(kind) && !prompts.includes(position));
  return news.length === 0 ? null : { old, from, prompts, shrunkBefore };
}

/** One of which something is sent. */
function isReply({ items }: Block): boolean {
  const shown = items[0]?.shown;
  return (
    shown?.kind === 'entry' && shown.entry.kind === 'reply' && prepareReply(shown.entry, new Set()).blocks.length > 0
  );
}

/** It is said anew at the next one. */
function isOfBoundary(kind: Item['shown']['kind']): boolean {
  return kind === 'summary' || kind === 'carried';
}

/** Index of the oldest block that stays; what was before the last boundary never does by itself. */
function firstKept(blocks: readonly Block[], shares: Shares, characters: number, begin: number): number {
  let total = 0;
  let replies = 0;
  for (let at = blocks.length - 1; at >= 0; at -= 1) {
    const block = blocks[at] as Block;
    if (block.from < begin || isOfBoundary(block.items[0]?.shown.kind ?? 'entry')) return at + 1;
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
      return [{ position: shown.position, characters: bodyCharacters(body) }];
    });
  const [first, ...others] = said;
  if (!first) return [];
  let total = first.characters;
  const newest = others.toReversed();
  const over = newest.findIndex(({ characters }) => (total += characters) > most);
  const fitting = over < 0 ? newest : newest.slice(0, over);
  return [first, ...fitting].map(({ position }) => position).toSorted((a, b) => a - b);
}

// How many tokens a view comes to, as the model's own API counts them. Four characters to a token
// is far off for some languages and for thinking: the count of the last reply, set against the
// estimate of the same view, says by how much.

export type Scale = {
  /** In a model's window. */
  readonly charactersPerToken: number;
  /** Tokens of a whole request with these entries. */
  tokens(entries: readonly Entry[], bodies: Bodies): number;
};

/**
 * Estimates stand where nothing was counted, and are never lowered: a proxy may not count what it
 * has cached.
 */
export async function scaleOf(
  transcripts: Pick<Transcripts, 'bodies'>,
  entries: readonly Entry[],
  model: RunModel,
  { rules: { fixedTokens } }: Pick<RunConfig, 'rules'>,
): Promise<Scale> {
  const estimate = (shown: readonly Entry[], bodies: Bodies): number => {
    const messages = project(shown, bodies, { model });
    return fixedTokens + estimateTokens(countRequestCharacters(messages));
  };
  const last = entries.findLastIndex((entry) => entry.kind === 'reply' && totalTokens(entry.spend.usage) > 0);
  const counted = entries[last];
  const then = entries.slice(0, last + 1);
  const bodies = counted?.kind === 'reply' ? await bodiesThen(transcripts, then) : null;
  const ratio =
    counted?.kind === 'reply' && bodies ? totalTokens(counted.spend.usage) / Math.max(1, estimate(then, bodies)) : 1;
  const factor = Math.max(1, ratio);
  return {
    charactersPerToken: CHARACTERS_PER_TOKEN / factor,
    tokens: (shown, seen) => Math.ceil(estimate(shown, seen) * factor),
  };
}

/** An entry that has gone out of sight since need not be whole: null, and the estimates stand. */
async function bodiesThen({ bodies }: Pick<Transcripts, 'bodies'>, entries: readonly Entry[]): Promise<Bodies | null> {
  try {
    return await bodies(entries);
  } catch (error) {
    if (isDamage(error)) return null;
    throw error;
  }
}
