// Lets a request in, or says what the API would refuse it with. In the API's order: key, version, type, size, JSON, shape, length.
import type { IncomingHttpHeaders } from 'node:http';
import { apiError, invalidRequest } from './api-error.ts';
import type { ApiError } from './api-error.ts';
import { promptBlocks, promptTokens } from './prompt-blocks.ts';
import type { ReadBody } from './read-body.ts';
import type { ParsedRequest } from './script.ts';
import { parseBody } from './validate/body-problem.ts';
import { contentTypeProblem, headerProblem, SAMPLING_VERSION } from './validate/header-problem.ts';
import { requestProblem } from './validate/request-problem.ts';
import type { RequestRules } from './validate/request-problem.ts';

export type Admission =
  | { readonly kind: 'admitted'; readonly request: ParsedRequest }
  /** `body`: what could be parsed. `misshapen`: the client built a request that the API never takes (L58). */
  | { readonly kind: 'refused'; readonly error: ApiError; readonly misshapen: boolean; readonly body: unknown };

export type AdmissionRules = Omit<RequestRules, 'betas' | 'sampling' | 'counting'> & {
  /** Tokens; undefined: any prompt fits. */
  readonly window: number | undefined;
  /** False: only that the body is JSON with messages. For clients that are measured, not tested. */
  readonly strict: boolean;
};

export function admit(
  headers: IncomingHttpHeaders,
  body: ReadBody,
  rules: AdmissionRules,
  counting: boolean,
): Admission {
  const key = headerProblem(headers);
  if (key !== undefined) return refused(key, key.status === 400);
  const type = contentTypeProblem(headers);
  if (type !== undefined) return refused(type, true);
  if (body.kind === 'too_large') return refused(apiError(413), false);
  const parsed = parseBody(body.bytes);
  if (parsed.kind === 'invalid') return refused(invalidRequest(parsed.problem), true);
  const betas = String(headers['anthropic-beta'] ?? '')
    .split(/[\s,]+/)
    .filter((beta) => beta !== '');
  const sampling = headers['anthropic-version'] === SAMPLING_VERSION;
  const shape = { ...rules, betas, sampling, counting };
  const problem = rules.strict ? requestProblem(parsed.value, shape) : looseProblem(parsed.value);
  if (problem !== undefined) return refused(invalidRequest(problem), true, parsed.value);
  const request = parsed.value as ParsedRequest;
  const tooLong = rules.window === undefined ? undefined : lengthProblem(request, rules.window);
  if (tooLong !== undefined) return refused(invalidRequest(tooLong), false, request);
  return { kind: 'admitted', request };
}

function lengthProblem(request: ParsedRequest, window: number): string | undefined {
  const tokens = promptTokens(promptBlocks(request));
  return tokens > window ? `prompt is too long: ${tokens} tokens > ${window} maximum` : undefined;
}

function looseProblem(value: unknown): string | undefined {
  const messages = (value as { readonly messages?: unknown } | null)?.messages;
  return Array.isArray(messages) && messages.length > 0 ? undefined : 'messages: at least one message is required';
}

function refused(error: ApiError, misshapen: boolean, body: unknown = null): Admission {
  return { kind: 'refused', error, misshapen, body };
}
