// Operations that steer a run and its session: messages, stops, and changes of limits, rules and
// options (Q10). Messages and stops are durable once the server has them. A worker takes the rest,
// and may refuse it with a sentence.
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { asideProblem } from '../../workflows/contract/aside.ts';
import { optionsProblem } from '../../workflows/contract/options-problem.ts';
import { permissionsProblem } from '../../workflows/contract/permission-rules.ts';
import { present } from '../../workflows/contract/present.ts';
import { LIMITS, type NewLimits } from '../../workflows/contract/run-options.ts';
import {
  type OptionChanges,
  type RuleChanges,
  SIGNALS,
  type TopUp,
  UPDATES,
} from '../../workflows/contract/session.ts';
import type { Moved } from '../../workflows/contract/hosts.ts';
import type { SignalOnce } from '../../workflows/contract/steered.ts';
import type { KeysOf } from '../options.ts';
import type { ActOptions } from '../sessions/waiting-approval.ts';
import type { MoveOptions } from '../sessions/move-session.ts';
import { findWrongOption, messageOf } from '../sessions/message.ts';
import { callUntilAnswered, patience } from '../sessions/persist.ts';
import type { Prompt } from '../sessions/prompt.ts';
import { callSession, sendSignal } from '../sessions/send.ts';
import type { OnceOptions, SendOptions, Sent } from '../sessions/start.ts';
import { requestAside, type SideAnswer } from '../sessions/updates/update.ts';
import { defineOperation, list, nothing, optionsShape, prompt, sent, text } from './operation.ts';

export const send = defineOperation<SendOptions & { readonly prompt: Prompt }, Sent>({
  name: 'send',
  target: 'session',
  role: 'steer',
  path: 'messages',
  summary: 'The model reads it before its next call; durable when it answers.',
  status: 202,
  takes: ['prompt'],
  body: z.strictObject({
    prompt,
    now: z.boolean().describe('interrupts what runs').optional(),
    options: optionsShape.optional(),
  }),
  options: ['messageId', 'traceparent', 'querySource', 'compact'],
  answer: sent,
  done: 'Sent.',
  async run(means, id, { prompt: task, messageId, now, ...facts }) {
    const session = await means.reach(id);
    const message = await messageOf(means.options, task, { id: messageId, ...facts });
    const arg = present({ ...message, now: now || undefined });
    await sendSignal(means.options.temporal, session, SIGNALS.message, [arg]);
    return { session, messageId: message.id };
  },
});

export const askAside = defineOperation<ActOptions & { readonly question: string }, SideAnswer>({
  name: 'askAside',
  target: 'session',
  role: 'steer',
  path: 'aside',
  summary: 'A question aside: the session’s model answers it, and its conversation keeps no trace.',
  takes: ['question'],
  body: z.strictObject({ question: text }),
  answer: z.looseObject({
    answer: text,
    cut: z.boolean().describe('there was more of it'),
    model: text,
    usage: z.looseObject({ input: z.int(), output: z.int(), cacheRead: z.int(), cacheWrite: z.int() }),
    costUsd: z.number().nullable().describe('null: a price is not known'),
  }),
  problemOf: ({ question }) => asideProblem(question),
  run: async (means, session, { question, ...options }) => {
    const by = means.actor(options);
    return requestAside(means.options.temporal, await means.lookAtOpen(session), question, by);
  },
});

export const interrupt = defineOperation<OnceOptions>({
  name: 'interrupt',
  target: 'session',
  role: 'steer',
  summary: 'Ends the run, with what it has.',
  status: 202,
  body: nothing,
  options: ['messageId'],
  done: 'Interrupting the run.',
  run: (means, session, options) => means.sendOnce(session, 'interrupt', options),
});

export const resume = defineOperation<OnceOptions>({
  name: 'resume',
  target: 'session',
  role: 'steer',
  summary: 'Ends a wait for the provider early.',
  status: 202,
  body: nothing,
  options: ['messageId'],
  done: 'Resuming.',
  run: (means, session, options) => means.sendOnce(session, 'resume', options),
});

/** Milliseconds for which the server may refuse to pass on who cancels. */
const NAME_WITHIN_MS = 5_000;

export const cancel = defineOperation<ActOptions>({
  name: 'cancel',
  target: 'session',
  role: 'steer',
  summary: 'Ends what runs, and the session.',
  status: 202,
  body: nothing,
  done: 'Ending the session.',
  isAppliedBy: ({ kind }) => kind === 'cancel',
  async run(means, session, options) {
    const { temporal } = means.options;
    const handle = temporal.workflow.getHandle(session);
    // Temporal's cancel does not tell the session who asks, so a signal says it first. A flooded
    // session takes no more signals and must end all the same; then no name is recorded.
    const signal: SignalOnce = { signal: 'cancel', id: randomUUID(), by: means.actor(options) };
    const name = () => handle.signal(SIGNALS.cancel, signal);
    const briefly = { ...patience, total: NAME_WITHIN_MS };
    await callUntilAnswered(temporal, `reach session ${session}`, name, briefly).catch(() => undefined);
    await callSession(temporal, session, `cancel session ${session}`, () => handle.cancel());
  },
});

const limitFields = Object.fromEntries(
  Object.entries(LIMITS).map(([name, { raises }]) => [name, z.number().describe(raises).optional()]),
) as Readonly<Record<keyof NewLimits, z.ZodOptional<z.ZodNumber>>>;

export const topUp = defineOperation<ActOptions & { readonly limits: TopUp }>({
  name: 'topUp',
  target: 'session',
  role: 'steer',
  path: 'top-up',
  summary: 'Raises limits of the run under way, each counted from its beginning; `exact` also sets and lowers them.',
  wraps: 'limits',
  body: z.strictObject({ ...limitFields, exact: z.literal(true).optional() } satisfies KeysOf<TopUp>),
  done: 'Limit updated.',
  problemOf(request) {
    const { exact: _, ...limits } = request.limits;
    if (Object.keys(limits).length > 0) return optionsProblem(limits);
    return `no limit is named: give ${Object.keys(LIMITS).join(', ')}`;
  },
  run: (means, session, { limits, ...options }) => means.updateOpen(session, UPDATES.topUp, limits, options),
  isAppliedBy: (earlier, { limits: { exact, ...limits } }) =>
    earlier.kind === 'topUp' && earlier.exact === exact && isDeepStrictEqual(earlier.limits, limits),
});

export const changeRules = defineOperation<ActOptions & { readonly rules: RuleChanges }>({
  name: 'changeRules',
  target: 'session',
  role: 'steer',
  path: 'rules',
  summary: 'Gives the run under way more rules that allow, or takes such rules back.',
  wraps: 'rules',
  body: z.strictObject({
    allow: list.optional(),
    drop: list.optional(),
    lasts: z.literal('session').optional(),
  } satisfies KeysOf<RuleChanges>),
  problemOf: ({ rules: { allow, drop } }) => permissionsProblem({ allow }) ?? permissionsProblem({ allow: drop }),
  run: (means, session, { rules, ...options }) => means.updateOpen(session, UPDATES.changeRules, rules, options),
});

export const setOptions = defineOperation<ActOptions & { readonly changes: OptionChanges }>({
  name: 'setOptions',
  target: 'session',
  role: 'steer',
  path: 'options',
  summary: 'Options from the next run on; null takes one back.',
  wraps: 'changes',
  body: optionsShape,
  done: 'Saved. Applies from the next run on.',
  problemOf: ({ changes }) =>
    Object.keys(changes).length === 0 ? 'no option is given: name what is to change' : findWrongOption(changes),
  run: (means, session, { changes, ...options }) => means.updateOpen(session, UPDATES.setOptions, changes, options),
});

export const move = defineOperation<MoveOptions, Moved>({
  name: 'move',
  target: 'session',
  role: 'steer',
  summary: 'Moves the session with its files to another host, where hosts share a store.',
  status: 202,
  body: z.strictObject({ host: text.describe('the PERDURE_HOST of its workers; absent: any other').optional() }),
  answer: z.looseObject({
    kind: z
      .enum(['moved', 'later'])
      .describe('`later`: before its next model call, or when its background agents have ended'),
    host: z.looseObject({ id: text, name: text }).optional(),
  }),
  done: 'Moving.',
  async run(means, session, options) {
    const { moveSession } = await import('../sessions/move-session.ts');
    return moveSession(means, session, { ...options, by: means.actor(options) });
  },
});
