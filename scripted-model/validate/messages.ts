// Checks the messages as a conversation, as the API does: roles, empty contents, the first and the
// last one.
import { blockProblem } from './blocks.ts';
import { leadingBlock } from '../compaction/blocks.ts';
import { profileOf } from '../models/profiles.ts';
import { asksForSummary } from './compaction.ts';
import { type RequestRules, extraKey, firstProblem, isObject, type Json, sayingProblem } from './shape.ts';
import { placementProblem, saysNothing, strayClearAt, systemMessageProblem } from './system-messages.ts';

const keys = new Set(['role', 'content']);

/** A message whose shape is known to be right. */
type ShapedMessage = {
  readonly role: 'user' | 'assistant' | 'system';
  /** Absent in a system message that only sets the effort. */
  readonly content?: string | readonly Json[];
};

type Place = { readonly path: string; readonly isLast: boolean; readonly model: string };

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
  const prefill = rules.prefill || profileOf(String(model))?.prefill === true;
  const end = asksForSummary(request) ? undefined : endProblem(shaped, prefill);
  return orderProblem(shaped) ?? pairingProblem(shaped) ?? searchesProblem(shaped) ?? end;
}

function messageProblem(message: unknown, place: Place, rules: RequestRules): string | undefined {
  const { path, isLast } = place;
  if (!isObject(message)) return `${path}: Input should be a valid dictionary or object to extract fields from`;
  const { role, content } = message;
  if (role === undefined) return `${path}.role: Field required`;
  if (role !== 'user' && role !== 'assistant' && role !== 'system') {
    return `${path}.role: Input should be 'user', 'assistant' or 'system'`;
  }
  if (role === 'system') return systemMessageProblem(message, path, rules.betas, profileOf(place.model));
  const extra = strayClearAt(message, path, rules.betas) ?? extraKey(message, keys, path);
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
  { path, model }: Place,
  rules: RequestRules,
): string | undefined {
  if (typeof content === 'string') return sayingProblem(content, path);
  const verify = (thinking: string, signature: string): boolean => rules.verifySignature(model, thinking, signature);
  return (
    firstProblem(content, (block, at) => blockProblem(block, role, `${path}.content.${at}`, verify)) ??
    (role === 'assistant' ? finalBlockProblem(content, path) : undefined)
  );
}

/** The user begins, or a compaction in place of older messages. */
function orderProblem(messages: readonly ShapedMessage[]): string | undefined {
  const misplaced = placementProblem(messages);
  if (misplaced !== undefined) return misplaced;
  const [first] = messages.filter((message) => !saysNothing(message));
  if (leadingBlock(messages) !== undefined) return undefined;
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
  if (last?.role !== 'assistant' || ids(last, 'server_tool_use', 'id').length > 0) return undefined;
  if (!prefill) {
    return 'This model does not support assistant message prefill. The conversation must end with a user message.';
  }
  const text = typeof last.content === 'string' ? last.content : last.content?.at(-1)?.['text'];
  if (typeof text !== 'string' || !/\s$/.test(text)) return undefined;
  return 'messages: final assistant content cannot end with trailing whitespace';
}

// Every tool_use is answered by exactly one tool_result, in the very next message and before
// anything else in it (L39).

function pairingProblem(messages: readonly ShapedMessage[]): string | undefined {
  const seen = new Set<string>();
  const speaking = [...messages.entries()].filter(([, message]) => !saysNothing(message));
  return firstProblem(speaking, ([index, message], at) =>
    message.role === 'assistant'
      ? usesProblem(message, speaking[at + 1]?.[1], index, seen)
      : resultsProblem(message, speaking[at - 1]?.[1], index),
  );
}

function usesProblem(
  message: ShapedMessage,
  next: ShapedMessage | undefined,
  index: number,
  seen: Set<string>,
): string | undefined {
  const uses = ids(message, 'tool_use', 'id');
  for (const id of uses) {
    if (seen.has(id)) return `messages.${index}: \`tool_use\` ids must be unique`;
    seen.add(id);
  }
  const answered = new Set(next?.role === 'user' ? leadingResults(next) : []);
  const missing = uses.filter((id) => !answered.has(id));
  if (missing.length === 0) return undefined;
  return `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`;
}

function resultsProblem(
  message: ShapedMessage,
  previous: ShapedMessage | undefined,
  index: number,
): string | undefined {
  const asked = new Set(previous?.role === 'assistant' ? ids(previous, 'tool_use', 'id') : []);
  const given = new Set<string>();
  for (const [at, block] of blocksOf(message).entries()) {
    if (block['type'] !== 'tool_result') continue;
    const id = String(block['tool_use_id']);
    if (!asked.has(id)) {
      return `messages.${index}.content.${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`;
    }
    if (given.has(id)) {
      return `messages.${index}.content.${at}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`;
    }
    given.add(id);
  }
  return undefined;
}

// A search of the API's own has its result behind it in the same turn of the model; one that a
// paused turn ends with, or that stands beside calls, may still be open.

function searchesProblem(messages: readonly ShapedMessage[]): string | undefined {
  let open = new Set<string>();
  return firstProblem([...messages.entries()], ([index, message]) => {
    const isTurn = message.role === 'assistant';
    if (message.role === 'user' && ids(message, 'tool_result', 'tool_use_id').length === 0) open = new Set();
    if (!isTurn) return undefined;
    const mayStayOpen = index === messages.length - 1 || ids(message, 'tool_use', 'id').length > 0;
    for (const [at, block] of blocksOf(message).entries()) {
      if (block['type'] === 'server_tool_use' && block['name'] === 'web_search') open.add(String(block['id']));
      if (block['type'] !== 'web_search_tool_result') continue;
      const id = String(block['tool_use_id']);
      if (!open.delete(id)) return strayResult(id, `messages.${index}.content.${at}`);
    }
    const next = messages[index + 1]?.role;
    if (open.size === 0 || mayStayOpen || next === 'assistant') return undefined;
    const [id] = open;
    return `messages.${index}: \`web_search\` tool use with id \`${id}\` was found without a corresponding \`web_search_tool_result\` block`;
  });
}

function strayResult(id: string, path: string): string {
  return `${path}: unexpected \`tool_use_id\` found in \`web_search_tool_result\` blocks: ${id}. Each \`web_search_tool_result\` block must have a corresponding \`server_tool_use\` block before it.`;
}

/** The results before the first block of another kind. */
function leadingResults(message: ShapedMessage): readonly string[] {
  const all = blocksOf(message);
  const end = all.findIndex((block) => block['type'] !== 'tool_result');
  return all.slice(0, end < 0 ? all.length : end).map((block) => String(block['tool_use_id']));
}

function ids(message: ShapedMessage, type: string, field: string): readonly string[] {
  return blocksOf(message).flatMap((block) => (block['type'] === type ? [String(block[field])] : []));
}

function blocksOf(message: ShapedMessage): readonly Json[] {
  return typeof message.content === 'string' ? [] : (message.content ?? []);
}
