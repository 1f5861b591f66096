// L9: closed old stretches get a short form while the full one is still in view.
import { APIError } from '@anthropic-ai/sdk';
import { expect, test } from 'vitest';
import { collapse } from '../../../activities/compaction/collapse.ts';
import type { Entry } from '../../../store/log/entries.ts';
import type { Collapse } from '../../../workflows/contract/activities.ts';
import { project } from '../../../store/view/project.ts';
import { estimateTokens } from '../../../workflows/contract/loop.ts';
import {
  callBlock,
  outcome,
  outcomes,
  reply,
  runStarted,
  textBlock,
  thinkingBlock,
  user,
} from '../../support/transcript.ts';
import { attemptOf, compactionBench, hanging, type BenchOptions } from './support.ts';

const round = (name: string, thinks = false): Entry[] => [
  reply([...(thinks ? [thinkingBlock('hm')] : []), textBlock(`About ${name}.`), callBlock(name)]),
  outcomes(outcome(thinks ? 2 : 1, name.repeat(150))),
];
const rounds = (count: number, thinks = false): Entry[] =>
  Array.from({ length: count }, (_, n) => round(`r${n}`, thinks)).flat();

async function run(options: Partial<BenchOptions> = {}) {
  const answers = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight'].map((n) => `Short ${n}.`);
  const bench = await compactionBench({ entries: [runStarted(1), user('Go.'), ...rounds(20)], answers, ...options });
  const go = (attempt = attemptOf(), more: Partial<Collapse> = {}) =>
    collapse(bench.deps)(attempt, { ...bench.request, ...more });
  return { ...bench, collapse: go };
}

const refused = (): Error => APIError.generate(400, { error: { message: 'no' } }, 'no', new Headers());

test('whole old rounds are staged, four stretches at most, the newest and the prompt left alone; the view is unchanged (L9)', async () => {
  const bench = await run();
  const result = await bench.collapse();
  if (result.kind !== 'staged') throw new Error(result.kind);
  const all = await bench.entries(result.head);
  const staged = all.flatMap((entry) => (entry.kind === 'collapse_staged' ? [entry] : []));
  expect(staged).toHaveLength(4);
  expect(staged.map(({ short }) => short)).toEqual(['Short one.', 'Short two.', 'Short three.', 'Short four.']);
  expect(staged[0]?.from).toBe(2);
  for (const [at, { from, to }] of staged.entries()) {
    expect(all[from]?.kind).toBe('reply');
    expect(all[to - 1]?.kind).toBe('outcomes');
    expect(from).toBeGreaterThanOrEqual(staged[at - 1]?.to ?? 0);
  }
  expect(project(all, new Map())).toEqual(project(all.slice(0, 42), new Map()));
  expect(bench.texts()[0]).toContain('About r0.');
  expect(bench.lines).toMatchObject([{ type: 'collapse_staged', savings: result.savings }, { fate: 'stored' }]);
});

test('committing them saves about what was said, and the short form names what the read tool opens (L9)', async () => {
  const bench = await run();
  const result = await bench.collapse();
  if (result.kind !== 'staged') throw new Error(result.kind);
  const all = await bench.entries(result.head);
  const tokens = (entries: readonly Entry[]): number =>
    estimateTokens(JSON.stringify(project(entries, new Map())).length);
  const committed: Entry[] = [...all, { kind: 'collapse_committed', count: 1 }];
  const saved = tokens(all) - tokens(committed);
  expect(saved).toBeGreaterThan((result.savings[0] ?? 0) * 0.8);
  expect(saved).toBeLessThan((result.savings[0] ?? 0) * 2);
  expect(JSON.stringify(project(committed, new Map())[0])).toMatch(/perdure:entry\/2-\d+.*Short one\./);
});

test('stretches are as large as the window of the model in use wants them (L9 L19)', async () => {
  const bench = await run({ window: 40_000, nextWindow: 1_000 });
  expect(await bench.collapse()).toMatchObject({ kind: 'failed', detail: expect.stringContaining('large enough') });
  expect(await bench.collapse(attemptOf(), { model: 1 })).toMatchObject({ kind: 'staged' });
});

test('what is staged is not staged again (L9)', async () => {
  const bench = await run();
  const first = await bench.collapse();
  if (first.kind !== 'staged') throw new Error(first.kind);
  const second = await collapse(bench.deps)(attemptOf(), { ...bench.request, head: first.head, step: 4 });
  const ranges = (await bench.entries('head' in second ? second.head : first.head)).flatMap((entry) =>
    entry.kind === 'collapse_staged' ? [entry] : [],
  );
  for (const [at, { from }] of ranges.entries()) expect(from).toBeGreaterThanOrEqual(ranges[at - 1]?.to ?? 0);
});

test('an open trajectory with signed thinking is left whole (L59)', async () => {
  const bench = await run({ entries: [runStarted(1), user('Go.'), ...rounds(20, true)] });
  expect(await bench.collapse()).toMatchObject({ kind: 'failed', detail: expect.stringContaining('nothing in view') });
  expect(bench.asked).toHaveLength(0);
});

test('a stretch that the small model fails on is passed over; when all fail, nothing is stored (L9)', async () => {
  const bench = await run({ answers: [refused(), refused(), 'Short.', 'x'.repeat(9_000), refused(), refused()] });
  const result = await bench.collapse();
  if (result.kind !== 'staged') throw new Error(result.kind);
  expect(result.savings).toHaveLength(1);
  const failing = await run({ answers: Array.from({ length: 8 }, () => refused()) });
  expect(await failing.collapse()).toMatchObject({ kind: 'failed', detail: expect.stringContaining('400') });
  expect(failing.lines.at(-1)).toMatchObject({ fate: 'died' });
});

test('a lost completion is found again, and a cancelled staging stores nothing (L9 L47)', async () => {
  const bench = await run();
  expect(await bench.collapse(attemptOf(2))).toEqual(await bench.collapse(attemptOf(1)));
  expect(bench.asked).toHaveLength(4);
  const attempt = attemptOf();
  const cancelled = await run({ answers: ['Short.', hanging(() => attempt.abort('stop'))] });
  expect(await cancelled.collapse(attempt)).toMatchObject({ kind: 'nothing', spend: { usage: { input: 2_000 } } });
});

test('what is left to spend ends the staging: what was made by then is staged (L51)', async () => {
  const bench = await run();
  const result = await bench.collapse(attemptOf(), { left: { tokens: 2_000 } });
  expect(result).toMatchObject({ kind: 'staged', savings: { length: 2 }, spend: { usage: { input: 2_000 } } });
  expect(bench.asked).toHaveLength(2);
});
