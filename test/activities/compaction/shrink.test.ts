// L8 before L9 and L10: old results are shrunk first, and when that is enough the small model is
// not asked.
import { expect, test } from 'vitest';
import { collapse } from '../../../activities/compaction/collapse.ts';
import { compact } from '../../../activities/compaction/compact.ts';
import type { Entry } from '../../../store/log/entries.ts';
import type { Append, Compact } from '../../../workflows/contract/activities.ts';
import type { MessageId } from '../../../workflows/contract/ids.ts';
import { callBlock, outcome, outcomes, reply, runStarted, session, textBlock, user } from '../../support/transcript.ts';
import { attemptOf, compactionBench, type Answer } from './support.ts';

const COLD = 6 * 60_000;

const round = (n: number, size: number): Entry[] => [
  reply([textBlock(`Round ${n}.`), callBlock(`c${n}`)]),
  outcomes(outcome(1, 'x'.repeat(size))),
];
const rounds = (count: number, size = 8_000): Entry[] => Array.from({ length: count }, (_, n) => round(n, size)).flat();
const prompt = { kind: 'user', id: 'm-new' as MessageId, body: { kind: 'text', text: 'And now?' } } as const;

/** Seven results of which the two oldest may go, with a cold cache. */
async function bench(answers: readonly Answer[] = [], entries: readonly Entry[] = rounds(7), now = COLD) {
  const made = await compactionBench({ entries: [runStarted(1), user('Go.'), ...entries], answers, window: 20_000 });
  const deps = { ...made.deps, now: () => now };
  const input = { ...made.request, append: [prompt] as readonly Append[], trigger: 'auto' } as const;
  const go = (more: Partial<Compact> = {}, attempt = attemptOf()) => compact(deps)(attempt, { ...input, ...more });
  const stage = (unlessFreed: number) => collapse(deps)(attemptOf(), { ...made.request, unlessFreed });
  const kinds = async (head: unknown) => {
    const all = await made.entries(head as never);
    return all.slice(2 + entries.length).map(({ kind }) => kind);
  };
  return { ...made, go, stage, kinds };
}

test('when they free enough that is all that is done: recorded as a model call records it, and no compaction (L8 L10)', async () => {
  const { go, kinds, asked, lines, deps } = await bench();
  const result = await go({ unlessFreed: 3_000 });
  if (result.kind !== 'shrunk') throw new Error(result.kind);
  expect(result.freed).toBeGreaterThan(3_000);
  expect(await kinds(result.head)).toEqual(['user', 'microcompact']);
  const after = await deps.transcripts.extend(session, result.head, []);
  expect(deps.transcripts.shrinkResults(after, COLD, {})).toBe(after);
  expect(asked).toHaveLength(0);
  const told = ['user', 'microcompact', 'fate'];
  expect(lines.map(({ type }) => type)).toEqual(told);
  expect(lines.slice(1)).toMatchObject([{ before: 5, freed: result.freed, results: 2 }, { fate: 'stored' }]);
  expect(await go({ unlessFreed: 3_000 }, attemptOf(2))).toEqual(result);
  expect(lines.slice(told.length).map(({ type }) => type)).toEqual(told);
});

test('when they free too little a summary is made of what that leaves, by the same activity (L8 L10)', async () => {
  const { go, kinds, texts, lines } = await bench(['They went round.']);
  const result = await go({ unlessFreed: 5_000 });
  if (result.kind !== 'compacted') throw new Error(result.kind);
  expect(await kinds(result.head)).toEqual(['user', 'microcompact', 'boundary']);
  expect(texts()[0]).toContain('An older result, about 8000 characters');
  expect(lines.map(({ type }) => type)).toEqual(['user', 'compaction_start', 'microcompact', 'compaction_end', 'fate']);
});

test('before a summary is made, what is staged is committed (L9 L10)', async () => {
  const staged: Entry = { kind: 'collapse_staged', from: 2, to: 4, short: 'Round 0 in short.' };
  const { go, kinds, texts, lines } = await bench(['They went round.'], [...rounds(7), staged], 0);
  const result = await go({ unlessFreed: 5_000 });
  if (result.kind !== 'compacted') throw new Error(result.kind);
  expect(await kinds(result.head)).toEqual(['user', 'collapse_committed', 'boundary']);
  expect(texts()[0]).toContain('Round 0 in short.');
  const told = ['user', 'compaction_start', 'collapse_committed', 'compaction_end', 'fate'];
  expect(lines.map(({ type }) => type)).toEqual(told);
  await go({ unlessFreed: 5_000 }, attemptOf(2));
  expect(lines.slice(told.length).map(({ type }) => type)).toEqual(told);
});

test.each([
  ['a warm cache', rounds(7), 0],
  ['few results', rounds(5), COLD],
])(
  'when nothing can be freed and nothing else is wanted, nothing is stored, told or asked: %s (L8 L12)',
  async (_, entries, now) => {
    const { go, asked, lines } = await bench([], entries, now);
    expect(await go({ unlessFreed: -1 })).toMatchObject({ kind: 'unshrunk' });
    expect(asked).toHaveLength(0);
    expect(lines.map(({ type }) => type)).toEqual(['fate']);
  },
);

test('a summary that fails leaves them shrunk, and that is told (L8 L10 L60)', async () => {
  const { go, kinds, lines } = await bench(['blah '.repeat(60_000)]);
  const result = await go({ unlessFreed: 5_000 });
  if (result.kind !== 'failed') throw new Error(result.kind);
  expect(result.freed).toBeGreaterThan(3_000);
  expect(await kinds(result.head)).toEqual(['user', 'microcompact']);
  expect(lines.map(({ type }) => type)).toEqual(['user', 'compaction_start', 'microcompact', 'fate']);
});

test('they are shrunk before short forms are staged; when that is enough none is made (L8 L9)', async () => {
  const enough = await bench();
  const shrunk = await enough.stage(3_000);
  if (shrunk.kind !== 'shrunk') throw new Error(shrunk.kind);
  expect(await enough.kinds(shrunk.head)).toEqual(['microcompact']);
  const more = await bench(['One.', 'Two.', 'Three.', 'Four.'], rounds(9));
  const staged = await more.stage(1_000_000);
  if (staged.kind !== 'staged') throw new Error(staged.kind);
  expect(staged.freed).toBeGreaterThan(3_000);
  expect((await more.kinds(staged.head)).slice(0, 2)).toEqual(['microcompact', 'collapse_staged']);
  expect(more.lines.map(({ type }) => type)).toEqual(['microcompact', 'collapse_staged', 'fate']);
});
