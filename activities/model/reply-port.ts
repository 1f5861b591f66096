// What one attempt at a reply may use, and how what it does is shown to watchers (L18, L60).
import { randomUUID } from 'node:crypto';
import { callKey } from '../../workflows/contract/ids.ts';
import { addSpend } from '../../workflows/contract/loop.ts';
import { attemptSignal } from '../tools/attempt-signal.ts';
import type { ReplyPort } from './attempt-reply.ts';
import { spendOf } from './spend.ts';
import type { ModelStep } from './store-reply.ts';

/** How long a call that started early may outlast the stream before it is left to run the regular way (L37). */
const EARLY_GRACE_MS = 500;

/** Nothing runs any more (L51). */
const NEVER = { safe: false, early: false };

export function replyPort({ deps, attempt, config, chosen, live, input, tries }: ModelStep): ReplyPort {
  const { tools } = deps;
  const { iteration, context, head } = input;
  const { price } = chosen.model;
  const given = attemptSignal(attempt);
  return {
    model: deps.model,
    signal: attempt.signal,
    stallMs: config.stallMs,
    graceMs: EARLY_GRACE_MS,
    traits: (call) => (input.wrapUp ? NEVER : tools.traits(config, call, context)),
    run: (call, signal) =>
      // Safe to run twice, so any key that is unique will do; the real one needs the hash of a reply that is not there yet. This one
      // says which transcript the call may read.
      tools.early(
        config,
        call,
        head === null ? randomUUID() : callKey(randomUUID(), head, call.index),
        { signal: AbortSignal.any([signal, given]), iteration, say: live.write },
        context,
      ),
    say: {
      // Input tokens are billed from here on, also if this attempt dies with its worker.
      start: (usage) => attempt.remember({ ...tries, spend: addSpend(tries.spend, spendOf(usage, price)) }),
      text: (index, text) => live.write({ type: 'text_delta', iteration, index, text }),
      thinking: (index, text) => live.write({ type: 'thinking_delta', iteration, index, text }),
      call: (call) => {
        const { index, id, name } = call;
        live.write({ type: 'tool_use', iteration, index, id, name, input: tools.observable(call) });
      },
    },
  };
}
