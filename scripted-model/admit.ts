// Lets a request in, or says what the API would refuse it with. In the API's order: key, version,
// type, size, JSON, shape, length, and the thinking that comes back.
import type { IncomingHttpHeaders } from 'node:http';
import { profileOf } from './models/profiles.ts';
import { promptBlocks, promptTokens } from './prompt-cache.ts';
import { apiError, invalidRequest, type ApiError, type ReadBody } from './read-request.ts';
import type { ParsedRequest } from './script.ts';
import type { Bindings } from './thinking/bindings.ts';
import { shownRequest, type Transformation } from './thinking/check-thinking.ts';
import { contentTypeProblem, headerProblem, parseBody, SAMPLING_VERSION } from './validate/body.ts';
import { requestProblem } from './validate/request.ts';
import type { RequestRules } from './validate/shape.ts';
import { BETAS } from './validate/betas.ts';

/** A request that is answered. */
export type Admitted = {
  readonly kind: 'admitted';
  /** As sent. */
  readonly request: ParsedRequest;
  readonly betas: readonly string[];
  /** As the model sees it. */
  readonly shown: ParsedRequest;
  /** The block of thinking that it sees last. */
  readonly last: string | null;
  /** What became of thinking that was sent back; undefined when the request did not ask. */
  readonly transformations: readonly Transformation[] | undefined;
};

export type Admission =
  | Admitted
  /**
   * `body`: what could be parsed. `misshapen`: the client built a request that the API never takes
   * (L58).
   */
  | { readonly kind: 'refused'; readonly error: ApiError; readonly misshapen: boolean; readonly body: unknown };

export type AdmissionRules = Omit<RequestRules, 'betas' | 'sampling' | 'counting' | 'verifySignature'> & {
  /** Tokens; undefined: what the documents say of the model, and of others that any prompt fits. */
  readonly window: number | undefined;
  /** False: only that the body is JSON with messages. For clients that are measured, not tested. */
  readonly strict: boolean;
};

export function admit(
  headers: IncomingHttpHeaders,
  body: ReadBody,
  rules: AdmissionRules,
  bindings: Bindings,
  counting: boolean,
): Admission {
  const key = headerProblem(headers);
  if (key !== undefined) return refused(key, key.status === 400);
  const type = contentTypeProblem(headers);
  if (type !== undefined) return refused(type, true);
  if (body.kind === 'too_large') return refused(apiError(413), false);
  const parsed = parseBody(body.bytes);
  if (parsed.kind === 'invalid') return refused(invalidRequest(parsed.problem), true);
  const betas = betasOf(headers);
  const sampling = headers['anthropic-version'] === SAMPLING_VERSION;
  const shape = { ...rules, betas, sampling, counting, verifySignature: bindings.verify };
  const problem = rules.strict ? requestProblem(parsed.value, shape) : looseProblem(parsed.value);
  if (problem !== undefined) return refused(invalidRequest(problem), true, parsed.value);
  const request = parsed.value as ParsedRequest;
  const tooLong = lengthProblem(request, rules.window ?? (counting ? undefined : profileOf(request.model)?.window));
  if (tooLong !== undefined) return refused(invalidRequest(tooLong), false, request);
  if (!rules.strict)
    return { kind: 'admitted', request, betas, shown: request, last: null, transformations: undefined };
  const checked = bindings.check(request, betas);
  if (checked.problem !== undefined) return refused(invalidRequest(checked.problem), true, request);
  const { transformations, last } = checked;
  const shown = shownRequest(request, transformations);
  const told = betas.includes(BETAS.bindingControls) ? transformations : undefined;
  return { kind: 'admitted', request, betas, shown, last, transformations: told };
}

export function betasOf(headers: IncomingHttpHeaders): readonly string[] {
  return String(headers['anthropic-beta'] ?? '')
    .split(/[\s,]+/)
    .filter((beta) => beta !== '');
}

function lengthProblem(request: ParsedRequest, window: number | undefined): string | undefined {
  if (window === undefined) return undefined;
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
