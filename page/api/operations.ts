// The operations of the HTTP API in one table, from which requests are answered and
// docs/openapi.v1.json is made.
import { agentSessionId } from '../../workflows/contract/ids.ts';
import type { PersonRequest } from '../../client/sessions/history/recent.ts';
import { present } from '../../workflows/contract/present.ts';
import { type Asking, type Operation, postOperation, unlessDone } from './operation.ts';
import { refuseUnless } from './problems.ts';
import { readings } from './reading.ts';
import { scheduling } from './scheduling.ts';
import * as shapes from './schemas.ts';
import { steerings } from './steering.ts';

const decisions: readonly Operation[] = [
  postOperation(decisionFacts('approve', 'Lets the call run.'), shapes.approval, async (asking, body) => {
    const { acting, role, session, call, signal } = asking;
    const edited = body.input !== undefined;
    if (edited) refuseUnless(role, 'steer', 'to change what a call does');
    const isIt = (one: PersonRequest, own: string): boolean =>
      one.kind === 'approve' && one.call === own && one.edited === edited;
    return decide(asking, isIt, acting.approve(session, call, present({ ...body, signal })));
  }),
  postOperation(decisionFacts('deny', 'Denies the call; the model reads why.'), shapes.denial, async (asking, body) => {
    const { acting, role, session, call, signal } = asking;
    const { reason, interrupt } = body;
    if (interrupt === true) refuseUnless(role, 'steer', 'to interrupt');
    const isIt = (one: PersonRequest, own: string): boolean =>
      one.kind === 'deny' && one.call === own && one.reason === reason;
    return decide(asking, isIt, acting.deny(session, call, reason, present({ interrupt, signal })));
  }),
  postOperation(
    decisionFacts('answer', 'Answers a question of the model.'),
    shapes.answerBody,
    async (asking, { text }) => {
      const { acting, session, call, by, signal } = asking;
      const isIt = (one: PersonRequest, own: string): boolean => one.kind === 'answer' && one.call === own;
      return decide(asking, isIt, acting.answer(session, call, text, { by, signal }));
    },
  ),
];

export const operations: readonly Operation[] = [...steerings, ...readings, ...decisions, ...scheduling];

function decisionFacts(name: 'approve' | 'deny' | 'answer', says: string) {
  return {
    name,
    path: `/sessions/{session}/calls/{call}/${name}`,
    role: 'decide',
    says,
    answer: shapes.decided,
  } as const;
}

/** Recognizes a decision. `own` is the call's name in the session that it belongs to. */
type IsIt = (one: PersonRequest, own: string) => boolean;

async function decide(asking: Asking, isIt: IsIt, decision: Promise<unknown>): Promise<object> {
  const { session, call } = asking;
  const there = placeOfCall(session, call);
  await unlessDone({ ...asking, session: there.session }, (one) => isIt(one, there.call), decision);
  return { session, call };
}

/** A call of an agent is decided in the agent's session, whose history has the decision (L70). */
function placeOfCall(session: string, call: string): Pick<Asking, 'session' | 'call'> {
  const [, agent, own] = /^(agent-[0-9a-f]{16}-\d+)\.(.+)$/.exec(call) ?? [];
  if (agent === undefined || own === undefined) return { session, call };
  return { session: agentSessionId(session.replace(/\.agent-[^.]*$/, ''), agent), call: own };
}
