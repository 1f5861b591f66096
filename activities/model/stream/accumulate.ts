// Builds a message from its stream, block by block, as the API would have sent it whole (L16).
// Inputs of tools stay raw text until their block ends, because a truncated one must be recognised,
// never repaired (L15, L28).
import type { ContentBlock, Message, RawMessageStreamEvent, ToolUseBlock } from '@anthropic-ai/sdk/resources/messages';
import { joinReplies } from '../usage-counts.ts';
import { DEEPEST_JSON, isDeeperThan, wrapUnparsable, parseInput } from '../../../system/json.ts';

/** The stream broke the protocol, so the attempt died (L14). */
export class GarbledStream extends Error {
  override readonly name = 'GarbledStream';
}

/**
 * The whole reply arrived and cannot be used. The same request would be answered and billed the
 * same way again.
 */
export class UnusableReply extends Error {
  override readonly name = 'UnusableReply';
}

export type BlockState = {
  readonly block: ContentBlock;
  /** Its content_block_stop arrived. */
  readonly complete: boolean;
  /** A tool_use whose input text is not one complete JSON text. */
  readonly brokenInput: boolean;
};

export type Accumulator = {
  /** Returns the block that this event completed, or null. */
  push(event: RawMessageStreamEvent): { readonly index: number; readonly state: BlockState } | null;
  readonly blocks: readonly BlockState[];
  /** How many blocks a continued reply had before; the stream's own numbers start after them. */
  readonly before: number;
  /** Returns the message so far; null before message_start. */
  message(): Message | null;
  /** The bill of this stream alone. */
  billed(): Message['usage'] | undefined;
  /** message_stop arrived, or the reply was closed without it. */
  readonly ended: boolean;
  /**
   * Tells the accumulator that the stream is over. Returns false for a reply that was cut; one that
   * named its stop reason is whole, since some servers send no message_stop (X4). Throws
   * GarbledStream for one that stops within a block.
   */
  close(): boolean;
};

type Open = { block: ContentBlock; json: string; complete: boolean; brokenInput: boolean };

/**
 * `paused` is the reply to continue. `named` translates a complete call to the names that are
 * stored.
 */
export function createAccumulator(
  paused: Message | null = null,
  named: (call: ToolUseBlock) => ToolUseBlock = (call) => call,
): Accumulator {
  let head: Message | null = null;
  let hasEnded = false;
  /** Set by an event at the end; a stop reason at the beginning is not believed. */
  let stops = false;
  const open: Open[] = (paused?.content ?? []).map(wholeBlock);
  const before = open.length;
  return {
    before,
    get blocks() {
      return open;
    },
    get ended() {
      return hasEnded;
    },
    close() {
      if (head && stops && !hasEnded) hasEnded = closeMessage(head, open);
      return hasEnded;
    },
    message: () => (head ? { ...joinReplies(paused, head), content: open.map(({ block }) => block) } : paused),
    billed: () => head?.usage,
    push(event) {
      const problem = eventProblem(event);
      if (problem !== undefined) throw new UnusableReply(`the reply has ${problem}`);
      const done = take(event);
      // Check the depth last: the event's bill counts whatever else is in it.
      if (isDeeperThan(event, DEEPEST_JSON)) {
        throw new UnusableReply(`the reply has a ${event.type} nested more than ${DEEPEST_JSON} levels deep`);
      }
      return done;
    },
  };
  function take(event: RawMessageStreamEvent): ReturnType<Accumulator['push']> {
    if (event.type === 'message_start') head = beginMessage(head, event.message);
    else if (!isOfMessage(event)) return null;
    else if (!head) throw new GarbledStream(`the stream began with ${event.type}`);
    else if (event.type === 'content_block_start') open.push(beginBlock(event, open.length, before));
    else if (event.type === 'content_block_delta') growBlock(openBlockAt(open, event.index + before), event.delta);
    else if (event.type === 'content_block_stop')
      return finishBlock(openBlockAt(open, event.index + before), event.index + before, named);
    else if (event.type === 'message_delta') {
      head = withDelta(head, event);
      stops ||= saysStop(event);
    } else if (event.type === 'message_stop') hasEnded = closeMessage(head, open);
    return null;
  }
}

/** The API may send events of other kinds at any time. */
function isOfMessage({ type }: RawMessageStreamEvent): boolean {
  return type.startsWith('message_') || type.startsWith('content_block_');
}

function beginMessage(head: Message | null, message: Message): Message {
  if (head) throw new GarbledStream('the stream began twice');
  return message;
}

/** A message that ends within a block for another reason is incomplete. */
const MAY_CUT: readonly unknown[] = ['max_tokens', 'model_context_window_exceeded', 'refusal'];

function closeMessage({ stop_reason }: Message, open: readonly Open[]): true {
  const within = open.findIndex(({ complete }) => !complete);
  if (within >= 0 && !MAY_CUT.includes(stop_reason))
    throw new GarbledStream(`the message ended within block ${within}`);
  return true;
}

/** No honest reply has so many; work per block must stay bounded. */
export const MOST_BLOCKS = 5_000;

/** The longest input of one call, in characters. */
export const MOST_OF_INPUT = 4 * 1024 * 1024;

function wholeBlock(block: ContentBlock): Open {
  return { block, json: '', complete: true, brokenInput: false };
}

function beginBlock(
  event: Extract<RawMessageStreamEvent, { type: 'content_block_start' }>,
  count: number,
  before: number,
): Open {
  if (count >= MOST_BLOCKS) throw new UnusableReply(`the reply has more than ${MOST_BLOCKS} blocks`);
  const expected = count - before;
  if (event.index !== expected) throw new GarbledStream(`block ${event.index} began where ${expected} was due`);
  const block = withInput({ ...event.content_block });
  // Treat an empty input as broken until text arrives: a call that was cut before its first byte
  // looks the same as one without arguments.
  const brokenInput = block.type === 'tool_use' && Object.keys(block.input ?? {}).length === 0;
  return { block, json: '', complete: false, brokenInput };
}

/** The API always sends an input, even an empty one; a proxy may not. */
function withInput(block: ContentBlock): ContentBlock {
  return block.type === 'tool_use' && block.input === undefined ? { ...block, input: {} } : block;
}

function openBlockAt(open: readonly Open[], index: number): Open {
  const found = open[index];
  if (!found || found.complete) throw new GarbledStream(`a delta for block ${index}, which is not open`);
  return found;
}

function growBlock(open: Open, delta: Extract<RawMessageStreamEvent, { type: 'content_block_delta' }>['delta']): void {
  const { block } = open;
  if (delta.type === 'input_json_delta') {
    open.json += delta.partial_json;
    if (open.json.length > MOST_OF_INPUT) {
      throw new UnusableReply(`the input of a call is larger than ${MOST_OF_INPUT} characters: ask for it in parts`);
    }
  }
  if (delta.type === 'text_delta' && block.type === 'text') block.text += delta.text;
  else if (delta.type === 'thinking_delta' && block.type === 'thinking') block.thinking += delta.thinking;
  else if (delta.type === 'signature_delta' && block.type === 'thinking') block.signature = delta.signature;
  else if (delta.type === 'citations_delta' && block.type === 'text') {
    if (!Array.isArray(block.citations)) block.citations = [];
    block.citations.push(delta.citation);
  }
}

function finishBlock(
  open: Open,
  index: number,
  named: (call: ToolUseBlock) => ToolUseBlock,
): { index: number; state: BlockState } {
  open.complete = true;
  if ('input' in open.block && open.json !== '') {
    const parsed = parseInput(open.json);
    open.brokenInput = parsed === undefined;
    open.block = { ...open.block, input: parsed ? parsed.value : wrapUnparsable(open.json) } as ContentBlock;
  }
  if (open.block.type === 'tool_use') open.block = named(open.block);
  return { index, state: open };
}

/** A proxy may send a null or no reason at all with counts in between. */
export function saysStop(event: { readonly type?: unknown; readonly delta?: unknown }): boolean {
  const delta = event.type === 'message_delta' ? (event.delta as { readonly stop_reason?: unknown } | null) : null;
  return typeof delta?.stop_reason === 'string';
}

function withDelta(
  head: Message,
  { delta, usage }: Extract<RawMessageStreamEvent, { type: 'message_delta' }>,
): Message {
  return { ...head, ...delta, usage: usageWith(head.usage, usage) };
}

/** Counts at the stream's end replace those of its start, where present. */
export function usageWith(before: Message['usage'], counts: object | null | undefined): Message['usage'] {
  const counted = Object.fromEntries(Object.entries(counts ?? {}).filter(([, value]) => value !== null));
  return { ...before, ...counted };
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * The texts that a block or a delta must have, by its type; unknown types pass. A proxy may send
 * any JSON under a known name: the stream is then broken and its attempt has died (L14), where a
 * missing field would be a defect that is retried forever.
 */
const BLOCK_TEXTS: Readonly<Record<string, readonly string[]>> = {
  text: ['text'],
  thinking: ['thinking'],
  tool_use: ['id', 'name'],
};
const DELTA_TEXTS: Readonly<Record<string, readonly string[]>> = {
  text_delta: ['text'],
  thinking_delta: ['thinking'],
  signature_delta: ['signature'],
  input_json_delta: ['partial_json'],
};

/** Names the missing part; undefined for a complete event. */
function eventProblem(event: RawMessageStreamEvent): string | undefined {
  const untrusted: unknown = event;
  if (!isObject(untrusted)) return 'an event that is no object';
  if (typeof untrusted['type'] !== 'string') return 'an event without a type';
  if (event.type.startsWith('content_block_') && !Number.isSafeInteger(untrusted['index'])) {
    return `a ${event.type} without an index`;
  }
  if (event.type === 'message_start') return missingTextProblem(untrusted['message'], 'message_start', ['model']);
  if (event.type === 'content_block_start') return blockProblem(untrusted['content_block']);
  if (event.type === 'content_block_delta') return deltaProblem(untrusted['delta']);
  if (event.type === 'message_delta') return changeProblem(untrusted['delta']);
  return undefined;
}

function blockProblem(block: unknown): string | undefined {
  const missing = typeProblem(block, 'content_block_start', BLOCK_TEXTS);
  if (missing !== undefined || !isObject(block) || block['type'] !== 'text') return missing;
  const citations = block['citations'] ?? [];
  return Array.isArray(citations) && citations.every(isObject)
    ? undefined
    : 'a text whose citations are no list of them';
}

function deltaProblem(delta: unknown): string | undefined {
  const missing = typeProblem(delta, 'content_block_delta', DELTA_TEXTS);
  if (missing !== undefined || !isObject(delta) || delta['type'] !== 'citations_delta') return missing;
  return isObject(delta['citation']) ? undefined : 'a citations_delta without a citation';
}

/** A change of the message overwrites its beginning. */
function changeProblem(delta: unknown): string | undefined {
  return isObject(delta) && 'model' in delta ? missingTextProblem(delta, 'message_delta', ['model']) : undefined;
}

function typeProblem(value: unknown, where: string, texts: typeof BLOCK_TEXTS): string | undefined {
  const type = isObject(value) ? value['type'] : undefined;
  if (typeof type !== 'string') return `a ${where} without a type`;
  return missingTextProblem(value, type, Object.hasOwn(texts, type) ? (texts[type] ?? []) : []);
}

function missingTextProblem(value: unknown, where: string, texts: readonly string[]): string | undefined {
  const missing = texts.find((key) => !isObject(value) || typeof value[key] !== 'string');
  return missing === undefined ? undefined : `a ${where} without ${missing}`;
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}
