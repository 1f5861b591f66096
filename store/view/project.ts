// Projects the entries of a transcript onto the messages of a request. It is pure. For any entries
// the request has a shape that the API accepts (L58): roles alternate from user to user, and one
// outcome follows every call (L39).
import type {
  ContentBlock,
  ContentBlockParam,
  MessageParam,
  ToolResultBlockParam,
} from '@anthropic-ai/sdk/resources/messages';
import type { MessageBody, MessageMedium } from '../../workflows/contract/people.ts';
import { previewText } from '../transcript/preview.ts';
import { buildMediumBlock } from '../transcript/request-size.ts';
import { SentIds } from '../transcript/call-ids.ts';
import { nameToSend } from '../transcript/tool-names.ts';
import type { SentNames } from '../configuration.ts';
import type { Telling } from '../transcript/preamble.ts';
import { serverBlockText } from '../transcript/server-tools.ts';
import { foreignWords, isChange, isSystemMessage, systemBlocks, chooseTelling } from '../transcript/system-message.ts';
import { type Bodies, mediaNote } from '../log/bodies.ts';
import { type Entry, type Outcome, type ReplyEntry, entryName } from '../log/entries.ts';
import { inView, type InView, type ShownPart } from './in-view.ts';
import { BARE, GO_ON, goalText, NO_OUTCOME, NO_OUTPUT, noticeForModel, shortForm, summaryText } from './notices.ts';
import {
  isFrom,
  listOpenServerCalls,
  type ReplyMemo,
  prepareReply,
  type SentReply,
  listAnsweredServerCalls,
} from './sent-reply.ts';
import { isShrunk, shrunkMarker } from './microcompact.ts';
import { isBlank, wellFormedText } from '../../system/text.ts';

/** Saves work from turn to turn, because entries never change. */
type ProjectMemo = {
  readonly replies: ReplyMemo;
  readonly results: WeakMap<Outcome, string>;
  readonly texts: WeakMap<Entry, readonly ContentBlockParam[]>;
  /** The blocks of messages that are shown in part. */
  readonly cuts: WeakMap<Entry, readonly ContentBlockParam[]>;
  /** By the list of what is shown: its first rounds, as they were last projected. */
  readonly rounds: WeakMap<readonly ShownPart[], Projected>;
};

/**
 * Rounds that are over, as messages. The next request of the same model begins with them, message
 * for message the same objects.
 */
type Projected = {
  /** The settings that decide how they are sent. */
  readonly how: readonly unknown[];
  /** The number of parts that they are made of. */
  readonly parts: number;
  readonly messages: readonly DraftMessage[];
  /** The ids of their calls. */
  readonly ids: ReadonlySet<string>;
};

/** To remember one round more costs a copy of all, so it is done for some at once. */
const PARTS_AT_ONCE = 32;

/** A model as a run knows it. */
export type CalledModel = {
  readonly name: string;
  readonly checksPrefix?: boolean;
  /** The model takes the summaries that the API has signed. */
  readonly compaction?: boolean;
  /** The model takes messages of the role system between others, and tools from them. */
  readonly systemMessages?: boolean;
  readonly toolChanges?: 'inline' | 'references';
  /** Its API searches the web, and takes back what it found. */
  readonly webSearch?: boolean;
  /** Present when the model is known to be one of Claude's. */
  readonly thinking?: object;
};

export type ProjectOptions = {
  /**
   * The model that is called, which decides what thinking is sent (L19, L59). Absent: all of it is.
   */
  readonly model?: CalledModel | undefined;
  /** Give the same memo each time. */
  readonly memo?: ProjectMemo | undefined;
};

export function createMemo(): ProjectMemo {
  return {
    replies: new WeakMap(),
    results: new WeakMap(),
    texts: new WeakMap(),
    cuts: new WeakMap(),
    rounds: new WeakMap(),
  };
}

export function project(entries: readonly Entry[], bodies: Bodies, options: ProjectOptions = {}): MessageParam[] {
  return projectView(inView(entries), bodies, options);
}

export function projectView(view: InView, bodies: Bodies, options: ProjectOptions = {}): MessageParam[] {
  return [...openProjection(view, options).finish(bodies).messages];
}

export type Projection = {
  /** The parts whose stored texts are needed. */
  readonly parts: readonly ShownPart[];
  finish(bodies: Bodies): SentView;
};

/**
 * `ids` are those of the calls in the messages. `system`: what a model without messages of the role
 * system has to be told in its system prompt (G46).
 */
export type SentView = {
  readonly messages: readonly MessageParam[];
  readonly ids: SentIds;
  readonly system: readonly string[];
};

/** Takes the rounds that are over as they were sent before, where nothing has changed for them. */
export function openProjection(view: InView, options: ProjectOptions = {}): Projection {
  const { marks, settled } = view;
  const { model, memo = createMemo() } = options;
  const { bySystem, bringsTools } = marks.telling;
  const sent = [marks.names, marks.rewrittenAt, marks.refusedAt, bySystem, bringsTools];
  const { name, checksPrefix, compaction, systemMessages, toolChanges, webSearch, thinking } = model ?? {};
  const modelKey = [name, checksPrefix, compaction, systemMessages, toolChanges, webSearch, thinking !== undefined];
  const how = [...sent, model !== undefined, ...modelKey];
  const found = settled && memo.rounds.get(settled.list);
  const isAsBefore = found && found.parts <= settled.count && found.how.every((each, at) => each === how[at]);
  const before = isAsBefore ? found : { how, parts: 0, messages: [], ids: new Set<string>() };
  return {
    parts: view.shown.slice(before.parts),
    finish: (bodies) => projectAfter(before, view, bodies, { model, memo }),
  };
}

type ProjectMeans = { readonly model: CalledModel | undefined; readonly memo: ProjectMemo };

/** The counts up to a place before which nothing changes any longer. */
type Seam = { readonly parts: number; readonly messages: number; readonly calls: number };

function projectAfter(
  before: Projected,
  { shown: shownParts, marks, settled }: InView,
  bodies: Bodies,
  means: ProjectMeans,
): SentView {
  const { model, memo } = means;
  const signed = before.parts === 0 ? findSignedSummary(model, shownParts[0]) : undefined;
  const messages: DraftMessage[] = signed ? [{ role: 'assistant', content: [signed] }] : [...before.messages];
  const ids = new SentIds(before.ids);
  const telling = tellingOf(marks.telling, model);
  const first = signed ? 1 : before.parts;
  const isSystemSent = model === undefined || model.systemMessages === true;
  const all = groupRounds(shownParts.slice(first), bodies, { memo, telling, isSystemSent });
  let seam: Seam | null = null;
  for (const [at, round] of all.entries()) {
    const { reply } = round;
    const calls = ids.added;
    const sent = reply
      ? prepareReply(reply, ids, memo.replies, {
          withThinking: isThinkingSent(reply, round.position, marks, model),
          across: new Set([...listCarriedCalls(all[at - 1], round), ...listCarriedCalls(round, all[at + 1])]),
        })
      : { blocks: [], calls: [] };
    const named = marks.names ? underNames(sent.blocks, marks.names) : sent.blocks;
    const blocks = model && !model.webSearch ? withoutServerBlocks(named) : named;
    if (blocks.length > 0) {
      if (isAsked(messages) && !isOpen(all[at - 1]) && first + round.part < (settled?.count ?? 0))
        seam = { parts: first + round.part, messages: messages.length, calls };
      const isFirstKept = signed !== undefined && messages.length === 1;
      if (!isAsked(messages) && !isFirstKept) messages.push({ role: 'user', content: [textBlock(GO_ON)] });
      messages.push({ role: 'assistant', content: [...blocks] });
    }
    const shrink = round.position < marks.shrunkBefore;
    addUserContent(messages, [...resultBlocks(sent, round, { shrink, memo, bodies }), ...round.texts]);
    addSystemContent(messages, round.told);
  }
  if (settled && seam && seam.parts - before.parts >= PARTS_AT_ONCE)
    memo.rounds.set(settled.list, {
      how: before.how,
      parts: seam.parts,
      messages: messages.slice(0, seam.messages),
      ids: ids.first(seam.calls),
    });
  if (!isAsked(messages)) messages.push({ role: 'user', content: [textBlock(GO_ON)] });
  const system = isSystemSent ? [] : shownParts.filter(isSystemPart).map((part) => wordsOf(part, bodies));
  return { messages: messages as MessageParam[], ids, system };
}

const isSystemPart = (part: ShownPart): boolean => part.kind === 'entry' && isSystemMessage(part.entry);

/** Tells whether calls of the API's own stand open after a round, which the next may answer. */
const isOpen = (round: Round | undefined): boolean =>
  round?.reply !== undefined && round.reply !== null && listOpenServerCalls(round.reply).length > 0;

function underNames(sent: readonly ContentBlockParam[], names: SentNames): readonly ContentBlockParam[] {
  return sent.map((block) => (block.type === 'tool_use' ? { ...block, name: nameToSend(names, block.name) } : block));
}

/** For an API that knows none of them: what was searched for and found, in words. */
function withoutServerBlocks(sent: readonly ContentBlockParam[]): readonly ContentBlockParam[] {
  if (!sent.some(({ type }) => type === 'server_tool_use' || type === 'web_search_tool_result')) return sent;
  return sent.flatMap((block): ContentBlockParam[] => {
    const words = serverBlockText(block as ContentBlock);
    if (words !== null) return words === '' ? [] : [textBlock(wellFormedText(words))];
    return block.type === 'text' && block.citations ? [textBlock(block.text)] : [block];
  });
}

/** Returns how a model is told of changes: it may take less than its epoch tells. */
function tellingOf({ bySystem, bringsTools }: Telling, model: CalledModel | undefined): Telling {
  if (!bySystem || !model?.systemMessages) return {};
  return { bySystem, ...(bringsTools && model.toolChanges === 'inline' && { bringsTools }) };
}

/** Tells whether it is the model's turn. */
function isAsked(messages: readonly DraftMessage[]): boolean {
  return messages.length > 0 && messages.at(-1)?.role !== 'assistant';
}

/**
 * Returns the API's own summary block for a model that takes it; the kept entries then follow at
 * once.
 */
function findSignedSummary(
  model: CalledModel | undefined,
  first: ShownPart | undefined,
): ContentBlockParam | undefined {
  if (first?.kind !== 'summary' || !model?.compaction) return undefined;
  // The stable types do not have this block of a beta.
  return first.signed as ContentBlockParam | undefined;
}

/**
 * Tells whether a reply's thinking is sent. The API itself drops thinking of its kin that a model
 * cannot read, and finds it again for one that can, so Claude models get all of it.
 */
function isThinkingSent(
  reply: ReplyEntry,
  position: number,
  { rewrittenAt, refusedAt }: InView['marks'],
  model: CalledModel | undefined,
): boolean {
  if (position < refusedAt) return false;
  if (model === undefined) return true;
  if (model.checksPrefix && position < rewrittenAt) return false;
  return isFrom(reply, model.name) || (model.thinking !== undefined && /\bclaude-/.test(reply.message.model));
}

type DraftMessage = { readonly role: 'user' | 'assistant' | 'system'; readonly content: ContentBlockParam[] };

type FoundOutcome = { readonly outcome: Outcome; readonly position: number; readonly bare: boolean };

/** A reply, or null before the first one, and what followed it. */
type Round = {
  readonly reply: ReplyEntry | null;
  /** The number of parts before it. */
  readonly part: number;
  readonly position: number;
  readonly outcomes: FoundOutcome[];
  readonly texts: ContentBlockParam[];
  /** Blocks for a message of the role system, after the others. */
  readonly told: ContentBlockParam[];
};

/**
 * Calls of the API's own that the first of two replies leaves open and the second one answers, with
 * nothing but results of other calls between them. The last reply of all has its answer to come.
 */
function listCarriedCalls(round: Round | undefined, next: Round | undefined): readonly string[] {
  if (!round?.reply) return [];
  const open = listOpenServerCalls(round.reply);
  if (open.length === 0 || round.texts.length > 0 || round.told.length > 0) return [];
  if (!next?.reply) return open;
  const answered = new Set(listAnsweredServerCalls(next.reply.message.content));
  return open.filter((id) => answered.has(id));
}

type RoundOptions = { readonly memo: ProjectMemo; readonly telling: Telling; readonly isSystemSent: boolean };

function groupRounds(
  shownParts: readonly ShownPart[],
  bodies: Bodies,
  { memo, telling, isSystemSent }: RoundOptions,
): Round[] {
  let round: Round = { reply: null, part: 0, position: -1, outcomes: [], texts: [], told: [] };
  const all = [round];
  for (const [part, each] of shownParts.entries()) {
    const { position } = each;
    if (each.kind === 'entry' && each.entry.kind === 'reply') {
      all.push((round = { reply: each.entry, part, position, outcomes: [], texts: [], told: [] }));
    } else if (each.kind === 'entry' && each.entry.kind === 'outcomes') {
      for (const outcome of each.entry.outcomes) round.outcomes.push({ outcome, position, bare: each.bare ?? false });
    } else if (isSystemPart(each)) {
      if (isSystemSent) round.told.push(...toTextBlocks(wordsOf(each, bodies)));
    } else if (each.kind === 'entry' && isChange(each.entry) && chooseTelling(each.entry.notice, telling).bySystem) {
      const { notice } = each.entry;
      round.texts.push(...toTextBlocks(foreignWords(notice)));
      round.told.push(...(systemBlocks(notice, chooseTelling(notice, telling)) as ContentBlockParam[]));
    } else {
      round.texts.push(...textBlocksOf(each, bodies, memo));
    }
  }
  return all;
}

function textBlocksOf(part: ShownPart, bodies: Bodies, memo: ProjectMemo): readonly ContentBlockParam[] {
  if (part.kind !== 'entry') return toTextBlocks(wordsOf(part, bodies));
  const texts = part.cut === undefined ? memo.texts : memo.cuts;
  const known = texts.get(part.entry);
  if (known) return known;
  const { entry } = part;
  const words = wordsOf(part, bodies);
  if (part.bare && part.cut === undefined)
    return toTextBlocks(entry.kind === 'user' ? `${words}${mediaNote(entry.body)}\n${BARE}` : words);
  const media = entry.kind === 'user' && part.cut === undefined ? entry.body.media : undefined;
  const blocks = media ? blocksWithMedia(words, media, bodies) : toTextBlocks(words);
  texts.set(part.entry, blocks);
  return blocks;
}

/** Returns `part` as user text; empty when it is not text. */
export function wordsOf(part: ShownPart, bodies: Bodies): string {
  if (part.kind === 'summary') return summaryText(part.position, part.text);
  if (part.kind === 'carried') return part.text;
  if (part.kind === 'short') return shortForm({ from: part.position, to: part.to }, part.text);
  const { entry, position, cut } = part;
  const words = entry.kind === 'notice' ? (noticeForModel(entry.notice) ?? '') : userTextOf(entry, bodies);
  if (cut === undefined) return words;
  return previewText(words, cut, entryName({ from: position, to: position + 1 }), 'message');
}

function userTextOf(entry: Entry, bodies: Bodies): string {
  if (entry.kind !== 'user') return '';
  const text = textOfBody(entry.body, bodies);
  return entry.goal ? `${text}\n\n${goalText(textOfBody(entry.goal.rubric, bodies))}` : text;
}

function textOfBody(body: MessageBody, bodies: Bodies): string {
  if (body.kind === 'text') return body.text;
  const stored = bodies.get(body.hash);
  if (stored === undefined) throw new Error(`the text of stored message ${body.hash} was not resolved`);
  return stored;
}

/**
 * Returns the text with the images and documents in their places. A message that is shown in part
 * has lost them.
 */
function blocksWithMedia(words: string, media: readonly MessageMedium[], bodies: Bodies): readonly ContentBlockParam[] {
  let end = 0;
  const parts = media.flatMap((medium): readonly ContentBlockParam[] => {
    const before = toTextBlocks(words.slice(end, medium.at));
    end = Math.max(end, medium.at);
    return [...before, buildMediumBlock(medium, bodies)];
  });
  return [...parts, ...toTextBlocks(words.slice(end))];
}

/** Returns no block for a text of white space only, which the API refuses. */
function toTextBlocks(words: string): readonly ContentBlockParam[] {
  return isBlank(words) ? [] : [textBlock(wellFormedText(words))];
}

function textBlock(words: string): ContentBlockParam {
  return { type: 'text', text: words };
}

/**
 * Returns one result for each call that is sent, in order: the first of several, or a note when the
 * outcome is missing.
 */
function resultBlocks({ calls }: SentReply, { outcomes }: Round, how: ResultOptions): ToolResultBlockParam[] {
  return calls.map(({ index, id }) => {
    const found = outcomes.find(({ outcome }) => outcome.index === index);
    const failed = found?.outcome.isError ?? true;
    const content = found ? resultContent(found, how) : NO_OUTCOME;
    return { type: 'tool_result', tool_use_id: id, content, ...(failed && { is_error: true }) };
  });
}

type ResultOptions = { readonly shrink: boolean; readonly memo: ProjectMemo; readonly bodies: Bodies };

function resultContent(
  { outcome, position, bare }: FoundOutcome,
  { shrink, memo: { results: known }, bodies }: ResultOptions,
): NonNullable<ToolResultBlockParam['content']> {
  if (shrink && isShrunk(outcome)) return shrunkMarker(outcome, position);
  const content = known.get(outcome) ?? sendableContent(outcome.content);
  known.set(outcome, content);
  if (outcome.media === undefined) return content;
  if (bare) return `${content}\n${BARE}`;
  return [{ type: 'text', text: content }, ...outcome.media.map((medium) => buildMediumBlock(medium, bodies))];
}

function sendableContent(content: string): string {
  return isBlank(content) ? NO_OUTPUT : wellFormedText(content);
}

/**
 * Adds to the last user message, also where something was told after it: that stays after all of
 * it.
 */
function addUserContent(messages: DraftMessage[], content: readonly ContentBlockParam[]): void {
  if (content.length === 0) return;
  const last = messages.at(messages.at(-1)?.role === 'system' ? -2 : -1);
  if (last?.role === 'user') last.content.push(...content);
  else messages.push({ role: 'user', content: [...content] });
}

/** Adds a system message after a user message, the only place where it may stand. */
function addSystemContent(messages: DraftMessage[], content: readonly ContentBlockParam[]): void {
  if (content.length === 0) return;
  if (!isAsked(messages)) messages.push({ role: 'user', content: [textBlock(GO_ON)] });
  const last = messages.at(-1);
  if (last?.role === 'system') last.content.push(...content);
  else messages.push({ role: 'system', content: [...content] });
}
