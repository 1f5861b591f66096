// Checks a request's headers in the order in which the API looks at them.
import type { IncomingHttpHeaders } from 'node:http';
import { buildApiError, buildInvalidRequest, type ApiError } from '../api-error.ts';

/** A key that is always refused, for tests. */
const BAD_KEY = 'bad-key';

/** The version that took temperature, top_p and top_k; the next one refuses them. */
export const SAMPLING_VERSION = '2023-06-01';

const VERSIONS: readonly unknown[] = [SAMPLING_VERSION, '2026-10-21'];

export function headerProblem(headers: IncomingHttpHeaders): ApiError | undefined {
  const key = headers['x-api-key'];
  const bearer = headers.authorization;
  if (key === undefined && bearer === undefined) return buildApiError(401, 'x-api-key header is required');
  if (key === BAD_KEY || key === '') return buildApiError(401, 'invalid x-api-key');
  if (bearer !== undefined && !/^Bearer \S+$/.test(bearer)) return buildApiError(401, 'Invalid bearer token');
  if (bearer === `Bearer ${BAD_KEY}`) return buildApiError(401, 'Invalid bearer token');
  if (headers['anthropic-version'] === undefined) return buildInvalidRequest('anthropic-version: header is required');
  if (!VERSIONS.includes(headers['anthropic-version'])) {
    return buildInvalidRequest(`anthropic-version: "${String(headers['anthropic-version'])}" is not a valid version`);
  }
  return undefined;
}

export function contentTypeProblem(headers: IncomingHttpHeaders): ApiError | undefined {
  const type = headers['content-type'] ?? '';
  if (/^application\/json\s*(;|$)/i.test(type)) return undefined;
  return { ...buildInvalidRequest('content-type: must be application/json'), status: 415 };
}
