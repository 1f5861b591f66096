// Asks the small model one question (L9, L10, L42): a text goes in, a text comes out. It has no
// tools, stores nothing, and tries once: the activity that asks decides whether and when to ask
// again.
import type { ModelQuestion } from '../../tools/tool.ts';
import { messageText } from '../../store/view/result.ts';
import type { Message } from '@anthropic-ai/sdk/resources/messages';
import type { Spend } from '../../workflows/contract/loop.ts';
import { wellFormedText } from '../../system/text.ts';
import type { Redact } from '../../system/redact.ts';
import { waitLimitsOf, type RunConfig } from '../../store/configuration.ts';
import { createAccumulator, type BlockState } from './stream/accumulate.ts';
import { shortenDetail, classifyFailure, type Verdict } from './classify.ts';
import { judgeMessage } from './judge.ts';
import { type Prices, spendOf } from './bill.ts';
import { streamReply } from './stream/stream.ts';
import { leastThinking } from './request.ts';
import type { ModelPort, ModelRequest } from '../model-deps.ts';

/** Why there is no text. `empty`: the model said nothing. */
export type AskFailure = Verdict | { readonly kind: 'empty'; readonly detail: string };

export type QuestionOutcome =
  /** `cut`: the text reached `maxTokens` and stops in the middle. */
  | { readonly kind: 'text'; readonly text: string; readonly cut: boolean; readonly spend: Spend }
  | { readonly kind: 'failed'; readonly failure: AskFailure; readonly spend: Spend }
  /** The signal was aborted. */
  | { readonly kind: 'aborted'; readonly spend: Spend };

type AskPort = {
  readonly model: ModelPort;
  readonly config: Pick<RunConfig, 'smallModel' | 'firstByteMs' | 'stallMs' | 'requestMs' | 'overflowWords'>;
  readonly signal: AbortSignal;
  readonly now: () => number;
  readonly redact: Redact;
  /**
   * Called with the total so far whenever something is billed, because an attempt may die at any
   * time.
   */
  readonly billed?: (spend: Spend) => void;
};

/** Asks the question. Throws only for a bug. */
export async function askModel(port: AskPort, question: ModelQuestion): Promise<QuestionOutcome> {
  const replied = await askUnwatched(port, buildQuestion(port, question), port.config.smallModel);
  if (replied.kind !== 'message') return replied;
  return readAnswer(replied.message, replied.blocks, replied.spend, port.redact);
}

type UnwatchedReply =
  | {
      readonly kind: 'message';
      readonly message: Message;
      readonly blocks: readonly BlockState[];
      readonly spend: Spend;
    }
  | { readonly kind: 'failed'; readonly failure: Verdict; readonly spend: Spend }
  /** The signal was aborted. */
  | { readonly kind: 'aborted'; readonly spend: Spend };

type UnwatchedPort = Omit<AskPort, 'config'> & { readonly config: Omit<AskPort['config'], 'smallModel'> };

/**
 * Sends one request whose reply is not shown as it comes. `prices` are those of the model it is
 * sent to. Throws only for a bug.
 */
export async function askUnwatched(
  { model, config, signal, now, redact, billed = () => {} }: UnwatchedPort,
  body: ModelRequest,
  prices: Prices,
): Promise<UnwatchedReply> {
  const into = createAccumulator();
  const spendSoFar = (): Spend => spendOf(into.message()?.usage, prices);
  const onStart = (usage: Message['usage']): void => billed(spendOf(usage, prices));
  try {
    await streamReply({ model, body, signal, ...waitLimitsOf(config) }, into, { onStart, ...unheard });
  } catch (error) {
    const failure = classifyFailure(error, now(), redact, config.overflowWords);
    if (!failure) throw error;
    return { kind: 'failed', failure, spend: spendSoFar() };
  }
  billed(spendSoFar());
  const message = into.message();
  if (signal.aborted || !message) return { kind: 'aborted', spend: spendSoFar() };
  return { kind: 'message', message, blocks: into.blocks, spend: spendSoFar() };
}

const unheard = { onText: () => {}, onThinking: () => {}, onBlock: () => {} };

function readAnswer(message: Message, blocks: readonly BlockState[], spend: Spend, redact: Redact): QuestionOutcome {
  const failed = (kind: 'failed' | 'too_long' | 'empty', detail: string): QuestionOutcome => {
    return { kind: 'failed', failure: { kind, detail: shortenDetail(detail, redact) }, spend };
  };
  const verdict = judgeMessage(message, blocks);
  if (verdict.kind === 'refused') return failed('failed', verdict.detail);
  if (verdict.kind === 'window_exceeded') return failed('too_long', `${message.model}: the context window is exceeded`);
  const text = messageText(message);
  if (text.trim() === '') return failed('empty', `${message.model} answered with nothing`);
  return { kind: 'text', text: text.trim(), cut: message.stop_reason === 'max_tokens', spend };
}

function buildQuestion({ config: { smallModel } }: AskPort, { system, text, maxTokens }: ModelQuestion): ModelRequest {
  const { fields, room } = leastThinking(smallModel);
  return {
    model: smallModel.name,
    max_tokens: Math.min(maxTokens + room, smallModel.maxOutput),
    stream: true,
    ...fields,
    system: wellFormedText(system),
    messages: [{ role: 'user', content: wellFormedText(text) }],
  };
}
