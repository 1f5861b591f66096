// What scripts ask about a request: its last user message, and what that says. Works on validated requests.
import type { ContentBlockParam, ToolResultBlockParam } from '@anthropic-ai/sdk/resources/messages';
import type { ParsedRequest } from './script.ts';

export type ToolResult = { readonly id: string; readonly text: string; readonly isError: boolean };

export function blocksOf(content: string | readonly ContentBlockParam[]): readonly ContentBlockParam[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}

export function lastUserBlocks(request: ParsedRequest): readonly ContentBlockParam[] {
  const last = request.messages.findLast((message) => message.role === 'user');
  return last === undefined ? [] : blocksOf(last.content);
}

/** The text blocks of the last user message, one a line; tool results are not in it. */
export function lastUserText(request: ParsedRequest): string {
  return lastUserBlocks(request)
    .flatMap((block) => (block.type === 'text' ? [block.text] : []))
    .join('\n');
}

export function toolResultsIn(blocks: readonly ContentBlockParam[]): readonly ToolResult[] {
  return blocks.flatMap((block) =>
    block.type === 'tool_result'
      ? [{ id: block.tool_use_id, text: resultText(block), isError: block.is_error === true }]
      : [],
  );
}

/** The tool results of the last user message, in order. */
export function toolResults(request: ParsedRequest): readonly ToolResult[] {
  return toolResultsIn(lastUserBlocks(request));
}

export function systemText(request: ParsedRequest): string {
  if (request.system === undefined) return '';
  if (typeof request.system === 'string') return request.system;
  return request.system.map((block) => block.text).join('\n');
}

function resultText(block: ToolResultBlockParam): string {
  if (block.content === undefined) return '';
  if (typeof block.content === 'string') return block.content;
  return block.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}
