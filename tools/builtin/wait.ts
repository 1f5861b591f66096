// The wait tool (L82): the run is parked on a durable timer, with no slot and no process held, for
// seconds or for weeks.
import { z } from 'zod';
import type { DelegatedEnd } from '../../workflows/contract/delegation.ts';
import { markPlainEnd } from '../plain-end.ts';
import { defineDelegatedTool, ToolFailure, type Tool } from '../tool.ts';

const DAY = 24 * 60 * 60;
const LONGEST_DAYS = 366;

/** `now` returns milliseconds since the epoch. */
export function createWaitTool(now: () => number = Date.now): Tool {
  return markPlainEnd(
    defineDelegatedTool({
      name: 'wait',
      description:
        'Waits, for a number of seconds or until a time, and costs nothing meanwhile: use it instead of sleep for more than a minute. ' +
        `With message: true it also ends when the user sends a message; with that alone it waits for one, ${LONGEST_DAYS} days at most. ` +
        'The user can end it at any time.',
      inputSchema: z.strictObject({
        seconds: z
          .number()
          .positive()
          .max(LONGEST_DAYS * DAY)
          .optional(),
        until: z.iso.datetime({ offset: true, local: true }).optional().describe('Such as 2027-01-31T09:00:00+01:00'),
        message: z.boolean().optional().describe('Whether a message of the user ends the wait'),
      }),
      risk: 'read',
      // Nothing runs in parallel to it: the calls after it are meant for later.
      safe: () => false,
      delegate: ({ seconds, until, message = false }) => {
        if (seconds !== undefined && until !== undefined) throw new ToolFailure('Give either seconds or until.');
        if (seconds === undefined && until === undefined && !message)
          throw new ToolFailure('Give seconds, until, or message: true.');
        const at = now();
        const longest = at + LONGEST_DAYS * DAY * 1_000;
        const end = until !== undefined ? Date.parse(until) : seconds !== undefined ? at + seconds * 1_000 : longest;
        if (end > longest) throw new ToolFailure(`A wait lasts at most ${LONGEST_DAYS} days.`);
        return { kind: 'wait', until: end, seconds: Math.max(0, end - at) / 1_000, message };
      },
      conclude: (_input, end) => ({ content: `${describeWaitEnd(end)} It is ${new Date(now()).toISOString()}.` }),
    }),
  );
}

function describeWaitEnd(end: DelegatedEnd): string {
  if (end.kind !== 'waited' || end.by === 'time') return 'The time is over.';
  return end.by === 'message' ? 'A message ended the wait.' : 'The user ended the wait.';
}
