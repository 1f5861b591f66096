// The ask_user tool (L81): a question to people, which waits as an approval does, with no slot and
// no process held.
import { z } from 'zod';
import type { DelegatedEnd } from '../../workflows/contract/delegation.ts';
import { markPlainEnd } from '../plain-end.ts';
import { defineDelegatedTool, ToolFailure, type Tool, type ToolOutput } from '../tool.ts';

const LONGEST_QUESTION = 4_000;
const MOST_OPTIONS = 10;
const LONGEST_OPTION = 200;
const LONGEST_SECONDS = 366 * 24 * 60 * 60;

/** `now` returns milliseconds since the epoch. */
export function createAskUserTool(now: () => number = Date.now): Tool {
  return markPlainEnd(
    defineDelegatedTool({
      name: 'ask_user',
      description:
        'Asks the user a question and waits for the answer, which may take days and costs nothing meanwhile. Use it when you cannot go on ' +
        'well without a decision of theirs. With options they choose one of these. Without an answer by the deadline you are told so.',
      inputSchema: z.strictObject({
        question: z.string().trim().min(1).max(LONGEST_QUESTION),
        options: z
          .array(z.string().trim().min(1).max(LONGEST_OPTION).regex(/^.*$/, 'an option is one line'))
          .min(2)
          .max(MOST_OPTIONS)
          .refine((options) => new Set(options).size === options.length, 'the same option stands there twice')
          .optional(),
        deadline: z.iso
          .datetime({ offset: true, local: true })
          .optional()
          .describe('Until when an answer is waited for, such as 2027-01-31T09:00:00+01:00'),
      }),
      risk: 'read',
      // Nothing runs in parallel to it: the calls after it may be meant for one of the answers.
      safe: () => false,
      canUse: (_input, { mode }) =>
        mode === 'dontAsk' ? { kind: 'deny', why: 'nobody is asked anything in this run (mode "dontAsk")' } : undefined,
      delegate: ({ options, deadline }) => {
        const choices = options === undefined ? {} : { options };
        if (deadline === undefined) return { kind: 'question', ...choices };
        const until = Date.parse(deadline);
        const seconds = (until - now()) / 1_000;
        if (seconds <= 0) throw new ToolFailure(`The deadline ${deadline} has passed.`);
        if (seconds > LONGEST_SECONDS) throw new ToolFailure('A question waits for at most 366 days.');
        return { kind: 'question', ...choices, until, seconds };
      },
      conclude: (_input, end) => wordAnswer(end, now()),
    }),
  );
}

function wordAnswer(end: DelegatedEnd, now: number): ToolOutput {
  if (end.kind === 'answered' && end.body.kind === 'text') return { content: `The user answered: ${end.body.text}` };
  return { content: `Nobody answered in time. It is ${new Date(now).toISOString()}: go on without an answer.` };
}
