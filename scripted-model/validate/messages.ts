// Checks the messages as a conversation, as the API does: roles, empty contents, the first and the
// last one.
import { blockProblem, sayingProblem } from './blocks.ts';
import { findLeadingBlock } from '../compaction/blocks.ts';
import { findProfile, type ModelProfile } from '../models/profiles.ts';
import { isSummaryRequest } from './compaction.ts';
import {
  extraKeyProblem,
  firstProblem,
  isObject,
  type Json,
  type RequestRules,
  problemWithCode,
  type RequestProblem,
} from './shape.ts';
import {
  isSilent,
  listBlocks,
  type Message,
  strayClearAtProblem,
  systemMessageProblem,
  TOOL_CHANGES,
} from './system-messages.ts';

const MESSAGE_KEYS = new Set(['role', 'content']);

type MessagePlace = { readonly path: string; readonly isLast: boolean; readonly model: string };

export function messagesProblem(request: Json, rules: RequestRules): string | undefined {
  const { messages, model } = request;
  if (messages === undefined) return 'messages: Field required';
  if (!Array.isArray(messages)) return 'messages: Input should be a valid list';
  if (messages.length === 0) return 'messages: at least one message is required';
  const check = (message: unknown, index: number): string | undefined => {
    const isLast = index === messages.length - 1;
    return messageProblem(message, { path: `messages.${index}`, isLast, model: String(model) }, rules);
  };
  const malformed = firstProblem(messages as unknown[], check);
  if (malformed !== undefined) return malformed;
  const shaped = messages as readonly ShapedMessage[];
  const prefill = rules.prefill || findProfile(String(model))?.prefill === true;
  const end = isSummaryRequest(request) ? undefined : endProblem(shaped, prefill);
  return orderProblem(shaped) ?? pairingProblem(shaped) ?? searchesProblem(shaped) ?? end;
}

function messageProblem(message: unknown, place: MessagePlace, rules: RequestRules): string | undefined {
  const { path, isLast } = place;
  if (!isObject(message)) return `${path}: Input should be a valid dictionary or object to extract fields from`;
  const { role, content } = message;
  if (role === undefined) return `${path}.role: Field required`;
  if (role !== 'user' && role !== 'assistant' && role !== 'system') {
    return `${path}.role: Input should be 'user', 'assistant' or 'system'`;
  }
  if (role === 'system') return systemMessageProblem(message, path, rules.betas, findProfile(place.model));
  const extra = strayClearAtProblem(message, path, rules.betas) ?? extraKeyProblem(message, MESSAGE_KEYS, path);
  if (extra !== undefined) return extra;
  if (content === undefined) return `${path}.content: Field required`;
  if (typeof content !== 'string' && !Array.isArray(content)) {
    return `${path}.content: Input should be a valid string or a valid list`;
  }
  if (content.length > 0) return contentProblem(content, role, place, rules);
  if (isLast && role === 'assistant') return undefined;
  return `${path}: all messages must have non-empty content except for the optional final assistant message`;
}

function contentProblem(
  content: string | readonly unknown[],
  role: 'user' | 'assistant',
  { path, model }: MessagePlace,
  rules: RequestRules,
): string | undefined {
  if (typeof content === 'string') return sayingProblem(content, path);
  const verify = (thinking: string, signature: string): boolean => rules.verifySignature(model, thinking, signature);
  return (
    firstProblem(content, (block, at) => blockProblem(block, role, `${path}.content.${at}`, verify)) ??
    (role === 'assistant' ? finalBlockProblem(content, path) : undefined)
  );
}

/** Requires that the user begins, or a compaction in place of older messages. */
function orderProblem(messages: readonly ShapedMessage[]): string | undefined {
  const misplaced = placementProblem(messages);
  if (misplaced !== undefined) return misplaced;
  const [first] = messages.filter((message) => !isSilent(message));
  if (findLeadingBlock(messages) !== undefined) return undefined;
  return first?.role === 'user' ? undefined : 'messages: first message must use the "user" role';
}

function finalBlockProblem(blocks: readonly unknown[], path: string): string | undefined {
  const type = String((blocks.at(-1) as Json)['type']);
  if (type !== 'thinking' && type !== 'redacted_thinking') return undefined;
  return `${path}: The final block in an assistant message cannot be \`thinking\`.`;
}

function endProblem(messages: readonly ShapedMessage[], prefill: boolean): string | undefined {
  const last = messages.at(-1);
  // A turn that was paused goes on from what it has.
  if (last?.role !== 'assistant' || listIds(last, 'server_tool_use', 'id').length > 0) return undefined;
  if (!prefill) {
    return 'This model does not support assistant message prefill. The conversation must end with a user message.';
  }
  const text = typeof last.content === 'string' ? last.content : last.content?.at(-1)?.['text'];
  if (typeof text !== 'string' || !/\s$/.test(text)) return undefined;
  return 'messages: final assistant content cannot end with trailing whitespace';
}

// Checks where system messages may stand. Those that follow one another are judged as one, by what
// stands before the first and after the last.
const ANYWHERE = '; the directive-only form (content: [] with output_config) is accepted at any position';

function placementProblem(messages: readonly Message[]): string | undefined {
  for (let first = 0; first < messages.length; first += 1) {
    if (messages[first]?.role !== 'system') continue;
    let end = first;
    while (messages[end]?.role === 'system') end += 1;
    const group = messages.slice(first, end);
    const problem = group.every(isSilent) ? undefined : groupProblem(messages, group, first, end);
    if (problem !== undefined) return problem;
    first = end;
  }
  return undefined;
}

function groupProblem(
  messages: readonly Message[],
  group: readonly Message[],
  first: number,
  end: number,
): string | undefined {
  const [before, after] = [messages[first - 1], messages[end]];
  if (before === undefined) {
    return `messages.${first}: use the top-level 'system' parameter for the initial system prompt${ANYWHERE}`;
  }
  const paused = before.role === 'assistant' && isEndInServerResult(before);
  if (before.role !== 'user' && !paused) {
    return `messages.${first}: role 'system' must follow a 'user' message or an 'assistant' message ending in a server tool result${ANYWHERE}`;
  }
  if (after !== undefined && after.role !== 'assistant') {
    return `messages.${end - 1}: role 'system' must precede an 'assistant' message or end the array${ANYWHERE}`;
  }
  const changes = group.findIndex((message) => listBlocks(message).some(({ type }) => TOOL_CHANGES.includes(type)));
  if (!paused || changes < 0) return undefined;
  return `messages.${first + changes}: tool_addition and tool_removal blocks cannot follow a paused 'assistant' message`;
}

function isEndInServerResult(message: Message): boolean {
  const type = String(listBlocks(message).at(-1)?.['type']);
  return type !== 'tool_result' && type.endsWith('_tool_result');
}

// Checks that a search of the API's own has its result behind it in the same turn of the model. A
// search that a paused turn ends with, or that stands beside calls, may still be open.
function searchesProblem(messages: readonly ShapedMessage[]): string | undefined {
  let open = new Set<string>();
  return firstProblem([...messages.entries()], ([index, message]) => {
    const isTurn = message.role === 'assistant';
    if (message.role === 'user' && listIds(message, 'tool_result', 'tool_use_id').length === 0) open = new Set();
    if (!isTurn) return undefined;
    const mayStayOpen = index === messages.length - 1 || listIds(message, 'tool_use', 'id').length > 0;
    for (const [at, block] of blocksOfContent(message).entries()) {
      if (block['type'] === 'server_tool_use' && block['name'] === 'web_search') open.add(String(block['id']));
      if (block['type'] !== 'web_search_tool_result') continue;
      const id = String(block['tool_use_id']);
      if (!open.delete(id)) return strayResultProblem(id, `messages.${index}.content.${at}`);
    }
    const next = messages[index + 1]?.role;
    if (open.size === 0 || mayStayOpen || next === 'assistant') return undefined;
    const [id] = open;
    return `messages.${index}: \`web_search\` tool use with id \`${id}\` was found without a corresponding \`web_search_tool_result\` block`;
  });
}

function strayResultProblem(id: string, path: string): string {
  return `${path}: unexpected \`tool_use_id\` found in \`web_search_tool_result\` blocks: ${id}. Each \`web_search_tool_result\` block must have a corresponding \`server_tool_use\` block before it.`;
}

/** A message whose shape is known to be right. */
type ShapedMessage = {
  readonly role: 'user' | 'assistant' | 'system';
  /** Absent in a system message that only sets the effort. */
  readonly content?: string | readonly Json[];
};

/**
 * Checks that every tool_use is answered by exactly one tool_result, in the very next message and
 * before anything else in it, and that no id is used twice (L39). Problems are worded as the API's.
 */
function pairingProblem(messages: readonly ShapedMessage[]): string | undefined {
  const known = new Set<string>();
  const speaking = [...messages.entries()].filter(([, message]) => !isSilent(message));
  return firstProblem(speaking, ([index, message], at) =>
    message.role === 'assistant'
      ? usesProblem(message, speaking[at + 1]?.[1], index, known)
      : resultsProblem(message, speaking[at - 1]?.[1], index),
  );
}

function usesProblem(
  message: ShapedMessage,
  next: ShapedMessage | undefined,
  index: number,
  known: Set<string>,
): string | undefined {
  const uses = listIds(message, 'tool_use', 'id');
  for (const id of uses) {
    if (known.has(id)) return `messages.${index}: \`tool_use\` ids must be unique`;
    known.add(id);
  }
  const answered = new Set(next?.role === 'user' ? listLeadingResults(next) : []);
  const missing = uses.filter((id) => !answered.has(id));
  if (missing.length === 0) return undefined;
  return `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`;
}

function resultsProblem(
  message: ShapedMessage,
  previous: ShapedMessage | undefined,
  index: number,
): string | undefined {
  const requested = new Set(previous?.role === 'assistant' ? listIds(previous, 'tool_use', 'id') : []);
  const answered = new Set<string>();
  for (const [at, block] of blocksOfContent(message).entries()) {
    if (block['type'] !== 'tool_result') continue;
    const id = String(block['tool_use_id']);
    if (!requested.has(id)) {
      return `messages.${index}.content.${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`;
    }
    if (answered.has(id)) {
      return `messages.${index}.content.${at}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`;
    }
    answered.add(id);
  }
  return undefined;
}

/** Lists the results before the first block of another kind. */
function listLeadingResults(message: ShapedMessage): readonly string[] {
  const all = blocksOfContent(message);
  const end = all.findIndex((block) => block['type'] !== 'tool_result');
  return all.slice(0, end < 0 ? all.length : end).map((block) => String(block['tool_use_id']));
}

function listIds(message: ShapedMessage, type: string, field: string): readonly string[] {
  return blocksOfContent(message).flatMap((block) => (block['type'] === type ? [String(block[field])] : []));
}

function blocksOfContent(message: ShapedMessage): readonly Json[] {
  return typeof message.content === 'string' ? [] : (message.content ?? []);
}

/** Base64 characters. */
const MOST_IMAGE_BYTES = 10 * 1_024 * 1_024;
const MOST_PIXELS = 8_000;
/** From this many images on, each side may have no more pixels than the limit below. */
const MANY_IMAGES = 20;
const MOST_PIXELS_OF_MANY = 2_000;
const MOST_MESSAGES = 100_000;

type Image = { readonly path: string; readonly data: string };

/**
 * Checks the limits on the images of a whole request, those of old turns and of results included:
 * their number, their bytes, their pixels a side.
 */
export function sizesProblem({ messages }: Json, profile: ModelProfile | undefined): RequestProblem | undefined {
  const list = messages as readonly Json[];
  if (list.length > MOST_MESSAGES)
    return `messages: at most ${MOST_MESSAGES} messages are allowed, and got ${list.length}`;
  const images = list.flatMap(({ content }, index) => listImages(content, `messages.${index}.content`));
  const most = profile === undefined || profile.window > 200_000 ? 600 : 100;
  if (images.length > most) return `messages: too many images and document pages: ${images.length} > ${most}`;
  const heavy = firstProblem(images, ({ path, data }) =>
    data.length <= MOST_IMAGE_BYTES
      ? undefined
      : `${path}.image.source.base64: image exceeds 10 MB maximum: ${data.length} bytes > ${MOST_IMAGE_BYTES} bytes`,
  );
  return heavy ?? pixelsProblem(images);
}

function pixelsProblem(images: readonly Image[]): RequestProblem | undefined {
  const many = images.length > MANY_IMAGES;
  const most = many ? MOST_PIXELS_OF_MANY : MOST_PIXELS;
  const large = images.filter(({ data }) => Math.max(0, ...readSides(Buffer.from(data, 'base64'))) > most);
  const [first] = large;
  if (first === undefined) return undefined;
  const limit = many ? `for many-image requests: ${most} pixels` : `: ${most} pixels`;
  const words = `At least one of the image dimensions exceed max allowed size${many ? ' ' : ''}${limit}`;
  const paths = large.map(({ path }) => path);
  const more = { paths, max_side_length_pixels: most };
  return problemWithCode(`${first.path}.image.source.base64.data: ${words}`, 'image_dimensions_too_large', more);
}

function listImages(content: unknown, path: string): readonly Image[] {
  if (!Array.isArray(content)) return [];
  return (content as unknown[]).flatMap((block, at): readonly Image[] => {
    if (!isObject(block)) return [];
    const own = `${path}.${at}`;
    const { type, source } = block;
    if (type === 'tool_result') return listImages(block['content'], `${own}.content`);
    if (type !== 'image') return [];
    return [{ path: own, data: isObject(source) && source['type'] === 'base64' ? String(source['data']) : '' }];
  });
}

/**
 * Reads width and height in pixels from the file's head; empty for bytes that are not a picture.
 */
function readSides(bytes: Buffer): readonly number[] {
  if (bytes.length < 30) return [];
  if (bytes.readUInt32BE(0) === 0x89504e47) return [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
  if (bytes.toString('latin1', 0, 3) === 'GIF') return [bytes.readUInt16LE(6), bytes.readUInt16LE(8)];
  if (bytes.toString('latin1', 8, 12) === 'WEBP') return readWebpSides(bytes);
  return bytes.readUInt16BE(0) === 0xffd8 ? readJpegSides(bytes) : [];
}

function readWebpSides(bytes: Buffer): readonly number[] {
  const kind = bytes.toString('latin1', 12, 16);
  if (kind === 'VP8X') return [bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1];
  if (kind === 'VP8 ') return [bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff];
  const packed = bytes.readUInt32LE(21);
  return [(packed & 0x3fff) + 1, ((packed >> 14) & 0x3fff) + 1];
}

/** Reads a JPEG's size from the segment that starts its frame, after any number of others. */
function readJpegSides(bytes: Buffer): readonly number[] {
  for (let at = 2; at + 9 < bytes.length && bytes[at] === 0xff;) {
    const marker = bytes[at + 1] ?? 0;
    const startsFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (startsFrame) return [bytes.readUInt16BE(at + 7), bytes.readUInt16BE(at + 5)];
    at += 2 + bytes.readUInt16BE(at + 2);
  }
  return [];
}
