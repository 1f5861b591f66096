// What one attempt at a reply may use, and how what it does is shown to watchers.
import { randomUUID } from 'node:crypto';
import type { CallModel } from '../../workflows/contract/activities.ts';
import { addSpend } from '../../workflows/contract/loop.ts';
import type { Attempt } from '../attempt.ts';
import type { Deps } from '../deps.ts';
import type { LiveWriter } from '../live/events.ts';
import { attemptSignal } from '../tools/attempt-signal.ts';
import type { RunConfig } from '../run-config.ts';
import type { ReplyPort } from './attempt-reply.ts';
import type { Tries } from './failed-attempt.ts';
import { spendOf } from './spend.ts';

/** How long a call that started early may outlast the stream before it is left to run the regular way (L37). */
const EARLY_GRACE_MS = 500;

export function replyPort(
  deps: Deps,
  attempt: Attempt,
  config: RunConfig,
  live: LiveWriter,
  { iteration }: CallModel,
  tries: Tries,
): ReplyPort {
  const { tools } = deps;
  const given = attemptSignal(attempt);
  return {
    model: deps.model,
    signal: attempt.signal,
    stallMs: config.stallMs,
    graceMs: EARLY_GRACE_MS,
    now: deps.now,
    traits: (call) => tools.traits(config, call),
    run: (call, signal) =>
      // Safe to run twice, so any key that is unique will do; the real one needs the hash of a reply that is not there yet.
      tools.early(config, call, randomUUID(), {
        signal: AbortSignal.any([signal, given]),
        iteration,
        say: live.write,
      }),
    say: {
      // Input tokens are billed from here on, also if this attempt dies with its worker.
      start: (usage) => attempt.remember({ ...tries, spend: addSpend(tries.spend, spendOf(usage, config.price)) }),
      text: (index, text) => live.write({ type: 'text_delta', iteration, index, text }),
      thinking: (index, text) => live.write({ type: 'thinking_delta', iteration, index, text }),
      call: ({ index, id, name, input }) => live.write({ type: 'tool_use', iteration, index, id, name, input }),
    },
  };
}
