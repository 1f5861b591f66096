// Whether a request meets a reply's `when` or `expect`.
import { lastUserText, systemText, toolResults } from './read-request.ts';
import type { Condition, ParsedRequest } from './script.ts';

/** What a request lacks, as a sentence; undefined when it meets every condition given. */
export function unmet(condition: Condition, request: ParsedRequest): string | undefined {
  const { lastUserText: text, toolResult, hasToolResult, system, model, maxTokens } = condition;
  if (text !== undefined && !lastUserText(request).includes(text)) {
    return `the last user text to include ${quote(text)}, and got ${quote(lastUserText(request))}`;
  }
  const results = toolResults(request);
  if (toolResult !== undefined && !results.some((result) => result.text.includes(toolResult))) {
    const got = results.map((result) => quote(result.text)).join(', ');
    return `a tool_result that includes ${quote(toolResult)}, and got ${got === '' ? 'none' : got}`;
  }
  if (hasToolResult !== undefined && hasToolResult !== results.length > 0) {
    return `${hasToolResult ? 'a tool_result' : 'no tool_result'} in the last user message, and got ${results.length}`;
  }
  if (system !== undefined && !systemText(request).includes(system)) {
    return `the system prompt to include ${quote(system)}, and got ${quote(systemText(request))}`;
  }
  if (model !== undefined && request.model !== model) return `model ${quote(model)}, and got ${quote(request.model)}`;
  if (maxTokens !== undefined && request.max_tokens !== maxTokens) {
    return `max_tokens ${maxTokens}, and got ${request.max_tokens}`;
  }
  return undefined;
}

function quote(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
}
