// An answer of the API that is not a message: its status, its error type, and the headers that
// clients decide retries by.
import type { Json, RequestProblem } from './validate/shape.ts';
import { present } from '../workflows/contract/present.ts';

export type ApiError = {
  readonly status: number;
  readonly type: string;
  readonly message: string;
  readonly retryAfter?: number | string;
  readonly shouldRetry?: boolean;
  /** Details with `error_code`. */
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

function findErrorType(status: number): string {
  return TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error');
}

export function buildApiError(status: number, message?: string): ApiError {
  return { status, type: findErrorType(status), message: message ?? MESSAGES[status] ?? `status ${status}` };
}

export function buildInvalidRequest(problem: RequestProblem): ApiError {
  if (typeof problem === 'string') return buildApiError(400, problem);
  return { ...buildApiError(400, problem.message), details: problem.details };
}

/** Builds the body of an error answer, which is also the data of an `error` event. */
export function buildErrorData(type: string, message: string, requestId?: string, details?: Json): object {
  const error = { type: 'error', error: { type, message, ...present({ details }) } };
  return requestId === undefined ? error : { ...error, request_id: requestId };
}

export function buildErrorHeaders(error: ApiError): Record<string, string> {
  return {
    'content-type': 'application/json',
    ...(error.retryAfter === undefined ? {} : { 'retry-after': String(error.retryAfter) }),
    ...(error.shouldRetry === undefined ? {} : { 'x-should-retry': String(error.shouldRetry) }),
  };
}
