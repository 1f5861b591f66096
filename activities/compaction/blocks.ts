// Groups the entries in view into blocks that compaction and collapse take whole or leave (L10,
// L59): a reply with its outcomes, a whole trajectory if it holds signed thinking, each message
// between replies.
// Renders a part of the conversation as one text that the small model can read.
import type { Bodies } from '../../store/log/bodies.ts';
import type { Entry, ReplyEntry } from '../../store/log/entries.ts';
import { hasCalls, hasThinking } from '../../store/transcript/marks.ts';
import type { ShownPart } from '../../store/view/in-view.ts';
import { isShrunk, outcomeCharacters, shrunkMarker } from '../../store/view/microcompact.ts';
import { wordsOf } from '../../store/view/project.ts';
import { renderShown } from '../../store/view/render-entries.ts';
import { isThinking } from '../../store/view/sent-reply.ts';

/** `reply` is the position of the reply that the entry belongs to, -1 before the first. */
export type BlockItem = { readonly part: ShownPart; readonly reply: number };

export type Block = {
  readonly kind: 'round' | 'trajectory' | 'said';
  readonly items: readonly BlockItem[];
  /** The position of its first item. */
  readonly from: number;
  /** The estimated size of what is sent of the block. */
  readonly characters: number;
  /** Its last reply made calls, and no reply of the same run came after. */
  readonly open: boolean;
};

type Draft = { items: BlockItem[]; replies: Extract<Entry, { kind: 'reply' }>[]; signed: boolean };

/**
 * `plain`: no thinking is sent of what is before a boundary, so that a boundary may stand between
 * any two rounds.
 */
type BlockSource = {
  readonly parts: readonly ShownPart[];
  readonly shrunkBefore: number;
  readonly bodies: Bodies;
  readonly plain?: boolean | undefined;
};

/**
 * Groups entries into blocks, oldest first. `runStarts` are the positions of `run_started` entries,
 * which end a trajectory.
 */
export function groupBlocks(source: BlockSource, runStarts: readonly number[]): Block[] {
  const rounds = groupUnits(source.parts);
  const units = source.plain ? rounds : joinTrajectories(rounds, runStarts);
  const lastReply = units.findLastIndex(({ replies }) => replies.length > 0);
  return units.map(({ items, replies, signed }, at) => {
    const from = items[0]?.part.position ?? 0;
    const last = replies.at(-1);
    const going = at === lastReply && last !== undefined && hasCalls(last) && !runStarts.some((start) => start > from);
    const characters = items.reduce((sum, item) => sum + measureItem(item, source), 0);
    const kind = signed ? 'trajectory' : replies.length > 0 ? 'round' : 'said';
    return { kind, items, from, characters, open: going };
  });
}

function groupUnits(parts: readonly ShownPart[]): Draft[] {
  const units: Draft[] = [];
  let round = -1;
  let reply = -1;
  for (const each of parts) {
    const kind = each.kind === 'entry' ? each.entry.kind : each.kind;
    if (each.kind === 'entry' && each.entry.kind === 'reply') {
      reply = each.position;
      round = units.push({ items: [{ part: each, reply }], replies: [each.entry], signed: false }) - 1;
    } else if (kind === 'outcomes' && round >= 0) {
      // An outcome is stored after something was said: what was said belongs to the round too.
      const since = units.splice(round + 1).flatMap(({ items }) => items);
      units[round]?.items.push(...since, { part: each, reply });
    } else if (kind === 'notice' && units.length > 0 && round === units.length - 1) {
      units.at(-1)?.items.push({ part: each, reply });
    } else {
      units.push({ items: [{ part: each, reply }], replies: [], signed: false });
    }
  }
  return units;
}

/**
 * Joins the units of each trajectory that has thinking in it: from its first reply to its last, and
 * what was said between.
 */
function joinTrajectories(units: readonly Draft[], runStarts: readonly number[]): Draft[] {
  const joined: Draft[] = [];
  for (let at = 0; at < units.length; at += 1) {
    const unit = units[at] as Draft;
    const end = unit.replies.length === 0 ? at : findTrajectoryEnd(units, at, runStarts);
    const whole = units.slice(at, end + 1);
    const replies = whole.flatMap((each) => each.replies);
    if (replies.some(hasThinking)) {
      joined.push({ items: whole.flatMap(({ items }) => items), replies, signed: true });
    } else {
      joined.push(...whole);
    }
    at = end;
  }
  return joined;
}

/** Finds the unit of the last reply of the trajectory that begins at `first`. */
function findTrajectoryEnd(units: readonly Draft[], first: number, runStarts: readonly number[]): number {
  let last = first;
  for (let at = first; at < units.length; at += 1) {
    const { items, replies } = units[at] as Draft;
    if (replies.length === 0) continue;
    const [from, to] = [units[last]?.items[0]?.part.position ?? 0, items[0]?.part.position ?? 0];
    if (at > first && runStarts.some((start) => start > from && start < to)) break;
    last = at;
    if (!replies.some(hasCalls)) break;
  }
  return last;
}

function measureItem({ part, reply }: BlockItem, { shrunkBefore, bodies, plain }: BlockSource): number {
  if (part.kind !== 'entry') return wordsOf(part, bodies).length;
  const { entry, position } = part;
  if (entry.kind === 'reply') return JSON.stringify(plain ? stripThinking(entry) : entry.message.content).length;
  const media = entry.kind === 'user' && part.cut === undefined && !part.bare ? (entry.body.media ?? []) : [];
  if (entry.kind !== 'outcomes')
    return media.reduce((sum, { characters }) => sum + characters, wordsOf(part, bodies).length);
  const sizes = entry.outcomes.map((outcome) =>
    reply < shrunkBefore && isShrunk(outcome)
      ? shrunkMarker(outcome, position).length
      : outcomeCharacters(outcome, part.bare),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

function stripThinking({ message }: ReplyEntry): ReplyEntry['message']['content'] {
  return message.content.filter((block) => !isThinking(block));
}

export function findRunStarts(entries: readonly Entry[]): number[] {
  return entries.flatMap((entry, position) => (entry.kind === 'run_started' ? [position] : []));
}

/** Characters that one result, input or text keeps at each step. */
const STEPS = [20_000, 4_000, 1_000, 300];
const GAP = '\n\n';

/**
 * Renders a part of the conversation as one text that the small model can read: at most `limit`
 * characters, shortened oldest first until it fits.
 */
export function fitText(items: readonly BlockItem[], shrunkBefore: number, bodies: Bodies, limit: number): string {
  const render = ({ part, reply }: BlockItem, most: number): string =>
    renderShown(part, reply, bodies, { most, shrunkBefore });
  const texts = items.map((item) => render(item, Infinity));
  let total = texts.reduce((sum, text) => sum + text.length + GAP.length, 0);
  for (const most of STEPS) {
    for (const [at, item] of items.entries()) {
      if (total <= limit) return joinTexts(texts);
      const text = texts[at] as string;
      if (text.length <= most) continue;
      const shorter = render(item, most);
      total += shorter.length - text.length;
      texts[at] = shorter;
    }
  }
  return removeMiddle(joinTexts(texts), limit);
}

function joinTexts(texts: readonly string[]): string {
  return texts.filter((text) => text !== '').join(GAP);
}

function removeMiddle(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const note = '\n\n[… a part of the conversation is left out here …]\n\n';
  const room = Math.max(0, limit - note.length);
  const head = Math.floor(room * 0.3);
  return `${text.slice(0, head)}${note}${text.slice(text.length - (room - head))}`;
}
