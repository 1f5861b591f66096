// What the model sees of a transcript: a pure function of its entries. Whatever they are, the request has a shape that the API
// accepts (L58): roles alternate from user to user, and every call is followed by its one outcome (L39).
import type { ContentBlockParam, MessageParam, ToolResultBlockParam } from '@anthropic-ai/sdk/resources/messages';
import type { Hash } from '../../workflows/contract/ids.ts';
import type { MessageBody } from '../../workflows/contract/session.ts';
import type { Entry, Outcome, ReplyEntry } from './entries.ts';
import { GO_ON, NO_OUTCOME, NO_OUTPUT, noticeText } from './notices.ts';
import { type ReplyMemo, sentReply, type SentReply } from './sent-reply.ts';
import { isBlank, wellFormedText } from './well-formed.ts';

/** Texts of messages that are in the store, by hash: see `bodyReader`. */
export type Bodies = ReadonlyMap<Hash, string>;

/** `memo` saves work from turn to turn; give the same one each time. */
export function project(entries: readonly Entry[], bodies: Bodies, memo?: ReplyMemo): MessageParam[] {
  const messages: Draft[] = [];
  const taken = new Set<string>();
  for (const round of rounds(inView(entries), bodies)) {
    const sent = round.reply ? sentReply(round.reply, taken, memo) : { blocks: [], calls: [] };
    if (sent.blocks.length > 0) {
      if (messages.at(-1)?.role !== 'user') messages.push({ role: 'user', content: [text(GO_ON)] });
      messages.push({ role: 'assistant', content: [...sent.blocks] });
    }
    say(messages, [...results(sent, round.outcomes), ...round.texts]);
  }
  if (messages.at(-1)?.role !== 'user') messages.push({ role: 'user', content: [text(GO_ON)] });
  return messages;
}

/** What follows the last boundary, and the boundary itself (L5). */
function inView(entries: readonly Entry[]): readonly Entry[] {
  const last = entries.findLastIndex((entry) => entry.kind === 'boundary');
  const boundary = entries[last];
  if (boundary?.kind !== 'boundary') return entries;
  const kept = entries.slice(boundary.from).filter((entry) => entry.kind !== 'boundary');
  return [boundary, ...kept];
}

type Draft = { readonly role: 'user' | 'assistant'; readonly content: ContentBlockParam[] };

/** A reply (none before the first) and what followed it. */
type Round = { readonly reply: ReplyEntry | null; readonly outcomes: Outcome[]; readonly texts: ContentBlockParam[] };

function rounds(entries: readonly Entry[], bodies: Bodies): Round[] {
  let round: Round = { reply: null, outcomes: [], texts: [] };
  const all = [round];
  for (const entry of entries) {
    if (entry.kind === 'reply') all.push((round = { reply: entry, outcomes: [], texts: [] }));
    else if (entry.kind === 'outcomes') round.outcomes.push(...entry.outcomes);
    else if (entry.kind === 'user') round.texts.push(...spoken(bodyText(entry.body, bodies)));
    else if (entry.kind === 'boundary') round.texts.push(...spoken(entry.summary));
    else if (entry.kind === 'notice') round.texts.push(...spoken(noticeText(entry.notice) ?? ''));
  }
  return all;
}

function bodyText(body: MessageBody, bodies: Bodies): string {
  if (body.kind === 'text') return body.text;
  const stored = bodies.get(body.hash);
  if (stored === undefined) throw new Error(`the text of stored message ${body.hash} was not resolved`);
  return stored;
}

/** The API refuses a text of white space only. */
function spoken(words: string): ContentBlockParam[] {
  return isBlank(words) ? [] : [text(wellFormedText(words))];
}

function text(words: string): ContentBlockParam {
  return { type: 'text', text: words };
}

/** One for each call that is sent, in order; the first when there are several, a note when there is none. */
function results({ calls }: SentReply, outcomes: readonly Outcome[]): ToolResultBlockParam[] {
  return calls.map(({ index, id }) => {
    const outcome = outcomes.find((each) => each.index === index);
    const content = outcome ? wellFormedText(outcome.content) : NO_OUTCOME;
    const failed = outcome?.isError ?? true;
    return {
      type: 'tool_result',
      tool_use_id: id,
      content: isBlank(content) ? NO_OUTPUT : content,
      ...(failed && { is_error: true }),
    };
  });
}

/** Consecutive user messages are one. */
function say(messages: Draft[], content: readonly ContentBlockParam[]): void {
  if (content.length === 0) return;
  const last = messages.at(-1);
  if (last?.role === 'user') last.content.push(...content);
  else messages.push({ role: 'user', content: [...content] });
}
