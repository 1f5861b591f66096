// Errors as the SDKs read them (G13–G15): an envelope with a type, a sentence and the request's id.
import { StoreError } from '../client/faces/sessions.ts';
import { ClientProblem } from '../client/faces/start.ts';
import type { ProblemKind } from '../client/faces/types.ts';
import { HttpProblem } from '../page/api/problems.ts';
import { onOneLine, reasonOf, showUnseen } from '../system/text.ts';

export type Status = 400 | 401 | 403 | 404 | 409 | 412 | 413 | 415 | 421 | 429 | 500 | 503;
type Details = Readonly<Record<string, unknown>>;

const types: Readonly<Record<Status, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'invalid_request_error',
  412: 'invalid_request_error',
  413: 'invalid_request_error',
  415: 'invalid_request_error',
  421: 'invalid_request_error',
  429: 'rate_limit_error',
  500: 'api_error',
  503: 'overloaded_error',
};

/** An answer that is an error. `details.error_code` tells a program which one it is. */
export class ManagedError extends Error {
  override readonly name = 'ManagedError';
  readonly status: Status;
  readonly details: Details | undefined;
  /** Fields of the error besides its message: a type of its own among them. */
  readonly fields: Details | undefined;
  constructor(status: Status, message: string, details?: Details, fields?: Details) {
    super(message);
    this.status = status;
    this.details = details;
    this.fields = fields;
  }
}

/** `param` is the path of the field that is wrong. */
export function invalid(message: string, param?: string, code?: string): ManagedError {
  const details = { ...(code !== undefined && { error_code: code }), ...(param !== undefined && { param }) };
  return new ManagedError(400, message, Object.keys(details).length > 0 ? details : undefined);
}

/** Refuses by name what this server does not do, rather than to accept and ignore it (G4). */
export function unsupported(param: string, what: string): ManagedError {
  return invalid(`${param}: ${what}`, param, 'perdure_unsupported');
}

export function notServed(capability: string): ManagedError {
  const details = { error_code: 'perdure_not_served', capability };
  return new ManagedError(404, `Perdure does not serve ${capability}: see docs/managed.md for what it does`, details);
}

export function notFound(what: string, id: string, code?: string): ManagedError {
  const details = code === undefined ? undefined : { error_code: code };
  return new ManagedError(404, `${what} ${JSON.stringify(id.slice(0, 80))} was not found`, details);
}

/** A conflict that no retry ends. */
export const conflict = (code: string, message: string): ManagedError =>
  new ManagedError(409, message, { error_code: code });

const ofClient: Readonly<Record<ProblemKind, Status>> = {
  refused: 400,
  no_session: 404,
  no_call: 400,
  no_schedule: 404,
  closed: 400,
  no_worker: 503,
  unanswered: 503,
};

function statusOf(error: unknown): Status {
  if (error instanceof ManagedError) return error.status;
  if (error instanceof ClientProblem) return ofClient[error.kind];
  if (error instanceof HttpProblem) return error.kind === 'busy' ? 429 : 400;
  return error instanceof StoreError && error.problem === 'unavailable' ? 503 : 500;
}

/** Says in one line what went wrong. */
export const lineOf = (error: unknown): string => showUnseen(onOneLine(reasonOf(error)));

export type ErrorAnswer = {
  readonly status: Status;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
};

/** Makes the answer of an error; the SDKs repeat 409 and 5xx unless a header forbids it (G14). */
export function errorAnswer(error: unknown, requestId: string): ErrorAnswer {
  const status = statusOf(error);
  const { details, fields } = error instanceof ManagedError ? error : {};
  const message = lineOf(error);
  const isFinal = status < 500 && status !== 429;
  return {
    status,
    headers: {
      ...(isFinal && { 'x-should-retry': 'false' }),
      ...(status === 503 && { 'retry-after': '1' }),
    },
    body: {
      type: 'error',
      error: { type: types[status], message, ...(details && { details }), ...fields },
      request_id: requestId,
    },
  };
}
