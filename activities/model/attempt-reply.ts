// Makes one attempt at a reply: streams it, starts safe calls on the way, and says how it went. It
// stores nothing.
import { randomUUID } from 'node:crypto';
import type { Message, ToolUseBlock } from '@anthropic-ai/sdk/resources/messages';
import { createAccumulator, type BlockState } from './stream/accumulate.ts';
import { callBlocks, keepInterruptedPart, judgeMessage, type MessageVerdict } from './judge.ts';
import type { CallBlock, CallTraits, CallOutcome } from '../calls/call-port.ts';
import type { ModelRequest, ModelPort } from '../model-deps.ts';
import { streamReply, type StreamLimits } from './stream/stream.ts';
import { callKey } from '../../workflows/contract/ids.ts';
import { addSpend } from '../../workflows/contract/loop.ts';
import { placeOfStep } from '../../store/live/observe.ts';
import { watchModel } from './watch-model.ts';
import { attemptSignal } from '../attempt.ts';
import { pricesOf, spendOf } from './bill.ts';
import type { PreparedStep } from './tell-preamble.ts';
import { announceEntries } from '../../store/live/tell.ts';
import { waitLimitsOf } from '../../store/configuration.ts';
import { inOwnNames } from '../../store/transcript/tool-names.ts';
import { searchQueryOf } from '../../store/transcript/server-tools.ts';

export type AttemptOutcome =
  | {
      readonly kind: 'judged';
      readonly verdict: MessageVerdict;
      readonly message: Message;
      readonly early: EarlyEnds;
      /** The bill of this request alone. */
      readonly usage: Message['usage'] | undefined;
    }
  /** The attempt was cancelled. `part` is the kept piece of the reply (L16); null without one. */
  | {
      readonly kind: 'aborted';
      readonly message: Message | null;
      readonly part: Message | null;
      readonly calls: readonly CallBlock[];
      /** The calls that had started: those that ended, and those that were cancelled. */
      readonly early: EarlyEnds;
      readonly usage: Message['usage'] | undefined;
    }
  | {
      readonly kind: 'failed';
      readonly error: unknown;
      readonly message: Message | null;
      readonly usage: Message['usage'] | undefined;
    };

type ReplyPort = StreamLimits & {
  readonly model: ModelPort;
  readonly signal: AbortSignal;
  /** How long an early call may outlast the stream (L37). */
  readonly graceMs: number;
  /** Translates a call from the names that the model knows to our own (L89). */
  readonly named?: (call: ToolUseBlock) => ToolUseBlock;
  readonly plan: (call: CallBlock) => PlannedCall;
  readonly say: {
    start(usage: Message['usage']): void;
    text(index: number, text: string): void;
    thinking(index: number, text: string): void;
    call(call: CallBlock): void;
    search(index: number, query: string): void;
  };
};

/** Streams a reply. `paused`: the reply that this request continues (L88). */
export async function attemptReply(
  body: ModelRequest,
  port: ReplyPort,
  paused: Message | null = null,
): Promise<AttemptOutcome> {
  const into = createAccumulator(paused, port.named);
  const early = earlyCalls(port.plan);
  try {
    await streamReply({ ...port, body }, into, streamHandlers(early.offer, port));
  } catch (error) {
    await early.abandon();
    return { kind: 'failed', error, message: into.message(), usage: into.billed() };
  }
  const message = into.message();
  const usage = into.billed();
  if (port.signal.aborted || !message) {
    const finished = await early.stopped();
    const part = message && keepInterruptedPart(message, into.blocks);
    return { kind: 'aborted', message, part, calls: callBlocks(into.blocks), early: finished, usage };
  }
  const verdict = judgeMessage(message, into.blocks);
  return { kind: 'judged', verdict, message, early: await early.settle(port.graceMs), usage };
}

function streamHandlers(offer: (call: CallBlock) => void, { say }: ReplyPort) {
  const offered = new Set<string>();
  return {
    onStart: say.start,
    onText: say.text,
    onThinking: say.thinking,
    onBlock: (index: number, { block, brokenInput }: BlockState): void => {
      const query = searchQueryOf(block);
      if (query !== null) say.search(index, query);
      // Only the first of duplicate ids counts (L39).
      if (block.type !== 'tool_use' || offered.has(block.id)) return;
      offered.add(block.id);
      // A broken input is judged when the stream ends: under max_tokens it does not count as a
      // call.
      if (brokenInput) return;
      const call = { index, id: block.id, name: block.name, input: block.input };
      say.call(call);
      offer(call);
    },
  };
}

/** Milliseconds an early call may outlast the stream; then it runs the regular way (L37). */
const EARLY_GRACE_MS = 500;

/** Returns the port of one attempt at a reply, which also shows its work to watchers (L18, L60). */
export function replyPort(step: PreparedStep): ReplyPort {
  const { deps, attempt, config, live, input, tries, announcements, base } = step;
  const { tools } = deps;
  const offered = tools.definitionsOf(config);
  const { iteration, context, head } = input;
  const prices = pricesOf(step);
  const toolSignal = attemptSignal(attempt);
  const messages = async () => (await deps.transcripts.messages(base)).messages;
  return {
    model: watchModel(deps.model, { observe: deps.observe, about: placeOfStep(config, attempt, input), prices }),
    signal: attempt.signal,
    ...waitLimitsOf(config),
    graceMs: EARLY_GRACE_MS,
    named: (call) => inOwnNames(config.toolNames, call, (name) => offered.some((tool) => tool.name === name)),
    plan(call) {
      const bound = tools.bind(config, call, context);
      // Safe to run twice, so any key that is unique will do; the real one needs the hash of a
      // reply that is not there yet. This one says which transcript the call may read.
      const id = head === null ? randomUUID() : callKey(randomUUID(), head, call.index);
      const run = (signal: AbortSignal, begins: () => void) => {
        const say: typeof live.write = (event) => {
          if (event.type === 'tool_start') begins();
          live.write(event);
        };
        return bound.runEarly({ id, signal: AbortSignal.any([signal, toolSignal]), iteration, say, messages });
      };
      // A run that is being wrapped up starts no call (L51).
      return input.wrapUp ? { safe: false, plan: 'regular', run } : { ...bound.traits(), run };
    },
    say: {
      // Input tokens are billed from here on, even if this attempt dies with its worker.
      start: (usage) => {
        attempt.remember({ ...tries, spend: addSpend(tries.spend, spendOf(usage, prices)) });
        // The server accepted the request, so its entries will not change again.
        announceEntries(live, announcements);
      },
      text: (index, text) => live.write({ type: 'text_delta', iteration, index, text }),
      thinking: (index, text) => live.write({ type: 'thinking_delta', iteration, index, text }),
      call: (call) => {
        const { index, id, name } = call;
        live.write({ type: 'tool_use', iteration, index, id, name, input: tools.copyInput(config, call) });
      },
      search: (index, query) => live.write({ type: 'web_search', iteration, index, query }),
    },
  };
}

/**
 * A safe call that may start while the reply streams (L37). Its outcome is adopted only with the
 * stored reply: dropping the runner drops it, and a safe call that runs again has changed nothing.
 */
type PlannedCall = Pick<CallTraits, 'safe' | 'plan'> & {
  /** `begins` is called when the tool is about to run. */
  run(signal: AbortSignal, begins: () => void): Promise<CallOutcome | null>;
};

/** The outcomes of calls that started while the reply streamed. */
export type EarlyEnds = {
  /** The blocks of those whose tool began to run. */
  readonly started: ReadonlySet<number>;
  readonly outcomes: ReadonlyMap<number, CallOutcome>;
};

type EarlyCalls = {
  /** Considers a call when its block ends, in the model's order. */
  offer(call: CallBlock): void;
  /** Returns outcomes that come within `graceMs`; other calls run the regular way. */
  settle(graceMs: number): Promise<EarlyEnds>;
  /** Returns those that the stop of this attempt has ended, and those that ended before it. */
  stopped(): Promise<EarlyEnds>;
  /** Drops everything: the attempt died, and its calls do not count. */
  abandon(): Promise<void>;
};

function earlyCalls(planOf: (call: CallBlock) => PlannedCall): EarlyCalls {
  const abort = new AbortController();
  const finished = new Map<number, CallOutcome>();
  const started = new Set<number>();
  const running: Promise<void>[] = [];
  let open = true;
  const start = async (index: number, { run }: PlannedCall): Promise<void> => {
    const done = await run(abort.signal, () => void started.add(index));
    if (!done || abort.signal.reason === 'superseded') return;
    finished.set(index, done);
    if (done.facts.cancelsSiblings && !abort.signal.aborted) {
      open = false;
      abort.abort('sibling');
    }
  };
  const drop = async (): Promise<void> => {
    open = false;
    if (!abort.signal.aborted) abort.abort('superseded');
    await Promise.all(running);
  };
  return {
    offer(call) {
      const planned = planOf(call);
      if (!planned.safe) open = false;
      if (!open || planned.plan !== 'early') return;
      // A call that fails here runs the regular way, which reports the failure. A reply that is
      // paid for must not be thrown away for it.
      running.push(start(call.index, planned).catch(() => {}));
    },
    async settle(graceMs) {
      if (running.length > 0) await Promise.race([Promise.all(running), waitUnreferenced(graceMs, abort.signal)]);
      await drop();
      return { started, outcomes: finished };
    },
    async stopped() {
      open = false;
      await Promise.all(running);
      return { started, outcomes: finished };
    },
    abandon: drop,
  };
}

function waitUnreferenced(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    timer.unref();
    signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  });
}
