// Lets a request in, or says what the API would refuse it with, in the API's order: key, version,
// type, size, JSON, shape, length, and the thinking that comes back.
import type { IncomingHttpHeaders } from 'node:http';
import { findProfile } from './models/profiles.ts';
import { countPromptTokens, listPromptBlocks } from './prompt-blocks.ts';
import type { ReadBody } from './read-request.ts';
import { type ApiError, buildApiError, buildInvalidRequest } from './api-error.ts';
import type { ParsedRequest } from './script.ts';
import type { Bindings } from './thinking/bindings.ts';
import { buildShownRequest, type Transformation } from './thinking/check-thinking.ts';
import { contentTypeProblem, headerProblem, SAMPLING_VERSION, BETAS } from './validate/betas.ts';
import { requestProblem } from './validate/request.ts';
import type { RequestRules } from './validate/shape.ts';
import { isUtf8 } from 'node:buffer';

/** A request that is answered. */
export type AdmittedRequest = {
  readonly kind: 'admitted';
  /** The request as sent. */
  readonly request: ParsedRequest;
  readonly betas: readonly string[];
  /** The request as the model sees it. */
  readonly visible: ParsedRequest;
  /** The id of the last block of thinking that the model sees. */
  readonly last: string | null;
  /** The changes to thinking that was sent back; undefined when the request did not ask. */
  readonly transformations: readonly Transformation[] | undefined;
};

export type Admission =
  | AdmittedRequest
  /**
   * `body` is the part that could be parsed. `misshapen`: the client built a request that the API
   * never takes (L58).
   */
  | { readonly kind: 'refused'; readonly error: ApiError; readonly misshapen: boolean; readonly body: unknown };

export type AdmissionRules = Omit<RequestRules, 'betas' | 'sampling' | 'counting' | 'verifySignature'> & {
  /** Tokens; undefined: the model's documented window, and for other models any prompt fits. */
  readonly window: number | undefined;
  /**
   * False: only checks that the body is JSON with messages. For clients that are measured, not
   * tested.
   */
  readonly strict: boolean;
};

export function admitRequest(
  headers: IncomingHttpHeaders,
  body: ReadBody,
  { counting, ...rules }: AdmissionRules & Pick<RequestRules, 'counting'>,
  bindings: Bindings,
): Admission {
  const key = headerProblem(headers);
  if (key !== undefined) return refuseRequest(key, key.status === 400);
  const type = contentTypeProblem(headers);
  if (type !== undefined) return refuseRequest(type, true);
  if (body.kind === 'too_large') return refuseRequest(buildApiError(413), false);
  const parsed = parseBody(body.bytes);
  if (parsed.kind === 'invalid') return refuseRequest(buildInvalidRequest(parsed.problem), true);
  const betas = readBetas(headers);
  const sampling = headers['anthropic-version'] === SAMPLING_VERSION;
  const shape = { ...rules, betas, sampling, counting, verifySignature: bindings.verify };
  const problem = rules.strict ? requestProblem(parsed.value, shape) : checkLoosely(parsed.value);
  if (problem !== undefined) return refuseRequest(buildInvalidRequest(problem), true, parsed.value);
  const request = parsed.value as ParsedRequest;
  const tooLong = checkLength(request, rules.window ?? (counting ? undefined : findProfile(request.model)?.window));
  if (tooLong !== undefined) return refuseRequest(buildInvalidRequest(tooLong), false, request);
  if (!rules.strict)
    return { kind: 'admitted', request, betas, visible: request, last: null, transformations: undefined };
  const checked = bindings.check(request, betas);
  if (checked.problem !== undefined) return refuseRequest(buildInvalidRequest(checked.problem), true, request);
  const { transformations, last } = checked;
  const visible = buildShownRequest(request, transformations);
  const reported = betas.includes(BETAS.bindingControls) ? transformations : undefined;
  return { kind: 'admitted', request, betas, visible, last, transformations: reported };
}

export function readBetas(headers: IncomingHttpHeaders): readonly string[] {
  return String(headers['anthropic-beta'] ?? '')
    .split(/[\s,]+/)
    .filter((beta) => beta !== '');
}

function checkLength(request: ParsedRequest, window: number | undefined): string | undefined {
  if (window === undefined) return undefined;
  const tokens = countPromptTokens(listPromptBlocks(request));
  return tokens > window ? `prompt is too long: ${tokens} tokens > ${window} maximum` : undefined;
}

function checkLoosely(value: unknown): string | undefined {
  const messages = (value as { readonly messages?: unknown } | null)?.messages;
  return Array.isArray(messages) && messages.length > 0 ? undefined : 'messages: at least one message is required';
}

function refuseRequest(error: ApiError, misshapen: boolean, body: unknown = null): Admission {
  return { kind: 'refused', error, misshapen, body };
}

// Checks the bytes of a body before they are parsed as JSON, and the JSON before it counts as a
// request.
type ParsedBody =
  { readonly kind: 'json'; readonly value: unknown } | { readonly kind: 'invalid'; readonly problem: string };

export function parseBody(bytes: Buffer): ParsedBody {
  if (!isUtf8(bytes)) return refuseBody('invalid UTF-8');
  const text = bytes.toString('utf8');
  const surrogate = findLoneSurrogate(text);
  if (surrogate !== undefined) return refuseBody(surrogate);
  try {
    return { kind: 'json', value: JSON.parse(text) as unknown };
  } catch (error) {
    return refuseBody(error instanceof Error ? error.message : String(error));
  }
}

function refuseBody(detail: string): ParsedBody {
  return { kind: 'invalid', problem: `The request body is not valid JSON: ${detail}` };
}

/**
 * Finds half a surrogate pair in an escape, which JSON.parse accepts and the API does not. In UTF-8
 * it cannot stand unescaped.
 */
function findLoneSurrogate(text: string): string | undefined {
  if (!/\\u[dD][89a-fA-F]/.test(text)) return undefined;
  const escapes = /\\(?:u([0-9a-fA-F]{4})|[^])/g;
  let high = -1;
  for (let match = escapes.exec(text); match !== null; match = escapes.exec(text)) {
    const code = match[1] === undefined ? 0 : parseInt(match[1], 16);
    const isLow = code >= 0xdc00 && code <= 0xdfff;
    const follows = high === match.index - 6;
    if (high >= 0 && !(isLow && follows)) return describePosition('no low surrogate in string', high);
    if (isLow && high < 0) return describePosition('unexpected low surrogate in string', match.index);
    high = code >= 0xd800 && code <= 0xdbff ? match.index : -1;
  }
  return high < 0 ? undefined : describePosition('no low surrogate in string', high);
}

function describePosition(what: string, index: number): string {
  return `${what}: line 1 column ${index + 1} (char ${index})`;
}
