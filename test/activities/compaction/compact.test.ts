// L10, L24: older messages in view are replaced by a summary, or nothing is stored.
import { APIError } from '@anthropic-ai/sdk';
import { expect, test } from 'vitest';
import { compact } from '../../../activities/compaction/compact.ts';
import type { BoundaryEntry, Entry } from '../../../store/log/entries.ts';
import { hashOf } from '../../../store/values/store.ts';
import { project } from '../../../store/view/project.ts';
import type { Compact } from '../../../workflows/contract/activities.ts';
import type { Hash, MessageId } from '../../../workflows/contract/ids.ts';
import {
  boundary,
  callBlock,
  outcome,
  outcomes,
  reply,
  runEnded,
  runStarted,
  session,
  textBlock,
  user,
} from '../../support/transcript.ts';
import { runner } from '../hooks/support.ts';
import { attemptOf, compactionBench, hanging, saying, type BenchOptions } from './support.ts';

const round = (name: string, size = 400): Entry[] => [
  reply([textBlock(`About ${name}.`), callBlock(name)]),
  outcomes(outcome(1, name.repeat(Math.ceil(size / name.length)))),
];
const long = [
  runStarted(1),
  user('Fix the bug in a.ts.'),
  ...['r1', 'r2', 'r3', 'r4', 'r5', 'r6'].flatMap((name) => round(name)),
];

async function run(options: Partial<BenchOptions> = {}, trigger: 'auto' | 'reactive' = 'auto') {
  const bench = await compactionBench({ entries: long, answers: ['They looked at r1 to r4.'], ...options });
  const input = { ...bench.request, trigger };
  return { ...bench, input, compact: (attempt = attemptOf()) => compact(bench.deps)(attempt, input) };
}

test('a boundary holds the summary; the prompt of the run and the newest round stay as they are; it is strictly smaller (L10)', async () => {
  const { compact: go, entries, lines, texts } = await run();
  const result = await go();
  if (result.kind !== 'compacted') throw new Error(result.kind);
  expect(result.after).toBeLessThan(result.before);
  expect(result.spend).toMatchObject({ usage: { input: 1_000, output: 10 }, usd: expect.closeTo(0.00101, 6) });
  const all = await entries(result.head);
  expect(all.slice(0, long.length)).toEqual(long);
  const { before, after } = result;
  expect(all.at(-1)).toMatchObject({ kind: 'boundary', trigger: 'auto', prompts: [1], from: 12, before, after });
  const messages = project(all, new Map());
  expect(JSON.stringify(messages[0])).toContain('They looked at r1 to r4.');
  expect(JSON.stringify(messages[0])).toContain('Fix the bug in a.ts.');
  expect(messages).toHaveLength(3);
  expect(messages[1]).toMatchObject({ content: [{ text: 'About r6.' }, { name: 'read' }] });
  expect(texts()[0]).toContain('r1r1r1');
  expect(texts()[0]).not.toContain('r6r6r6');
  expect(lines.map((line) => line.type)).toEqual(['compaction_start', 'compaction_end', 'fate']);
  expect(lines.at(1)).toMatchObject({ before: result.before, after: result.after, kept: 3 });
});

test('a summary that saves nothing is a failure, and nothing is stored (L10)', async () => {
  const { compact: go, lines, deps, input } = await run({ answers: ['blah '.repeat(2_000)] });
  expect(await go()).toMatchObject({ kind: 'failed', detail: expect.stringContaining('saves nothing') });
  expect(lines.at(-1)).toMatchObject({ fate: 'died' });
  expect((await deps.transcripts.view(session, input.head)).length).toBe(long.length);
});

test.each<[string, NonNullable<BenchOptions['answers']>[number], RegExp]>([
  ['a refusal', () => saying('I will not.', 'refusal'), /refused to answer/],
  ['an error', APIError.generate(400, { error: { message: 'no' } }, 'no', new Headers()), /400/],
])('%s of both models in the place of a summary is a failure (L10)', async (_, answer, detail) => {
  const { compact: go } = await run({ answers: [answer, answer] });
  expect(await go()).toMatchObject({ kind: 'failed', detail: expect.stringMatching(detail) });
});

test('when nothing older is in view it leaves it as it is, without asking the model (L10)', async () => {
  const { compact: go, asked } = await run({ entries: [runStarted(1), user('Hello.')] });
  expect(await go()).toMatchObject({ kind: 'as_is', tokens: expect.any(Number) });
  expect(asked).toHaveLength(0);
});

test('a second compaction summarises the summary of the first, and the prompt still stays (L10)', async () => {
  const bench = await run({ answers: ['Summary one.', 'Summary two.'] });
  const first = await bench.compact();
  if (first.kind !== 'compacted') throw new Error(first.kind);
  const grown = await bench.deps.transcripts.extend(session, first.head, []);
  const next = bench.deps.transcripts.next(
    grown,
    ['r7', 'r8', 'r9'].flatMap((name) => round(name)),
  );
  const head = await bench.deps.store.put(next.bytes);
  const second = await compact(bench.deps)(attemptOf(), { ...bench.input, head, step: 4 });
  if (second.kind !== 'compacted') throw new Error(second.kind);
  expect(bench.texts()[1]).toContain('Summary one.');
  const [seen] = project(await bench.entries(second.head), new Map());
  expect(JSON.stringify(seen)).toContain('Summary two.');
  expect(JSON.stringify(seen)).not.toContain('Summary one.');
  expect(JSON.stringify(seen)).toContain('Fix the bug in a.ts.');
});

/** Where what stays as it is begins, for another `trigger` or `model`. */
async function keptFrom(more: Partial<Compact>, options: Partial<BenchOptions>): Promise<number> {
  const bench = await run(options);
  const { head } = (await compact(bench.deps)(attemptOf(), { ...bench.input, ...more })) as { head: Hash };
  return ((await bench.entries(head)).at(-1) as BoundaryEntry).from;
}

test('a reactive compaction keeps less of what is recent (L24)', async () => {
  const entries = [...long, ...['r7', 'r8', 'r9'].flatMap((name) => round(name, 60))];
  expect(await keptFrom({ trigger: 'reactive' }, { entries })).toBeGreaterThan(await keptFrom({}, { entries }));
});

test('what stays is what fits the window of the model in use (L10 L19)', async () => {
  const primary = await keptFrom({}, { nextWindow: 2_000 });
  expect(await keptFrom({ model: 1 }, { nextWindow: 2_000 })).toBeLessThan(primary);
});

test('a completion that was lost is found by the next attempt, which asks nothing (L10)', async () => {
  const bench = await run();
  const first = await bench.compact(attemptOf(1));
  bench.lines.length = 0;
  expect(await bench.compact(attemptOf(2))).toEqual(first);
  expect(bench.asked).toHaveLength(1);
  expect(bench.lines.map((line) => line.type)).toEqual(['compaction_start', 'compaction_end', 'fate']);
});

test('a cancelled compaction is discarded whole, and what it cost is said (L47)', async () => {
  const attempt = attemptOf();
  const bench = await run({ answers: [hanging(() => attempt.abort('stop'))] });
  expect(await bench.compact(attempt)).toMatchObject({ kind: 'nothing', spend: { usage: { input: 1_000 } } });
  expect(bench.lines.at(-1)).toMatchObject({ fate: 'died' });
});

test('an attempt that a deploy ends throws, and the next one counts what it had cost (L50 L51)', async () => {
  const attempt = attemptOf();
  const bench = await run({ answers: [hanging(() => attempt.abort('deploy')), 'Short.'] });
  await expect(bench.compact(attempt)).rejects.toThrow('deploy');
  const again = await bench.compact(attemptOf(2, attempt.left()));
  expect(again).toMatchObject({ kind: 'compacted', spend: { usage: { input: 2_000 } } });
});

test('what pre-compact hooks say joins the instructions; hooks that fail are reported in the segment (L10)', async () => {
  const told: unknown[] = [];
  const bench = await run({
    hooks: {
      has: () => true,
      preCompact: () =>
        Promise.resolve({
          instructions: [{ hook: 'h', text: 'Keep the port number.' }],
          failed: [{ hook: 'bad', detail: 'crashed' }],
        }),
      postCompact: (_, compaction) => Promise.resolve({ failed: [], told: told.push(compaction) }),
    },
  });
  const result = await bench.compact();
  if (result.kind !== 'compacted') throw new Error(result.kind);
  expect(bench.texts()[0]).toContain('Keep the port number.');
  expect((await bench.entries(result.head)).at(-2)).toEqual({
    kind: 'notice',
    notice: { kind: 'hook_failed', hook: 'bad', detail: 'crashed' },
  });
  expect(told).toEqual([
    { trigger: 'auto', before: result.before, after: result.after, summary: 'They looked at r1 to r4.' },
  ]);
});

test('watchers see the hooks of a compaction at work, also those after it is stored (L60)', async () => {
  const hooks = runner({
    preCompact: [{ name: 'before', run: () => ({ instructions: 'Keep the port number.' }) }],
    postCompact: [{ name: 'after', run: () => Promise.reject(new Error('boom')) }],
  });
  const { compact: go, lines } = await run({
    hooks: {
      preCompact: (...asked) => hooks.preCompact(...asked),
      postCompact: (...asked) => hooks.postCompact(...asked),
      has: (name) => hooks.has(name),
    },
  });
  await go();
  expect(lines.map((line) => ('hook' in line ? [line.type, line.hook] : line.type))).toEqual([
    'compaction_start',
    ['hook_start', 'before'],
    ['hook_end', 'before'],
    'compaction_end',
    ['hook_start', 'after'],
    ['hook_end', 'after'],
    'notice',
    'fate',
  ]);
  expect(lines).toContainEqual({ type: 'hook_end', iteration: 2, hook: 'after', result: 'failed: boom' });
});

test('what does not fit the small model is shortened, oldest first (L10)', async () => {
  const entries = [runStarted(1), user('Go.'), ...round('old', 30_000), ...round('mid', 9_000), ...round('new', 300)];
  const bench = await run({ entries, window: 20_000, smallWindow: 12_000, answers: ['Short.'] }, 'reactive');
  await bench.compact();
  const [text] = bench.texts();
  expect(text?.length).toBeLessThan(12_000 * 4 * 0.6);
  expect(text).toContain('characters left out');
  expect(text?.includes('mid'.repeat(3_000))).toBe(true);
});

test('what the small model finds too long is shown to it once more at half the length (L10)', async () => {
  const tooLong = APIError.generate(413, { error: { message: 'too long' } }, 'too long', new Headers());
  const bench = await run({
    entries: [...long, ...round('r7', 9_000), ...round('r8')],
    answers: [tooLong, 'Short.'],
    smallWindow: 5_000,
  });
  expect(await bench.compact()).toMatchObject({ kind: 'compacted' });
  const [first, second] = bench.texts().map((text) => text.length);
  expect(second).toBeLessThan((first ?? 0) * 0.7);
});

test('prompts of earlier runs are summarised, those of this run stay (L10)', async () => {
  const entries = [
    runStarted(1),
    user('Old task.'),
    ...round('r1'),
    runEnded(1),
    runStarted(2),
    user('New task.'),
    ...['r2', 'r3', 'r4'].flatMap((name) => round(name)),
  ];
  const bench = await run({ entries });
  const result = await bench.compact();
  const all = await bench.entries((result as { head: Hash }).head);
  const seen = JSON.stringify(project(all, new Map()));
  expect(seen).toContain('New task.');
  expect(seen).not.toContain('Old task.');
});

test('a worker with the scripted model does not summarise a run of a real one (L10)', async () => {
  const bench = await run();
  const scripted = compact({ ...bench.deps, scripted: true });
  await expect(scripted(attemptOf(), bench.input)).rejects.toThrow('only the scripted model');
  expect(bench.asked).toHaveLength(0);
});

test('a stored prompt that is no longer seen is not read again (L10)', async () => {
  const lost = { kind: 'stored', hash: hashOf(Buffer.from('lost')), bytes: 4 } as const;
  const old: Entry = { kind: 'user', id: 'm-lost' as MessageId, body: lost };
  const entries = [
    runStarted(1),
    old,
    runEnded(1),
    runStarted(2),
    user('New.'),
    boundary('So far.', 3),
    ...round('r1'),
  ];
  const bench = await run({ entries });
  const extended = await bench.deps.transcripts.extend(session, bench.input.head, []);
  expect((await bench.deps.transcripts.messages(extended)).messages).toHaveLength(3);
});
