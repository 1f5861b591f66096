// Checks the messages as a conversation, as the API does: roles, empty contents, the first and the
// last one.
import { blockProblem } from './blocks.ts';
import { findLeadingBlock } from '../compaction/blocks.ts';
import { findProfile } from '../models/profiles.ts';
import { isSummaryRequest } from './compaction.ts';
import { type RequestRules, extraKeyProblem, firstProblem, isObject, type Json } from './shape.ts';
import { sayingProblem } from './text.ts';
import { isSilent, strayClearAtProblem, systemMessageProblem } from './system-messages.ts';
import { placementProblem } from './placement.ts';
import { listIds, pairingProblem, type ShapedMessage } from './pairing.ts';
import { searchesProblem } from './searches.ts';

const MESSAGE_KEYS = new Set(['role', 'content']);

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
  const prefill = rules.prefill || findProfile(String(model))?.prefill === true;
  const end = isSummaryRequest(request) ? undefined : endProblem(shaped, prefill);
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
