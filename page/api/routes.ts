// The routes of the HTTP API in one table, from which requests are answered and
// docs/openapi.v1.json is made.
import { callMethod, type Fields, type Operation } from '../../client/operations/operation.ts';
import { operationList } from '../../client/operations/operations.ts';
import { optionsShape, sent } from '../../client/operations/shapes.ts';
import { agentSessionId } from '../../workflows/contract/ids.ts';
import { present } from '../../workflows/contract/present.ts';
import { refuseSteering } from './problems.ts';
import { readings } from './reading.ts';
import { type ApiRequest, checkRunOptions, postRoute, type Route, unlessDone } from './route.ts';
import { scheduling } from './scheduling.ts';
import * as shapes from './schemas.ts';

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
