// The operations of the HTTP API: one table, from which requests are answered and docs/openapi.v1.json is made.
import type { Asked } from '../../sessions/history/recent.ts';
import { dropAbsent } from '../../options.ts';
import { type Asking, type Operation, posting, unlessDone } from './operation.ts';
import { readings } from './reading.ts';
import * as shapes from './schemas.ts';
import { steerings } from './steering.ts';

const decisions: readonly Operation[] = [
  posting(deciding('approve', 'Lets the call run.'), shapes.approval, async (asking, body) => {
    const { acting, session, call, signal } = asking;
    const isIt = (one: Asked): boolean =>
      one.kind === 'approve' && one.call === call && one.edited === (body.input !== undefined);
    return decide(asking, isIt, acting.approve(session, call, dropAbsent({ ...body, signal })));
  }),
  posting(deciding('deny', 'Denies the call; the model reads why.'), shapes.denial, async (asking, body) => {
    const { acting, session, call, signal } = asking;
    const { reason, interrupt } = body;
    const isIt = (one: Asked): boolean => one.kind === 'deny' && one.call === call && one.reason === reason;
    return decide(asking, isIt, acting.deny(session, call, reason, dropAbsent({ interrupt, signal })));
  }),
  posting(deciding('answer', 'Answers a question of the model.'), shapes.answer, async (asking, { text }) => {
    const { acting, session, call, by, signal } = asking;
    const isIt = (one: Asked): boolean => one.kind === 'answer' && one.call === call;
    return decide(asking, isIt, acting.answer(session, call, text, { by, signal }));
  }),
];

export const operations: readonly Operation[] = [...steerings, ...readings, ...decisions];

function deciding(name: 'approve' | 'deny' | 'answer', says: string) {
  return {
    name,
    path: `/sessions/{session}/calls/{call}/${name}`,
    role: 'decide',
    says,
    answer: shapes.decided,
  } as const;
}

async function decide(asking: Asking, isIt: (one: Asked) => boolean, decision: Promise<unknown>): Promise<object> {
  await unlessDone(asking, isIt, decision);
  return { session: asking.session, call: asking.call };
}
