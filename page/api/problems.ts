// Turns errors into HTTP: a status, and a problem of RFC 9457 with one sentence.
import type { Context } from 'hono';
import { reasonOf, showUnseen } from '../../system/text.ts';
import { StoreError } from '../../client/faces/sessions.ts';
import type { ProblemKind } from '../../client/faces/types.ts';
import { ClientProblem } from '../../client/faces/start.ts';
import type { Operation } from '../../client/operations/operations.ts';
import { mayDo, type Role } from '../hosting/people.ts';

type Status = 400 | 401 | 403 | 404 | 405 | 409 | 413 | 415 | 421 | 500 | 503;

const statuses: Readonly<Record<ProblemKind, Status>> = {
  no_session: 404,
  no_call: 409,
  no_schedule: 404,
  closed: 409,
  no_worker: 503,
  refused: 400,
  unanswered: 503,
};

/** Problems of HTTP itself, in addition to those of the client. */
const ofHttp = {
  no_token: 401,
  forbidden: 403,
  not_found: 404,
  no_message: 404,
  wrong_method: 405,
  too_large: 413,
  not_json: 415,
  wrong_host: 421,
  busy: 503,
} as const;

export class HttpProblem extends Error {
  override readonly name = 'HttpProblem';
  readonly kind: keyof typeof ofHttp;
  constructor(kind: keyof typeof ofHttp, message: string) {
    super(message);
    this.kind = kind;
  }
}

/** `what` names the action that needs the role. Throws HttpProblem. */
export function refuseUnless(role: Role, needed: Role, what: string): void {
  if (mayDo(role, needed)) return;
  throw new HttpProblem('forbidden', `${what} needs the role ${needed}, and yours is ${role}: nothing was done`);
}

/** Refuses what only the role `steer` may ask of an operation. Throws HttpProblem. */
export function refuseSteering<Request>(role: Role, operation: Operation<Request>, request: NoInfer<Request>): void {
  const what = operation.steeringIn?.(request);
  if (what !== undefined) refuseUnless(role, 'steer', what);
}

export function httpStatusOf(error: unknown): Status {
  if (error instanceof ClientProblem) return statuses[error.kind];
  if (error instanceof HttpProblem) return ofHttp[error.kind];
  return error instanceof StoreError && error.problem === 'unavailable' ? 503 : 500;
}

const titles: Readonly<Record<string, string>> = {
  no_session: 'No such session',
  no_call: 'The call does not wait',
  no_message: 'No such message',
  closed: 'The session is closed',
  no_worker: 'No worker runs',
  refused: 'The request will not do',
  unanswered: 'Not answered in time',
  no_token: 'A token is needed',
  forbidden: 'Not allowed',
  not_found: 'Not found',
  wrong_method: 'Another method is needed',
  too_large: 'The body is too large',
  not_json: 'The body is not JSON',
  wrong_host: 'Another address is needed',
  busy: 'Too many streams',
  store: 'The store cannot be read',
  defect: 'A defect of the server',
};

type ApiProblem = {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly kind: string;
};

export function problemOf(error: unknown): ApiProblem {
  const isKnown = error instanceof ClientProblem || error instanceof HttpProblem;
  const kind = isKnown ? error.kind : error instanceof StoreError ? 'store' : 'defect';
  const detail = showUnseen(
    reasonOf(error)
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '')
      .join(' '),
  );
  return { type: `urn:perdure:${kind}`, title: titles[kind] ?? kind, status: httpStatusOf(error), detail, kind };
}

export function problemResponse(context: Context, error: unknown): Response {
  const problem = problemOf(error);
  if (problem.status === 401) context.header('WWW-Authenticate', 'Bearer');
  if (problem.status === 405) context.header('Allow', 'GET, POST');
  if (problem.status === 503) context.header('Retry-After', '5');
  return context.body(JSON.stringify(problem), problem.status as Status, {
    'Content-Type': 'application/problem+json',
  });
}
