// Tells whether a request meets a reply's `when` or `expect`.
import type { ParsedRequest, RequestCondition } from './script.ts';
import { lastUserText, systemText, toolResults } from './read-request.ts';
import { isSummaryRequest } from './validate/compaction.ts';

/**
 * Says which condition of a reply's `when` or `expect` a request does not meet; undefined when it
 * meets all of them.
 */
export function describeUnmet(condition: RequestCondition, request: ParsedRequest): string | undefined {
  const { lastUserText: text, toolResult, hasToolResult, system, model, maxTokens, compaction } = condition;
  if (text !== undefined && !lastUserText(request).includes(text)) {
    return `the last user text to include ${quoteText(text)}, and got ${quoteText(lastUserText(request))}`;
  }
  const results = toolResults(request);
  if (toolResult !== undefined && !results.some((result) => result.text.includes(toolResult))) {
    const got = results.map((result) => quoteText(result.text)).join(', ');
    return `a tool_result that includes ${quoteText(toolResult)}, and got ${got === '' ? 'none' : got}`;
  }
  if (hasToolResult !== undefined && hasToolResult !== results.length > 0) {
    return `${hasToolResult ? 'a tool_result' : 'no tool_result'} in the last user message, and got ${results.length}`;
  }
  if (system !== undefined && !systemText(request).includes(system)) {
    return `the system prompt to include ${quoteText(system)}, and got ${quoteText(systemText(request))}`;
  }
  if (model !== undefined && request.model !== model)
    return `model ${quoteText(model)}, and got ${quoteText(request.model)}`;
  if (maxTokens !== undefined && request.max_tokens !== maxTokens) {
    return `max_tokens ${maxTokens}, and got ${request.max_tokens}`;
  }
  if (compaction !== undefined && compaction !== isSummaryRequest(request)) {
    return compaction ? 'a request for a summary' : 'no request for a summary';
  }
  return undefined;
}

function quoteText(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
}
