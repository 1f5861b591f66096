// Reads requests for scripts: the last user message, and what it says. Works on validated requests.
import type { ContentBlockParam, ToolResultBlockParam } from '@anthropic-ai/sdk/resources/messages';
import type { ParsedRequest } from './script.ts';
import type { IncomingMessage } from 'node:http';

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

// Reads a request's body into memory, up to the API's limit. A larger body is read to its end and
// dropped: a client that is still sending would see a reset instead of the answer.
const MOST_BYTES = 32 * 1_024 * 1_024;

export type ReadBody = { readonly kind: 'body'; readonly bytes: Buffer } | { readonly kind: 'too_large' };

/** Reads the body. `left`: the client went away before its body was whole. */
export function readBody(request: IncomingMessage): Promise<ReadBody | { readonly kind: 'left' }> {
  return new Promise((resolve) => {
    let chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= MOST_BYTES) chunks.push(chunk);
      else chunks = [];
    });
    request.on('end', () =>
      resolve(size > MOST_BYTES ? { kind: 'too_large' } : { kind: 'body', bytes: Buffer.concat(chunks) }),
    );
    request.on('close', () => resolve({ kind: 'left' }));
    request.on('error', () => resolve({ kind: 'left' }));
  });
}
