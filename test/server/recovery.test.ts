// What watchers and the prompt cache notice of a recovery, on a real server.
import { describe, expect, test } from 'vitest';
import type { Entry } from '../../store/log/entries.ts';
import { fault, reply, text, toolUse, type ParsedRequest, type Reply } from '../../scripted-model/index.ts';
import type { PerdureConfig } from '../../worker/config/config.ts';
import { asksForSummary } from '../support/asks-for-summary.ts';
import { harness, type HarnessOptions } from '../support/harness.ts';
import { fillWorkspace } from '../support/scenarios.ts';

const TOO_LONG = 'prompt is too long';
const look = reply([toolUse('read', { path: 'large.txt' })]);
const small: PerdureConfig = {
  models: { 'claude-sonnet-': { window: 30_000, maxOutput: 8_000, price: null } },
  compaction: { collapse: false },
};

async function withFiles(script: HarnessOptions['script'], config: PerdureConfig) {
  const h = await harness({ script, worker: { config } });
  fillWorkspace(h.cwd);
  return h;
}

const errorsOf = (entries: readonly Entry[]): readonly unknown[] =>
  entries.flatMap((entry) => (entry.kind === 'notice' && entry.notice.kind === 'error' ? [entry.notice.text] : []));

describe('a prompt that is too long', () => {
  test('is not shown when a compaction helps; the compaction is (L17 L24 L60)', async () => {
    const script = [look, look, look, look, fault({ too_long: true }), reply('They were read.'), reply('Done.')];
    const h = await withFiles(script, small);
    const session = await h.open('Read them.');
    expect((await session.ended(1)).terminal).toEqual({ reason: 'completed' });
    const live = h.liveText(session.id);
    expect(live).not.toContain('"kind":"error"');
    expect(live).not.toContain(TOO_LONG);
    for (const type of ['compaction_start', 'compaction_end']) expect(live).toContain(`"type":"${type}"`);
    expect(errorsOf(await session.entries())).toEqual([]);
  });

  test('is shown once when nothing has helped, and no stop hook is asked (L17 L25)', async () => {
    const asked: string[] = [];
    const hooks = { stop: [() => void asked.push('stop')] };
    const script = [
      look,
      look,
      look,
      look,
      fault({ too_long: true }),
      reply('They were read.'),
      fault({ too_long: true }),
    ];
    const h = await withFiles(script, { ...small, hooks });
    const session = await h.open('Read them.');
    const { terminal } = await session.ended(1);
    expect(terminal).toMatchObject({ reason: 'prompt_too_long', detail: expect.stringContaining(TOO_LONG) });
    expect(errorsOf(await session.entries())).toEqual([expect.stringContaining(TOO_LONG)]);
    expect(h.liveText(session.id)).toContain('"kind":"error"');
    expect(asked).toEqual([]);
  });
});

test('after a compaction the API is told what remains: less by what it had last counted in context (L11)', async () => {
  const script = [look, look, look, look, fault({ too_long: true }), reply('They were read.'), reply('Done.')];
  const h = await withFiles(script, small);
  const session = await h.open('Read them.', { taskBudget: 100_000 });
  await session.ended(1);
  const replies = (await session.entries()).flatMap((entry) => (entry.kind === 'reply' ? [entry.message.usage] : []));
  const usage = replies.at(-2);
  const read = (usage?.cache_read_input_tokens ?? 0) + (usage?.cache_creation_input_tokens ?? 0);
  const counted = read + (usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0);
  const whole = { type: 'tokens', total: 100_000 };
  const budgets = h.bodies().map((body) => (body.output_config as { task_budget?: unknown } | undefined)?.task_budget);
  expect(budgets.slice(0, 5)).toEqual(Array.from({ length: 5 }, () => whole));
  expect(budgets.at(-1)).toEqual({ ...whole, remaining: 100_000 - counted });
  expect(h.model.problems).toEqual([]);
});

describe('the prompt cache', () => {
  test('what one request wrote the next one reads, also after a compaction (L10 L22)', async () => {
    let reads = 0;
    const script = (request: ParsedRequest): Reply => {
      if (asksForSummary(request)) return reply('They were read.');
      reads += 1;
      return reads > 12 ? reply('Done.') : reply([text(`Time ${reads}.`), toolUse('read', { path: 'large.txt' })]);
    };
    const h = await withFiles(script, small);
    const session = await h.open(`Read them. ${'Take your time. '.repeat(300)}`);
    await session.ended(1);
    const entries = await session.entries();
    expect(entries.some(({ kind }) => kind === 'boundary')).toBe(true);
    let written: number | null = null;
    for (const entry of entries) {
      if (entry.kind === 'boundary') written = null;
      if (entry.kind !== 'reply') continue;
      const { cache_read_input_tokens: read, cache_creation_input_tokens: wrote } = entry.message.usage;
      if (written !== null) expect(read).toBeGreaterThanOrEqual(written);
      written = (read ?? 0) + (wrote ?? 0);
      expect(written).toBeGreaterThan(0);
    }
  });

  test('a turn of many calls reads what the turn before it wrote, however many blocks lie between (L22)', async () => {
    const thirty = Array.from({ length: 30 }, () => toolUse('read', { path: 'large.txt', limit: 1 }));
    const h = await withFiles([look, reply(thirty), reply('Done.')], {});
    const session = await h.open('Read it.');
    expect((await session.ended(1)).terminal).toEqual({ reason: 'completed' });
    const usages = (await session.entries()).flatMap((entry) => (entry.kind === 'reply' ? [entry.message.usage] : []));
    const [, before, after] = usages;
    const written = (before?.cache_read_input_tokens ?? 0) + (before?.cache_creation_input_tokens ?? 0);
    expect(before?.cache_creation_input_tokens).toBeGreaterThan(0);
    expect(after?.cache_read_input_tokens).toBe(written);
  });
});

describe('what a run leaves in context', () => {
  test('counts for the next run: it compacts before it asks (L10)', async () => {
    const full = reply('They were read.', { usage: { input_tokens: 27_000 } });
    const h = await withFiles([look, look, look, full, reply('A summary.'), reply('Here I am.')], small);
    const session = await h.open('Read them.');
    await session.ended(1);
    await session.send('And now?');
    expect((await session.ended(2)).terminal).toEqual({ reason: 'completed' });
    expect(h.bodies().map((body) => asksForSummary(body))).toEqual([false, false, false, false, true, false]);
  });
});
