// Projects the entries of a transcript onto the messages of a request. Pure. For any entries the
// request has a shape that the API accepts (L58): roles alternate from user to user, and one
// outcome follows every call (L39).
import type {
  ContentBlock,
  ContentBlockParam,
  MessageParam,
  ToolResultBlockParam,
} from '@anthropic-ai/sdk/resources/messages';
import type { MessageMedium } from '../../workflows/contract/people.ts';
import { previewText } from '../transcript/preview.ts';
import { mediumBlock } from '../transcript/request-size.ts';
import { sentName } from '../transcript/tool-names.ts';
import type { SentNames } from '../configuration.ts';
import type { Telling } from '../transcript/preamble.ts';
import { serverBlockText } from '../transcript/server-tools.ts';
import { foreignWords, isChange, systemBlocks, tellingBy } from '../transcript/system-message.ts';
import { type Bodies, mediaNote } from '../log/bodies.ts';
import { type Entry, type Outcome, type ReplyEntry, entryName } from '../log/entries.ts';
import { inView, type InView, type Shown } from './in-view.ts';
import { BARE, GO_ON, NO_OUTCOME, NO_OUTPUT, noticeText, shortForm, summaryText } from './notices.ts';
import {
  isFrom,
  openServerCalls,
  type ReplyMemo,
  sentReply,
  type SentReply,
  answeredServerCalls,
} from './sent-reply.ts';
import { isShrunk, markCleared } from './microcompact.ts';
import { isBlank, wellFormedText } from '../../system/text.ts';

/** Saves work from turn to turn: entries never change. */
export type ProjectMemo = {
  readonly replies: ReplyMemo;
  readonly results: WeakMap<Outcome, string>;
  readonly texts: WeakMap<Entry, readonly ContentBlockParam[]>;
  /** The blocks of messages that are shown in part. */
  readonly cuts: WeakMap<Entry, readonly ContentBlockParam[]>;
};

/** As a run knows it. */
export type CalledModel = {
  readonly name: string;
  readonly checksPrefix?: boolean;
  /** It takes the summaries that the API has signed. */
  readonly compaction?: boolean;
  /** It takes messages of the role system between others, and tools from them. */
  readonly systemMessages?: boolean;
  readonly toolChanges?: 'inline' | 'references';
  /** Its API searches the web, and takes back what it found. */
  readonly webSearch?: boolean;
  /** Known: it is one of Claude's. */
  readonly thinking?: object;
};

export type ProjectOptions = {
  /**
   * The model that is called, which decides what thinking is sent (L19, L59). Absent: all of it is.
   */
  readonly model?: CalledModel | undefined;
  /** Give the same one each time. */
  readonly memo?: ProjectMemo | undefined;
};

export function createMemo(): ProjectMemo {
  return { replies: new WeakMap(), results: new WeakMap(), texts: new WeakMap(), cuts: new WeakMap() };
}

export function project(entries: readonly Entry[], bodies: Bodies, options: ProjectOptions = {}): MessageParam[] {
  return projectView(inView(entries), bodies, options);
}

export function projectView({ shown, marks }: InView, bodies: Bodies, options: ProjectOptions = {}): MessageParam[] {
  const memo = options.memo ?? createMemo();
  const signed = signedFor(options.model, shown[0]);
  const messages: Draft[] = signed ? [{ role: 'assistant', content: [signed] }] : [];
  const taken = new Set<string>();
  const telling = tellingOf(marks.telling, options.model);
  const all = rounds(signed ? shown.slice(1) : shown, bodies, { memo, telling });
  for (const [at, round] of all.entries()) {
    const { reply } = round;
    const sent = reply
      ? sentReply(reply, taken, memo.replies, {
          withThinking: isThinkingSent(reply, round.position, marks, options.model),
          across: new Set([...carriedOver(all[at - 1], round), ...carriedOver(round, all[at + 1])]),
        })
      : { blocks: [], calls: [] };
    const named = marks.names ? underNames(sent.blocks, marks.names) : sent.blocks;
    const said = options.model && !options.model.webSearch ? withoutServerBlocks(named) : named;
    if (said.length > 0) {
      const isFirstKept = signed !== undefined && messages.length === 1;
      if (!isAsked(messages) && !isFirstKept) messages.push({ role: 'user', content: [text(GO_ON)] });
      messages.push({ role: 'assistant', content: [...said] });
    }
    const shrink = round.position < marks.shrunkBefore;
    say(messages, [...results(sent, round, { shrink, memo, bodies }), ...round.texts]);
    tell(messages, round.told);
  }
  if (!isAsked(messages)) messages.push({ role: 'user', content: [text(GO_ON)] });
  return messages as MessageParam[];
}

function underNames(sent: readonly ContentBlockParam[], names: SentNames): readonly ContentBlockParam[] {
  return sent.map((block) => (block.type === 'tool_use' ? { ...block, name: sentName(names, block.name) } : block));
}

/** For an API that knows none of them: what was searched for and found, in words. */
function withoutServerBlocks(sent: readonly ContentBlockParam[]): readonly ContentBlockParam[] {
  if (!sent.some(({ type }) => type === 'server_tool_use' || type === 'web_search_tool_result')) return sent;
  return sent.flatMap((block): ContentBlockParam[] => {
    const words = serverBlockText(block as ContentBlock);
    if (words !== null) return words === '' ? [] : [text(wellFormedText(words))];
    return block.type === 'text' && block.citations ? [text(block.text)] : [block];
  });
}

/** How a model that may take less than its epoch tells is told. */
function tellingOf({ bySystem, bringsTools }: Telling, model: CalledModel | undefined): Telling {
  if (!bySystem || !model?.systemMessages) return {};
  return { bySystem, ...(bringsTools && model.toolChanges === 'inline' && { bringsTools }) };
}

/** It is the model's turn. */
function isAsked(messages: readonly Draft[]): boolean {
  return messages.length > 0 && messages.at(-1)?.role !== 'assistant';
}

/**
 * Of a model that takes it so, the summary is the API's own block, and what was kept follows at
 * once.
 */
function signedFor(model: CalledModel | undefined, first: Shown | undefined): ContentBlockParam | undefined {
  if (first?.kind !== 'summary' || !model?.compaction) return undefined;
  // A block of a beta, which the stable types do not have.
  return first.signed as ContentBlockParam | undefined;
}

/**
 * The API drops by itself what a model cannot read of its kin's thinking, and finds it again for
 * one that can: they get all there is.
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

type Draft = { readonly role: 'user' | 'assistant' | 'system'; readonly content: ContentBlockParam[] };

type FoundOutcome = { readonly outcome: Outcome; readonly position: number; readonly bare: boolean };

/** A reply (none before the first) and what followed it. */
type Round = {
  readonly reply: ReplyEntry | null;
  readonly position: number;
  readonly outcomes: FoundOutcome[];
  readonly texts: ContentBlockParam[];
  /** In a message of the role system, after the others. */
  readonly told: ContentBlockParam[];
};

/**
 * Calls of the API's own that the first of two replies leaves open and the second one answers, with
 * nothing but results of other calls between them. The last reply of all has its answer to come.
 */
function carriedOver(round: Round | undefined, next: Round | undefined): readonly string[] {
  if (!round?.reply) return [];
  const open = openServerCalls(round.reply);
  if (open.length === 0 || round.texts.length > 0 || round.told.length > 0) return [];
  if (!next?.reply) return open;
  const answered = new Set(answeredServerCalls(next.reply.message.content));
  return open.filter((id) => answered.has(id));
}

type Saying = { readonly memo: ProjectMemo; readonly telling: Telling };

function rounds(shown: readonly Shown[], bodies: Bodies, { memo, telling }: Saying): Round[] {
  let round: Round = { reply: null, position: -1, outcomes: [], texts: [], told: [] };
  const all = [round];
  for (const each of shown) {
    const { position } = each;
    if (each.kind === 'entry' && each.entry.kind === 'reply') {
      all.push((round = { reply: each.entry, position, outcomes: [], texts: [], told: [] }));
    } else if (each.kind === 'entry' && each.entry.kind === 'outcomes') {
      for (const outcome of each.entry.outcomes) round.outcomes.push({ outcome, position, bare: each.bare ?? false });
    } else if (each.kind === 'entry' && isChange(each.entry) && tellingBy(each.entry.notice, telling).bySystem) {
      const { notice } = each.entry;
      round.texts.push(...blocks(foreignWords(notice)));
      round.told.push(...(systemBlocks(notice, tellingBy(notice, telling)) as ContentBlockParam[]));
    } else {
      round.texts.push(...spoken(each, bodies, memo));
    }
  }
  return all;
}

function spoken(shown: Shown, bodies: Bodies, memo: ProjectMemo): readonly ContentBlockParam[] {
  if (shown.kind !== 'entry') return blocks(wordsOf(shown, bodies));
  const texts = shown.cut === undefined ? memo.texts : memo.cuts;
  const known = texts.get(shown.entry);
  if (known) return known;
  const { entry } = shown;
  const words = wordsOf(shown, bodies);
  if (shown.bare && shown.cut === undefined)
    return blocks(entry.kind === 'user' ? `${words}${mediaNote(entry.body)}\n${BARE}` : words);
  const media = entry.kind === 'user' && shown.cut === undefined ? entry.body.media : undefined;
  const made = media ? illustrated(words, media, bodies) : blocks(words);
  texts.set(shown.entry, made);
  return made;
}

/** Returns `shown` as user text; empty when it is not text. */
export function wordsOf(shown: Shown, bodies: Bodies): string {
  if (shown.kind === 'summary') return summaryText(shown.position, shown.text);
  if (shown.kind === 'carried') return shown.text;
  if (shown.kind === 'short') return shortForm({ from: shown.position, to: shown.to }, shown.text);
  const { entry, position, cut } = shown;
  const words = entry.kind === 'notice' ? (noticeText(entry.notice) ?? '') : saidBy(entry, bodies);
  if (cut === undefined) return words;
  return previewText(words, cut, entryName({ from: position, to: position + 1 }), 'message');
}

function saidBy(entry: Entry, bodies: Bodies): string {
  if (entry.kind !== 'user') return '';
  if (entry.body.kind === 'text') return entry.body.text;
  const stored = bodies.get(entry.body.hash);
  if (stored === undefined) throw new Error(`the text of stored message ${entry.body.hash} was not resolved`);
  return stored;
}

/**
 * The text with the images and documents where they stand. A message that is shown in part has lost
 * them.
 */
function illustrated(words: string, media: readonly MessageMedium[], bodies: Bodies): readonly ContentBlockParam[] {
  let said = 0;
  const parts = media.flatMap((medium): readonly ContentBlockParam[] => {
    const before = blocks(words.slice(said, medium.at));
    said = Math.max(said, medium.at);
    return [...before, mediumBlock(medium, bodies)];
  });
  return [...parts, ...blocks(words.slice(said))];
}

/** The API refuses a text of white space only. */
function blocks(words: string): readonly ContentBlockParam[] {
  return isBlank(words) ? [] : [text(wellFormedText(words))];
}

function text(words: string): ContentBlockParam {
  return { type: 'text', text: words };
}

/**
 * One for each call that is sent, in order; the first when there are several, a note when there is
 * none.
 */
function results({ calls }: SentReply, { outcomes }: Round, how: Resulting): ToolResultBlockParam[] {
  return calls.map(({ index, id }) => {
    const found = outcomes.find(({ outcome }) => outcome.index === index);
    const failed = found?.outcome.isError ?? true;
    const content = found ? resultContent(found, how) : NO_OUTCOME;
    return { type: 'tool_result', tool_use_id: id, content, ...(failed && { is_error: true }) };
  });
}

type Resulting = { readonly shrink: boolean; readonly memo: ProjectMemo; readonly bodies: Bodies };

function resultContent(
  { outcome, position, bare }: FoundOutcome,
  { shrink, memo: { results: known }, bodies }: Resulting,
): NonNullable<ToolResultBlockParam['content']> {
  if (shrink && isShrunk(outcome)) return markCleared(outcome, position);
  const content = known.get(outcome) ?? sendable(outcome.content);
  known.set(outcome, content);
  if (outcome.media === undefined) return content;
  if (bare) return `${content}\n${BARE}`;
  return [{ type: 'text', text: content }, ...outcome.media.map((medium) => mediumBlock(medium, bodies))];
}

function sendable(content: string): string {
  return isBlank(content) ? NO_OUTPUT : wellFormedText(content);
}

/**
 * Consecutive user messages are one, also where something was told between them: that comes after
 * all of it.
 */
function say(messages: Draft[], content: readonly ContentBlockParam[]): void {
  if (content.length === 0) return;
  const last = messages.at(messages.at(-1)?.role === 'system' ? -2 : -1);
  if (last?.role === 'user') last.content.push(...content);
  else messages.push({ role: 'user', content: [...content] });
}

/** After a user message: it may stand nowhere else. */
function tell(messages: Draft[], told: readonly ContentBlockParam[]): void {
  if (told.length === 0) return;
  if (!isAsked(messages)) messages.push({ role: 'user', content: [text(GO_ON)] });
  const last = messages.at(-1);
  if (last?.role === 'system') last.content.push(...told);
  else messages.push({ role: 'system', content: [...told] });
}
