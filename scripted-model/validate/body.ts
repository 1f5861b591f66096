// Checks the bytes of a body before they are parsed as JSON, and the JSON before it counts as a
// request.
import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import { apiError, invalidRequest, type ApiError } from '../read-request.ts';

type ParsedBody =
  { readonly kind: 'json'; readonly value: unknown } | { readonly kind: 'invalid'; readonly problem: string };

export function parseBody(bytes: Buffer): ParsedBody {
  if (!isUtf8(bytes)) return invalid('invalid UTF-8');
  const text = bytes.toString('utf8');
  const surrogate = loneSurrogate(text);
  if (surrogate !== undefined) return invalid(surrogate);
  try {
    return { kind: 'json', value: JSON.parse(text) as unknown };
  } catch (error) {
    return invalid(error instanceof Error ? error.message : String(error));
  }
}

function invalid(detail: string): ParsedBody {
  return { kind: 'invalid', problem: `The request body is not valid JSON: ${detail}` };
}

/**
 * Half a surrogate pair in an escape, which JSON.parse accepts and the API does not. In UTF-8 it
 * cannot stand unescaped.
 */
function loneSurrogate(text: string): string | undefined {
  if (!/\\u[dD][89a-fA-F]/.test(text)) return undefined;
  const escapes = /\\(?:u([0-9a-fA-F]{4})|[^])/g;
  let high = -1;
  for (let match = escapes.exec(text); match !== null; match = escapes.exec(text)) {
    const code = match[1] === undefined ? 0 : parseInt(match[1], 16);
    const isLow = code >= 0xdc00 && code <= 0xdfff;
    const follows = high === match.index - 6;
    if (high >= 0 && !(isLow && follows)) return at('no low surrogate in string', high);
    if (isLow && high < 0) return at('unexpected low surrogate in string', match.index);
    high = code >= 0xd800 && code <= 0xdbff ? match.index : -1;
  }
  return high < 0 ? undefined : at('no low surrogate in string', high);
}

function at(what: string, index: number): string {
  return `${what}: line 1 column ${index + 1} (char ${index})`;
}

// The API's demands on a request's headers, in the order it looks at them.

/** A key that is always refused, so that tests have one. */
const BAD_KEY = 'bad-key';

/** The version that took temperature, top_p and top_k; the next one refuses them. */
export const SAMPLING_VERSION = '2023-06-01';

const VERSIONS: readonly unknown[] = [SAMPLING_VERSION, '2026-10-21'];

export function headerProblem(headers: IncomingHttpHeaders): ApiError | undefined {
  const key = headers['x-api-key'];
  const bearer = headers.authorization;
  if (key === undefined && bearer === undefined) return apiError(401, 'x-api-key header is required');
  if (key === BAD_KEY || key === '') return apiError(401, 'invalid x-api-key');
  if (bearer !== undefined && !/^Bearer \S+$/.test(bearer)) return apiError(401, 'Invalid bearer token');
  if (bearer === `Bearer ${BAD_KEY}`) return apiError(401, 'Invalid bearer token');
  if (headers['anthropic-version'] === undefined) return invalidRequest('anthropic-version: header is required');
  if (!VERSIONS.includes(headers['anthropic-version'])) {
    return invalidRequest(`anthropic-version: "${String(headers['anthropic-version'])}" is not a valid version`);
  }
  return undefined;
}

export function contentTypeProblem(headers: IncomingHttpHeaders): ApiError | undefined {
  const type = headers['content-type'] ?? '';
  if (/^application\/json\s*(;|$)/i.test(type)) return undefined;
  return { ...invalidRequest('content-type: must be application/json'), status: 415 };
}
