// Reads requests for scripts: the last user message, and what it says. Works on validated requests.
import type { ContentBlockParam, ToolResultBlockParam } from '@anthropic-ai/sdk/resources/messages';
import type { ParsedRequest } from './script.ts';

export type ToolResult = { readonly id: string; readonly text: string; readonly isError: boolean };

/** Returns the blocks; a system message that only sets the effort has none. */
export function toBlocks(content: string | readonly ContentBlockParam[] | undefined): readonly ContentBlockParam[] {
  if (content === undefined) return [];
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}

function lastUserBlocks(request: ParsedRequest): readonly ContentBlockParam[] {
  const last = request.messages.findLast((message) => message.role === 'user');
  return last === undefined ? [] : toBlocks(last.content);
}

/** Joins the text blocks of the last user message, one a line; tool results are not in it. */
export function lastUserText(request: ParsedRequest): string {
  return lastUserBlocks(request)
    .flatMap((block) => (block.type === 'text' ? [block.text] : []))
    .join('\n');
}

export function listToolResults(blocks: readonly ContentBlockParam[]): readonly ToolResult[] {
  return blocks.flatMap((block) =>
    block.type === 'tool_result'
      ? [{ id: block.tool_use_id, text: joinResultText(block), isError: block.is_error === true }]
      : [],
  );
}

/** Lists the tool results of the last user message, in order. */
export function toolResults(request: ParsedRequest): readonly ToolResult[] {
  return listToolResults(lastUserBlocks(request));
}

/** Joins the text blocks of the system prompt, one a line. */
export function systemText(request: ParsedRequest): string {
  if (request.system === undefined) return '';
  if (typeof request.system === 'string') return request.system;
  return request.system.map((block) => block.text).join('\n');
}

function joinResultText(block: ToolResultBlockParam): string {
  if (block.content === undefined) return '';
  if (typeof block.content === 'string') return block.content;
  return block.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}
