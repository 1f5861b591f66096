// Model servers that are not what we know: other counts of tokens, other words, no small model, no
// usage at all.
import { APIError } from '@anthropic-ai/sdk';
import { describe, expect, test } from 'vitest';
import { chooseKept } from '../../activities/compaction/choose-kept.ts';
import { classifyFailure, maxOutputIn } from '../../activities/model/classify.ts';
import { fault, reply, text, thinking, toolUse, type ParsedRequest, type Reply } from '../../scripted-model/index.ts';
import type { Entry } from '../../store/log/entries.ts';
import { asksForSummary } from '../support/asks-for-summary.ts';
import { harness } from '../support/harness.ts';
import { fillWorkspace } from '../support/scenarios.ts';
import { callBlock, outcome, outcomes, reply as stored, runStarted, textBlock, user } from '../support/transcript.ts';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const models = { 'claude-sonnet-': { window: 16_000, maxOutput: 8_000, price: null } };

describe('a count that four characters to a token do not come to', () => {
  test('a trajectory of Chinese with thinking is summarised, and no try is used up (L10 L59)', async () => {
    let reads = 0;
    const script = (request: ParsedRequest): Reply => {
      if (asksForSummary(request)) return reply('讀過檔案。');
      reads += 1;
      if (reads > 8) return reply('好。');
      return reply([thinking('想。'), toolUse('read', { path: 'chinese.txt' })]);
    };
    const h = await harness({ script, worker: { config: { models } } });
    // 4,000 characters, which the API counts as 3,000 tokens.
    writeFileSync(join(h.cwd, 'chinese.txt'), `${'山水'.repeat(50)}\n`.repeat(40));
    const session = await h.open('讀檔案。', { thinkingTokens: 2_000 });
    expect((await session.ended(1)).terminal).toEqual({ reason: 'completed' });
    const entries = await session.entries();
    expect(entries.some((entry) => entry.kind === 'boundary')).toBe(true);
    expect(JSON.stringify(entries)).not.toContain('compaction_failed');
    expect(h.model.problems).toEqual([]);
  });

  test('what an API with an unknown, small window refuses is summarised down to a part of what is there (L24)', async () => {
    const script = (request: ParsedRequest, n: number): Reply => {
      if (asksForSummary(request)) return reply('The file was read.');
      if (JSON.stringify(request.messages).length > 40_000) {
        return fault({ status: 400, message: "This model's maximum context length is 8192 tokens." });
      }
      return n > 6 ? reply('Done.') : reply([text('Reading.'), toolUse('read', { path: 'large.txt' })]);
    };
    // The worker takes it for a model with 200,000 tokens.
    const h = await harness({ script });
    fillWorkspace(h.cwd);
    const session = await h.open('Read it.', { tools: ['read'] });
    expect((await session.ended(1)).terminal).toEqual({ reason: 'completed' });
    expect((await session.entries()).filter((entry) => entry.kind === 'boundary').length).toBeGreaterThan(0);
  });

  test('a server that counts nothing does not keep the window from being seen to fill (L10)', async () => {
    let reads = 0;
    const script = (request: ParsedRequest): Reply => {
      if (asksForSummary(request)) return reply('The file was read.', { usage: null });
      reads += 1;
      const more = reads <= 6;
      return reply(more ? [toolUse('read', { path: 'large.txt' })] : 'Done.', { usage: null });
    };
    // Which of the two makes room, short forms or a boundary, depends on the last token.
    const h = await harness({ script, worker: { config: { models, compaction: { collapse: false } } } });
    fillWorkspace(h.cwd);
    const session = await h.open('Read it.', { tools: ['read'] });
    expect((await session.ended(1)).terminal).toEqual({ reason: 'completed' });
    expect((await session.entries()).some((entry) => entry.kind === 'boundary')).toBe(true);
  });

  test('of what was refused less stays, whatever the window is said to be (L24)', () => {
    const round = (size: number): Entry[] => [
      stored([textBlock('So.'), callBlock('c')]),
      outcomes(outcome(1, 'x'.repeat(size))),
    ];
    const entries = [runStarted(1), user('Go.'), ...round(3_000), ...round(3_000), ...round(600)];
    const kept = (trigger: 'auto' | 'reactive') => chooseKept(entries, new Map(), { characters: 800_000, trigger });
    expect(kept('auto')).toBeNull();
    expect(kept('reactive')).toMatchObject({ from: 6, prompts: [1] });
  });
});

describe('a server without our small model', () => {
  test('the run goes on with summaries of its own model (L9 L10)', async () => {
    let reads = 0;
    const script = (request: ParsedRequest): Reply => {
      if (asksForSummary(request)) return fault({ status: 404, message: 'model: claude-haiku-5' });
      if (!request.tools) return reply('The file was read.');
      reads += 1;
      return reads > 6 ? reply('Done.') : reply([toolUse('read', { path: 'large.txt' })]);
    };
    const h = await harness({ script, worker: { config: { models, compaction: { collapse: false } } } });
    fillWorkspace(h.cwd);
    const session = await h.open('Read it.', { tools: ['read'] });
    expect((await session.ended(1)).terminal).toEqual({ reason: 'completed' });
    expect((await session.entries()).some((entry) => entry.kind === 'boundary')).toBe(true);
  });
});

describe('a cap that the server refuses', () => {
  /** As where a server has no Models API to name its own. */
  const unnamed = { models: { 'claude-sonnet-': { maxOutput: 128_000 } } };

  test('the reply that was cut is kept and continued, and the cap is raised no further than the server says (L26 L27)', async () => {
    const cut = fault({ maxTokensAfter: { block: 0, chars: 8 } }, 'One two three four.');
    const replies = [cut, reply([text('three.'), toolUse('read', { path: 'a.txt' })]), cut, reply('three four.')];
    const h = await harness({
      script: { maxOutputTokens: 10_000, replies },
      worker: { config: { ...unnamed, maxOutputTokens: 8_000 } },
    });
    fillWorkspace(h.cwd);
    const session = await h.open('Count.');
    expect((await session.ended(1)).terminal).toEqual({ reason: 'completed' });
    const caps = h.bodies().map((body) => body.max_tokens);
    expect(caps).toEqual([8_000, 128_000, 8_000, 8_000, 10_000]);
    const entries = await session.entries();
    const replied = entries.flatMap((entry) => (entry.kind === 'reply' ? [JSON.stringify(entry.message.content)] : []));
    expect(replied).toHaveLength(3);
    expect(replied[0]).toContain('One two ');
    // Watchers, who were told that it was void, are told it again.
    expect(h.liveText(session.id).split('"One two "').length - 1).toBeGreaterThanOrEqual(3);
  });

  test('the default is lowered to what the server names (L26)', async () => {
    const script = { maxOutputTokens: 4_096, replies: [reply('Hello.')] };
    const h = await harness({ script, worker: { config: unnamed } });
    const session = await h.open('Hi.');
    expect((await session.ended(1)).terminal).toEqual({ reason: 'completed' });
    expect(h.bodies().map((body) => body.max_tokens)).toEqual([32_000, 4_096]);
  });

  test('a maximum that the server names beforehand is never exceeded (L26 X1)', async () => {
    const h = await harness({ script: { maxOutputTokens: 4_096, replies: [reply('Hello.')] } });
    const session = await h.open('Hi.');
    expect((await session.ended(1)).terminal).toEqual({ reason: 'completed' });
    expect(h.bodies().map((body) => body.max_tokens)).toEqual([4_096]);
  });

  test.each([
    ['max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens for claude-x-20250514', 32_000],
    ['max_tokens is too large: 64000. This model supports at most 16384 completion tokens', 16_384],
    ['The maximum tokens you requested exceeds the model limit of 8,192.', 8_192],
    ['tools.0.name: string is too long, at most 1024 characters', undefined],
  ])('%s (L26)', (message, most) => {
    expect(maxOutputIn({ kind: 'failed', status: 400, detail: `400: ${message}` }, 64_000)).toBe(most);
  });

  test('retry-after-ms is kept as retry-after is (L14)', () => {
    const waits = (headers: Record<string, string>) =>
      classifyFailure(APIError.generate(429, undefined, 'slow down', new Headers(headers)), 0, (said) => said);
    expect(waits({ 'retry-after-ms': '1500', 'retry-after': '2' })).toMatchObject({ afterMs: 1_500 });
    expect(waits({ 'retry-after-ms': 'soon', 'retry-after': '2' })).toMatchObject({ afterMs: 2_000 });
  });
});

describe('other words for "too long"', () => {
  test.each([
    [400, 'prompt is too long: 210000 tokens > 200000 maximum'],
    [400, 'Input is too long for requested model.'],
    [400, "This model's maximum context length is 32768 tokens. However, you requested 40000 tokens."],
    [400, 'the request exceeds the available context size (8192 tokens)'],
    [400, 'Requested token count exceeds the model context window'],
    [400, 'input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000'],
    [400, 'The context window of this model was exceeded'],
    [413, 'Request exceeds the maximum size'],
    [422, 'inputs: too many input tokens'],
  ])('%i %s (L23 L24)', (status, message) => {
    expect(verdict(status, message)).toBe('too_long');
  });

  test.each([
    [400, 'tools.0.name: string is too long'],
    [400, 'messages.0.content.0.image: image exceeds 5 MB maximum', 'media_too_large'],
    [401, 'invalid x-api-key'],
    [400, 'max_tokens: 70000 > 64000, which is the maximum allowed number of output tokens'],
  ])('and not %i %s (L20)', (status, message, kind = 'failed') => {
    expect(verdict(status, message)).toBe(kind);
  });
});

function verdict(status: number, message: string): string | undefined {
  const body = { type: 'error', error: { type: 'invalid_request_error', message } };
  return classifyFailure(APIError.generate(status, body, message, new Headers()), 0, (said) => said)?.kind;
}
