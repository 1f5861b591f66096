// Checks that a search of the API's own has its result behind it in the same turn of the model. A
// search that a paused turn ends with, or that stands beside calls, may still be open.
import { listIds, type ShapedMessage, blocksOfContent } from './pairing.ts';
import { firstProblem } from './shape.ts';

export function searchesProblem(messages: readonly ShapedMessage[]): string | undefined {
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
