// Checks where system messages may stand. Those that follow one another are judged as one, by what
// stands before the first and after the last.
import { type Message, isSilent, listBlocks, TOOL_CHANGES } from './system-messages.ts';

const ANYWHERE = '; the directive-only form (content: [] with output_config) is accepted at any position';

export function placementProblem(messages: readonly Message[]): string | undefined {
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
