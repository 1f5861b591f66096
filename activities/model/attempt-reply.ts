// One attempt at a reply: stream it, start safe calls on the way, and say what came of it. Stores nothing.
import type { Message } from '@anthropic-ai/sdk/resources/messages';
import { accumulator, type BlockState } from './accumulate.ts';
import { earlyCalls, type EarlyOutcome, type EarlyTraits } from './early.ts';
import { callBlocks, interruptedPart, judge, type CallBlock, type Judged } from './judge.ts';
import type { ModelRequest } from './request.ts';
import { streamReply, type ModelPort } from './stream.ts';

export type Attempted =
  | {
      readonly kind: 'judged';
      readonly judged: Judged;
      readonly message: Message;
      readonly early: ReadonlyMap<number, EarlyOutcome>;
    }
  /** Cancelled: `part` is what is kept of the reply, null when there is nothing to keep (L16). */
  | {
      readonly kind: 'aborted';
      readonly message: Message | null;
      readonly part: Message | null;
      readonly calls: readonly CallBlock[];
    }
  | { readonly kind: 'failed'; readonly error: unknown; readonly message: Message | null };

export type ReplyPort = {
  readonly model: ModelPort;
  readonly signal: AbortSignal;
  readonly stallMs: number;
  /** How long an early call may outlast the stream (L37). */
  readonly graceMs: number;
  readonly traits: (call: CallBlock) => EarlyTraits;
  readonly run: (call: CallBlock, signal: AbortSignal) => Promise<EarlyOutcome | null>;
  readonly say: {
    start(usage: Message['usage']): void;
    text(index: number, text: string): void;
    thinking(index: number, text: string): void;
    call(call: CallBlock): void;
  };
};

export async function attemptReply(body: ModelRequest, port: ReplyPort): Promise<Attempted> {
  const into = accumulator();
  const early = earlyCalls(port.traits, port.run);
  try {
    await streamReply(port.model, body, into, port, handlers(early.offer, port));
  } catch (error) {
    await early.abandon();
    return { kind: 'failed', error, message: into.message() };
  }
  const message = into.message();
  if (port.signal.aborted || !message) {
    await early.abandon();
    const part = message && interruptedPart(message, into.blocks);
    return { kind: 'aborted', message, part, calls: callBlocks(into.blocks) };
  }
  return { kind: 'judged', judged: judge(message, into.blocks), message, early: await early.settle(port.graceMs) };
}

function handlers(offer: (call: CallBlock) => void, { say }: ReplyPort) {
  const seen = new Set<string>();
  return {
    onStart: say.start,
    onText: say.text,
    onThinking: say.thinking,
    onBlock: (index: number, { block, brokenInput }: BlockState): void => {
      // Of duplicate ids only the first counts (L39).
      if (block.type !== 'tool_use' || seen.has(block.id)) return;
      seen.add(block.id);
      // A broken input is judged when the stream ends: under max_tokens it is no call at all.
      if (brokenInput) return;
      const call = { index, id: block.id, name: block.name, input: block.input };
      say.call(call);
      offer(call);
    },
  };
}
