// Compaction without a server: a memory store, a recorded live channel, and a small model that says
// what it is told to say.
import { createModels } from '../../../models/models.ts';
import type { MessageCreateParamsStreaming, RawMessageStreamEvent } from '@anthropic-ai/sdk/resources/messages';
import type { AbortedBy, Attempt } from '../../../activities/attempt.ts';
import type { SummaryDeps } from '../../../activities/compaction/small-model.ts';
import type { LiveEvent, LiveFate } from '../../../store/live/events.ts';
import { createConfigReader, type RunConfig } from '../../../store/configuration.ts';
import type { Entry } from '../../../store/log/entries.ts';
import { memoryStore } from '../../support/memory-store.ts';
import { createTranscripts } from '../../../store/transcript/transcripts.ts';
import type { Hash } from '../../../workflows/contract/ids.ts';
import { noHooksBut } from '../../support/no-hooks.ts';
import { session, stored } from '../../support/transcript.ts';

/** A text; an error to throw; or what the stream does instead. */
export type Answer = string | Error | ((signal: AbortSignal) => AsyncIterable<RawMessageStreamEvent>);

const price = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 };

export type BenchOptions = {
  readonly entries: readonly Entry[];
  readonly answers?: readonly Answer[];
  /** Of the main model, in tokens. */
  readonly window?: number;
  readonly smallWindow?: number;
  /** Of a fallback, in tokens. */
  readonly nextWindow?: number;
  readonly hooks?: Partial<SummaryDeps['hooks']>;
};

export async function compactionBench({
  entries,
  answers = [],
  window = 1_000,
  smallWindow = 20_000,
  nextWindow = window,
  hooks,
}: BenchOptions) {
  const store = memoryStore();
  const lines: (LiveEvent | LiveFate)[] = [];
  const asked: MessageCreateParamsStreaming[] = [];
  const left = [...answers];
  const warnings: string[] = [];
  const deps: SummaryDeps = {
    store,
    live: {
      open: () => ({ write: (event) => void lines.push(event), end: (fate) => Promise.resolve(void lines.push(fate)) }),
      forgetBefore: () => Promise.resolve(),
    },
    transcripts: createTranscripts(store, () => Promise.resolve(null)),
    config: createConfigReader(store),
    tools: {
      bind() {
        throw new Error('no call ends here');
      },
    },
    model: (body, signal) => {
      asked.push(body);
      const answer = left.shift();
      if (answer === undefined) throw new Error('the small model was asked once too often');
      if (answer instanceof Error) return Promise.reject(answer);
      return Promise.resolve(typeof answer === 'string' ? saying(answer) : answer(signal));
    },
    redact: (text) => text,
    scripted: false,
    hooks: noHooksBut(hooks ?? {}),
    now: () => 0,
    observe: () => {},
    models: createModels(),
    log: (_, message) => void warnings.push(message),
    random: () => 0,
  };
  const config = await store.put(Buffer.from(JSON.stringify(runConfig([window, nextWindow], smallWindow))));
  const { head } = await stored(store, entries);
  const request = { head: head as Hash, append: [], config, step: 3, iteration: 2 } as const;
  const texts = (): string[] => asked.map(({ messages }) => messages[0]?.content as string);
  return {
    deps,
    lines,
    warnings,
    asked,
    texts,
    request,
    entries: async (at: Hash) => (await deps.transcripts.view(session, at)).entries,
  };
}

function runConfig([window, nextWindow]: readonly [number, number], smallWindow: number): Partial<RunConfig> {
  const facts = { maxOutput: 64_000, price };
  return {
    v: 1,
    session,
    chain: 'chain',
    queryId: 'chain.1',
    depth: 0,
    cwd: '/work',
    models: [
      { name: 'claude-test', window, ...facts },
      { name: 'claude-next', window: nextWindow, ...facts },
    ],
    smallModel: { name: 'claude-small', window: smallWindow, ...facts },
    scripted: false,
    backoff: { maxRetries: 10, firstMs: 1, maxMs: 2, parkOverMs: 60_000 },
    stallMs: 1_000,
    maxEmptyReplies: 3,
    // Whatever is there does not fit.
    rules: { fixedTokens: 10, compaction: { critical: 0 } } as RunConfig['rules'],
  };
}

export async function* saying(text: string, stop = 'end_turn'): AsyncGenerator<RawMessageStreamEvent> {
  const usage = { input_tokens: 1_000, output_tokens: 1 };
  const events: unknown[] = [
    {
      type: 'message_start',
      message: { id: 'm', type: 'message', role: 'assistant', model: 'claude-small', content: [], usage },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: stop }, usage: { output_tokens: 10 } },
    { type: 'message_stop' },
  ];
  for (const event of events) yield await Promise.resolve(event as RawMessageStreamEvent);
}

/** Begins an answer, tells `started`, and goes on only when it is aborted. */
export function hanging(started: () => void): Answer {
  return async function* (signal) {
    for await (const event of saying('never finished')) {
      yield event;
      if (event.type !== 'message_start') continue;
      started();
      await new Promise((_, fail) => {
        if (signal.aborted) fail(new Error('aborted'));
        signal.addEventListener('abort', () => fail(new Error('aborted')));
      });
    }
  };
}

export type FakeAttempt = Attempt & { abort(by: AbortedBy): void; readonly left: () => unknown };

export function attemptOf(number = 1, remembered?: unknown): FakeAttempt {
  const controller = new AbortController();
  let by: AbortedBy | null = null;
  let left = remembered;
  return {
    session,
    number,
    signal: controller.signal,
    abortedBy: () => by,
    run: 'run',
    fence: () => Promise.resolve(true),
    remembered,
    remember: (details) => void (left = details),
    left: () => left,
    abort(why) {
      by = why;
      controller.abort();
    },
  };
}
