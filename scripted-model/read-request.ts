// Reads requests for scripts: the last user message, and what it says. Works on validated requests.
import type { IncomingMessage } from 'node:http';
import type { ContentBlockParam, ToolResultBlockParam } from '@anthropic-ai/sdk/resources/messages';
import type { ParsedRequest } from './script.ts';
import type { Json, Problem } from './validate/shape.ts';

export type ToolResult = { readonly id: string; readonly text: string; readonly isError: boolean };

/** Of a system message that only sets the effort there are none. */
export function blocksOf(content: string | readonly ContentBlockParam[] | undefined): readonly ContentBlockParam[] {
  if (content === undefined) return [];
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

/** The text blocks of the system prompt, one a line. */
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

// Reads a request's body into memory, up to the API's limit. What is too large is read to its end
// and dropped: a client that is still sending would see a reset instead of the answer.

const MOST_BYTES = 32 * 1_024 * 1_024;

export type ReadBody = { readonly kind: 'body'; readonly bytes: Buffer } | { readonly kind: 'too_large' };

/** `left`: the client went away before its body was whole. */
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

// An answer of the API that is not a message: its status, its error type, and the headers clients
// decide retries by.

export type ApiError = {
  readonly status: number;
  readonly type: string;
  readonly message: string;
  readonly retryAfter?: number | string;
  readonly shouldRetry?: boolean;
  /** With `error_code`. */
  readonly details?: Json;
};

const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  408: 'timeout_error',
  409: 'conflict_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

const MESSAGES: Readonly<Record<number, string>> = {
  401: 'invalid x-api-key',
  403: 'Your account does not have permission to use the specified resource.',
  404: 'Not found',
  408: 'Request timed out',
  409: 'The request conflicts with the current state of the resource',
  413: 'Request exceeds the maximum size',
  429: 'This request would exceed your rate limit. Please try again later.',
  500: 'Internal server error',
  502: 'Bad gateway',
  503: 'Service unavailable',
  504: 'Request timed out',
  529: 'Overloaded',
};

function errorType(status: number): string {
  return TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error');
}

export function apiError(status: number, message?: string): ApiError {
  return { status, type: errorType(status), message: message ?? MESSAGES[status] ?? `status ${status}` };
}

export function invalidRequest(problem: Problem): ApiError {
  if (typeof problem === 'string') return apiError(400, problem);
  return { ...apiError(400, problem.message), details: problem.details };
}

/** The body of an error answer, and the data of an `error` event. */
export function errorData(type: string, message: string, requestId?: string, details?: Json): object {
  const error = { type: 'error', error: { type, message, ...(details === undefined ? {} : { details }) } };
  return requestId === undefined ? error : { ...error, request_id: requestId };
}

export function errorHeaders(error: ApiError): Record<string, string> {
  return {
    'content-type': 'application/json',
    ...(error.retryAfter === undefined ? {} : { 'retry-after': String(error.retryAfter) }),
    ...(error.shouldRetry === undefined ? {} : { 'x-should-retry': String(error.shouldRetry) }),
  };
}
