// Operations that steer sessions.
import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import { RUN_OPTIONS } from '../../workflows/contract/run-options.ts';
import type { OptionChanges } from '../../workflows/contract/session.ts';
import { refuseUnknown } from '../../client/options.ts';
import { present } from '../../workflows/contract/present.ts';
import type { PersonRequest } from '../../client/sessions/history/recent.ts';
import { type Operation, postOperation, unlessDone } from './operation.ts';
import * as shapes from './schemas.ts';

export const steerings: readonly Operation[] = [
  postOperation(
    {
      name: 'start',
      path: '/sessions',
      role: 'steer',
      status: 201,
      says: 'Opens a session with its first message, or gives an open one its next; durable when it answers.',
      answer: shapes.sent,
    },
    shapes.start,
    ({ acting, key: messageId, traceparent, signal }, { prompt, session, options = {} }) =>
      acting.start(
        prompt,
        present({ ...checkRunOptions(options), session, messageId, traceparent, signal, querySource }),
      ),
  ),
  postOperation(
    {
      name: 'send',
      path: '/sessions/{session}/messages',
      role: 'steer',
      status: 202,
      says: 'The model reads it before its next call; durable when it answers.',
      answer: shapes.sent,
    },
    shapes.message,
    ({ acting, session, key: messageId, traceparent, signal }, { prompt, now, options = {} }) =>
      acting.send(
        session,
        prompt,
        present({ now, messageId, options: checkRunOptions(options), traceparent, signal, querySource }),
      ),
  ),
  postOperation(
    {
      name: 'fork',
      path: '/sessions/{session}/fork',
      role: 'steer',
      status: 201,
      says: 'Begins a session of its own from a point of this one, which may run meanwhile; durable when it answers.',
      answer: shapes.forked,
    },
    shapes.fork,
    ({ acting, session, key: messageId, signal }, { options = {}, ...body }) =>
      acting.fork(session, present({ ...body, options: checkRunOptions(options), messageId, signal })),
  ),
  ...(['interrupt', 'resume'] as const).map((name) =>
    postOperation(
      {
        name,
        path: `/sessions/{session}/${name}`,
        role: 'steer',
        status: 202,
        says: name === 'interrupt' ? 'Ends the run, with what it has.' : 'Ends a wait for the provider early.',
        answer: shapes.done,
      },
      shapes.nothing,
      async ({ acting, session, key: messageId, signal }) => {
        await acting[name](session, present({ messageId, signal }));
        return { session };
      },
    ),
  ),
  postOperation(
    {
      name: 'cancel',
      path: '/sessions/{session}/cancel',
      role: 'steer',
      status: 202,
      says: 'Ends what runs, and the session.',
      answer: shapes.done,
    },
    shapes.nothing,
    async (asking) => {
      const { acting, session, signal } = asking;
      await unlessDone(asking, ({ kind }) => kind === 'cancel', acting.cancel(session, { signal }));
      return { session };
    },
  ),
  postOperation(
    {
      name: 'topUp',
      path: '/sessions/{session}/top-up',
      role: 'steer',
      says: 'Raises limits of the run under way, each counted from its beginning; `exact` also sets and lowers them.',
      answer: shapes.done,
    },
    shapes.limits,
    async (asking, body) => {
      const { acting, session, signal } = asking;
      const limits = present(body);
      const { exact, ...asked } = limits;
      const isIt = (one: PersonRequest): boolean =>
        one.kind === 'topUp' && one.exact === exact && isDeepStrictEqual(one.limits, asked);
      await unlessDone(asking, isIt, acting.topUp(session, limits, { signal }));
      return { session };
    },
  ),
  postOperation(
    {
      name: 'changeRules',
      path: '/sessions/{session}/rules',
      role: 'steer',
      says: 'Gives the run under way more rules that allow, or takes such rules back.',
      answer: shapes.done,
    },
    shapes.ruleChanges,
    async ({ acting, session, signal }, body) => {
      await acting.changeRules(session, present(body), { signal });
      return { session };
    },
  ),
  postOperation(
    {
      name: 'setOptions',
      path: '/sessions/{session}/options',
      role: 'steer',
      says: 'Options from the next run on; null takes one back.',
      answer: shapes.done,
    },
    shapes.options,
    async ({ acting, session, signal }, body) => {
      await acting.setOptions(session, checkRunOptions(body), { signal });
      return { session };
    },
  ),
  postOperation(
    {
      name: 'askAside',
      path: '/sessions/{session}/aside',
      role: 'steer',
      says: 'A question aside: the session’s model answers it, and its conversation keeps no trace.',
      answer: shapes.answeredAside,
    },
    shapes.aside,
    ({ acting, session, signal }, { question }) => acting.askAside(session, question, { signal }),
  ),
  postOperation(
    {
      name: 'snip',
      path: '/sessions/{session}/snip',
      role: 'steer',
      says: 'The model no longer sees these entries, by position.',
      answer: shapes.snipped,
    },
    shapes.snipBody,
    ({ acting, session, signal }, { entries }) => acting.snip(session, entries, { signal }),
  ),
  postOperation(
    {
      name: 'rewind',
      path: '/sessions/{session}/rewind',
      role: 'steer',
      says: 'Takes a session at rest back to an earlier point: conversation, files, or both.',
      answer: shapes.rewindAnswer,
    },
    shapes.rewindBody,
    async ({ acting, session, signal }, body) => {
      const { rewind: _, ...plan } = await acting.rewind(session, { ...present(body), signal });
      return plan;
    },
  ),
  postOperation(
    {
      name: 'undoRewind',
      path: '/sessions/{session}/rewind/undo',
      role: 'steer',
      says: 'Undoes the last rewind, also one that was an undo.',
      answer: shapes.undoAnswer,
    },
    shapes.undoBody,
    async ({ acting, session, signal }, body) => {
      const { turns, ...rewound } = await acting.undoRewind(session, { ...present(body), signal });
      return { rewound, turns };
    },
  ),
];

const querySource = 'api' as const;

/**
 * Refuses the client's other options, such as the workers of a session, which a request cannot set.
 */
export function checkRunOptions(options: z.infer<typeof shapes.options>): OptionChanges {
  refuseUnknown('the options', options, RUN_OPTIONS);
  return options;
}
