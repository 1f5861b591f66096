// What the API asks of a request's headers, in the order it looks at them.
import type { IncomingHttpHeaders } from 'node:http';
import { apiError, invalidRequest } from '../api-error.ts';
import type { ApiError } from '../api-error.ts';

/** A key that is always refused, so that tests have one. */
export const BAD_KEY = 'bad-key';

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
