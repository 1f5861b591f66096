// One question to the small model (L9, L10, L42): a text goes in, a text comes out. No tools, nothing is stored. It tries again
// twice at once-like waits; a longer outage is a failure, which its callers can live with.
import { messageText } from '../transcript/message-text.ts';
import type { Message, MessageCreateParamsStreaming } from '@anthropic-ai/sdk/resources/messages';
import { addSpend, noSpend, type Spend } from '../../workflows/contract/loop.ts';
import type { RunConfig } from '../run-config.ts';
import { wellFormedText } from '../transcript/well-formed.ts';
import { accumulator, type BlockState } from './accumulate.ts';
import { backoffMs } from './backoff.ts';
import { classify } from './classify.ts';
import { judge } from './judge.ts';
import { spendOf } from './spend.ts';
import { streamReply, type ModelPort } from './stream.ts';

const RETRIES = 2;
/** Milliseconds: a longer wait asked for by the provider is a failure. */
const LONGEST_WAIT_MS = 5_000;

export type Asked =
  /** `cut`: it reached `maxTokens` and stops in the middle. */
  | { readonly kind: 'text'; readonly text: string; readonly cut: boolean; readonly spend: Spend }
  /** `tooLong`: the question does not fit the model's window. */
  | { readonly kind: 'failed'; readonly detail: string; readonly tooLong?: true; readonly spend: Spend }
  /** The signal was aborted. */
  | { readonly kind: 'aborted'; readonly spend: Spend };

export type Question = { readonly system: string; readonly text: string; readonly maxTokens: number };

export type AskPort = {
  readonly model: ModelPort;
  readonly config: Pick<RunConfig, 'smallModel' | 'stallMs' | 'backoff'>;
  readonly signal: AbortSignal;
  readonly now: () => number;
  readonly random: () => number;
  /** Called when something is billed, with all that was so far: an attempt may die at any time. */
  readonly billed?: (spend: Spend) => void;
};

/** `spend` of the answer: all tries. Throws only what is a bug. */
export async function askModel(port: AskPort, question: Question): Promise<Asked> {
  const { backoff } = port.config;
  let spend = noSpend;
  for (let failures = 1; ; failures += 1) {
    const tried = await tryOnce(port, question, spend);
    spend = tried.asked.spend;
    if (tried.asked.kind !== 'failed' || tried.retry === null || failures > RETRIES) return tried.asked;
    const delay = Math.max(tried.retry, backoffMs(backoff, failures, port.random()));
    if (delay > Math.max(LONGEST_WAIT_MS, backoff.firstMs * 2 ** RETRIES)) return tried.asked;
    await pause(delay, port.signal);
    if (port.signal.aborted) return { kind: 'aborted', spend };
  }
}

/** `retry`: milliseconds the provider wants waited before another try; null when none helps. */
type Tried = { readonly asked: Asked; readonly retry: number | null };

async function tryOnce(port: AskPort, question: Question, before: Spend): Promise<Tried> {
  const { price } = port.config.smallModel;
  const into = accumulator();
  const spent = (): Spend => addSpend(before, spendOf(into.message()?.usage, price));
  try {
    await streamReply(
      port.model,
      request(port, question),
      into,
      { signal: port.signal, stallMs: port.config.stallMs },
      {
        onStart: (usage) => port.billed?.(addSpend(before, spendOf(usage, price))),
        onText: () => {},
        onThinking: () => {},
        onBlock: () => {},
      },
    );
  } catch (error) {
    const verdict = classify(error, port.now());
    if (!verdict) throw error;
    return { asked: failed(verdict, spent()), retry: verdict.kind === 'retry' ? (verdict.afterMs ?? 0) : null };
  }
  port.billed?.(spent());
  const message = into.message();
  if (port.signal.aborted || !message) return { asked: { kind: 'aborted', spend: spent() }, retry: null };
  return answered(message, into.blocks, spent());
}

function failed({ kind, detail }: { kind: string; detail: string }, spend: Spend): Asked {
  return { kind: 'failed', detail, spend, ...(kind === 'too_long' && { tooLong: true as const }) };
}

function answered(message: Message, blocks: readonly BlockState[], spend: Spend): Tried {
  const judged = judge(message, blocks);
  if (judged.kind === 'refused') return { asked: failed(judged, spend), retry: null };
  if (judged.kind === 'window_exceeded') {
    const detail = `${message.model}: the context window is exceeded`;
    return { asked: failed({ kind: 'too_long', detail }, spend), retry: null };
  }
  const text = messageText(message);
  if (text.trim() === '') {
    return { asked: { kind: 'failed', detail: `${message.model} answered with nothing`, spend }, retry: 0 };
  }
  return { asked: { kind: 'text', text: text.trim(), cut: message.stop_reason === 'max_tokens', spend }, retry: null };
}

function request({ config }: AskPort, { system, text, maxTokens }: Question): MessageCreateParamsStreaming {
  return {
    model: config.smallModel.name,
    max_tokens: Math.min(maxTokens, config.smallModel.maxOutput),
    stream: true,
    system: wellFormedText(system),
    messages: [{ role: 'user', content: wellFormedText(text) }],
  };
}

/** Also over when `signal` aborts. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const over = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', over);
      resolve();
    };
    const timer = setTimeout(over, ms);
    signal.addEventListener('abort', over, { once: true });
    if (signal.aborted) over();
  });
}
