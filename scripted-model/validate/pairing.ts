// Checks that every tool_use is answered by exactly one tool_result, in the very next message and
// before anything else in it, and that no id is used twice (L39). Problems are worded as the API's.
import { firstProblem, type Json } from './shape.ts';
import { isSilent } from './system-messages.ts';

/** A message whose shape is known to be right. */
export type ShapedMessage = {
  readonly role: 'user' | 'assistant' | 'system';
  /** Absent in a system message that only sets the effort. */
  readonly content?: string | readonly Json[];
};

export function pairingProblem(messages: readonly ShapedMessage[]): string | undefined {
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

export function listIds(message: ShapedMessage, type: string, field: string): readonly string[] {
  return blocksOfContent(message).flatMap((block) => (block['type'] === type ? [String(block[field])] : []));
}

export function blocksOfContent(message: ShapedMessage): readonly Json[] {
  return typeof message.content === 'string' ? [] : (message.content ?? []);
}
