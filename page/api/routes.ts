// The routes of the HTTP API in one table, from which requests are answered and
// docs/openapi.v1.json is made.
import { callMethod, type Fields, type Operation, operationList } from '../../client/operations/operations.ts';
import { optionsShape, sent, nothing } from '../../client/operations/operation.ts';
import { agentSessionId } from '../../client/faces/contract.ts';
import { present } from '../../client/faces/basics.ts';
import { ClientProblem } from '../../client/faces/start.ts';
import type { TranscriptEntry } from '../../client/faces/types.ts';
import { refuseSteering } from './problems.ts';
import { type ApiRequest, checkRunOptions, postRoute, type Route, unlessDone, getRoute } from './route.ts';
import { scheduling } from './scheduling.ts';
import * as shapes from './schemas.ts';
import type { z } from 'zod';

const SIZE = 200;
const LARGEST = 1_000;

const readings: readonly Route[] = [
  getRoute(
    { name: 'list', path: '/sessions', says: 'Sessions, newest first or as the filter says.', answer: shapes.page },
    shapes.listing,
    ({ ports, signal }, query) => ports.page({ ...present(query), signal }),
  ),
  getRoute(
    { name: 'describe', path: '/sessions/{session}', says: 'All that is known of it.', answer: shapes.session },
    nothing,
    ({ ports, session }) => ports.describe(session),
  ),
  getRoute(
    {
      name: 'result',
      path: '/sessions/{session}/result',
      says: 'The outcome of a run that has ended; null when none has.',
      answer: shapes.outcome,
    },
    shapes.whichRun,
    async ({ ports, session, signal }, { run }) => ({ result: await ports.result(session, run, { signal }) }),
  ),
  getRoute(
    {
      name: 'transcript',
      path: '/sessions/{session}/transcript',
      says: 'All that was ever said, over compactions, a piece at a time.',
      answer: shapes.transcript,
    },
    shapes.reading,
    pieceOf,
  ),
  getRoute(
    {
      name: 'files',
      path: '/sessions/{session}/files',
      says: 'The captures of its files, and the calls that changed them.',
      answer: shapes.captures,
    },
    nothing,
    async ({ ports, session, signal }) => ({ captures: await ports.files(session, { signal }) }),
  ),
  getRoute(
    {
      name: 'diff',
      path: '/sessions/{session}/diff',
      says: 'What has changed in its folders between two points, and in all.',
      answer: shapes.diff,
    },
    shapes.diffing,
    ({ ports, session, signal }, { path, ...query }) =>
      ports.diff(session, { ...present(query), ...(path !== undefined && { paths: [path] }), signal }),
  ),
  ...['/approvals', '/sessions/{session}/approvals'].map((path) =>
    getRoute(
      {
        name: path === '/approvals' ? 'allApprovals' : 'approvals',
        path,
        says: 'Calls that wait for a decision and, with `question`, for an answer.',
        answer: shapes.approvals,
      },
      nothing,
      async ({ acting, session, signal }) => ({
        approvals: await acting.approvals(session === '' ? undefined : session, { signal }),
      }),
    ),
  ),
];

async function pieceOf(
  { ports, session, signal }: ApiRequest,
  { from = 0, size = SIZE }: z.infer<typeof shapes.reading>,
): Promise<object> {
  if (size < 1 || size > LARGEST)
    throw new ClientProblem('refused', `a piece of ${size} entries: give a whole number from 1 to ${LARGEST}`);
  const entries: TranscriptEntry[] = [];
  for await (const entry of ports.transcript(session, { from, signal })) {
    if (entries.length === size) return { entries, next: entry.position };
    entries.push(entry);
  }
  return { entries, next: null };
}

const querySource = 'api' as const;
const answers = { session: shapes.done, call: shapes.decided };

const start = postRoute(
  {
    name: 'start',
    path: '/sessions',
    role: 'steer',
    status: 201,
    says: 'Opens a session with its first message, or gives an open one its next; durable when it answers.',
    answer: sent,
  },
  shapes.start,
  ({ acting, key: messageId, traceparent, signal }, { prompt, session, options = {} }) =>
    acting.start(
      prompt,
      present({ ...checkRunOptions(options), session, messageId, traceparent, signal, querySource }),
    ),
);

export const routes: readonly Route[] = [
  start,
  ...routesOf('session'),
  ...readings,
  ...routesOf('call'),
  ...scheduling,
];

function routesOf(target: Operation['target']): readonly Route[] {
  return operationList.filter((operation) => operation.target === target).map(routeOf);
}

function routeOf(operation: Operation): Route {
  const { name, target, role, summary, path = name, status, body, answer = answers[target] } = operation;
  const base = target === 'call' ? '/sessions/{session}/calls/{call}' : '/sessions/{session}';
  const facts = { name, path: `${base}/${path}`, role, says: summary, answer, ...present({ status }) };
  return postRoute(facts, body, async (request, fields) => {
    checkRunOptions(body === optionsShape ? fields : (fields['options'] as object | undefined));
    const result = await carryOut(operation, request, present(fields));
    if (operation.answer !== undefined) return operation.answerOf?.(result) ?? (result as object);
    const { session, call } = request;
    return target === 'call' ? { session, call } : { session };
  });
}

async function carryOut(operation: Operation, request: ApiRequest, body: Fields): Promise<unknown> {
  const { target, wraps, options = [], isAppliedBy } = operation;
  const { acting, role, session, call, key, traceparent, signal } = request;
  const fields = { ...(wraps === undefined ? body : { [wraps]: body }), ...(target === 'call' && { call }) };
  refuseSteering(role, operation, fields);
  const facts = Object.entries(present({ messageId: key, traceparent, querySource }));
  const known = Object.fromEntries(facts.filter(([fact]) => options.includes(fact)));
  const doing = callMethod(acting, operation, session, { ...fields, ...known, signal });
  if (!isAppliedBy) return doing;
  const there = placeOfCall(session, call);
  const own = { ...fields, call: there.call };
  return unlessDone({ ...request, session: there.session }, (earlier) => isAppliedBy(earlier, own), doing);
}

/** A call of an agent is decided in the agent's session, whose history has the decision (L70). */
function placeOfCall(session: string, call: string): Pick<ApiRequest, 'session' | 'call'> {
  const [, agent, own] = /^(agent-[0-9a-f]{16}-\d+)\.(.+)$/.exec(call) ?? [];
  if (agent === undefined || own === undefined) return { session, call };
  return { session: agentSessionId(session.replace(/\.agent-[^.]*$/, ''), agent), call: own };
}
