// What a session is sent: a message for its run, and a question aside.
import { z } from 'zod';
import { asideProblem } from '../../workflows/contract/aside.ts';
import { present } from '../../workflows/contract/present.ts';
import { SIGNALS } from '../../workflows/contract/session.ts';
import type { ActOptions } from '../sessions/decide.ts';
import { messageOf } from '../sessions/message.ts';
import type { Prompt } from '../sessions/prompt.ts';
import { sendSignal } from '../sessions/send.ts';
import type { SendOptions, Sent } from '../sessions/start.ts';
import { askAside as askAndWait, type SideAnswer } from '../sessions/updates/ask-aside.ts';
import { defineOperation } from './operation.ts';
import { prompt, runOptions, text } from './shapes.ts';

export const sent = z.looseObject({ session: text, messageId: text });

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
    options: runOptions.optional(),
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
    return askAndWait(means.options.temporal, await means.lookAtOpen(session), question, by);
  },
});
