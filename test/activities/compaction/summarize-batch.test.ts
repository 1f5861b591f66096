// L42: a line about the batch that ran; no failure of the model is one of the run.
import { APIError } from '@anthropic-ai/sdk';
import { expect, test } from 'vitest';
import { summarizeBatch } from '../../../activities/compaction/summarize.ts';
import { callBlock, outcome, outcomes, reply, textBlock, user } from '../../support/transcript.ts';
import { attemptOf, compactionBench, saying, type Answer } from './support.ts';

async function run(...answers: Answer[]) {
  const batch = [
    reply([textBlock('Let me see.'), callBlock('a', { path: 'a.ts' })]),
    outcomes(outcome(1, 'const a = 1')),
  ];
  const bench = await compactionBench({ entries: [user('An old secret.'), ...batch], answers });
  return { ...bench, result: await summarizeBatch(bench.deps)(attemptOf(), bench.request) };
}

test('the small model is shown the batch alone and its first line is the summary; nothing is stored or shown live (L42)', async () => {
  const { result, texts, lines } = await run('Read a.ts\nand more');
  expect(result).toMatchObject({ text: 'Read a.ts', spend: { usage: { input: 1_000 } } });
  expect(texts()[0]).toContain('const a = 1');
  expect(texts()[0]).not.toContain('secret');
  expect(lines).toEqual([]);
});

test('a line is at most 120 characters (L42)', async () => {
  expect((await run('word '.repeat(100))).result.text?.length).toBe(120);
});

const missing = () => APIError.generate(404, { error: { message: 'model: claude-small' } }, 'no', new Headers());

test('where there is no small model the run’s own is asked, which the log says once, and then at once (L42 X1)', async () => {
  const { result, asked, deps, request, warnings } = await run(missing(), 'Read a.ts', 'Read it again');
  expect(result.text).toBe('Read a.ts');
  expect((await summarizeBatch(deps)(attemptOf(), request)).text).toBe('Read it again');
  expect(asked.map(({ model }) => model)).toEqual(['claude-small', 'claude-test', 'claude-test']);
  expect(warnings).toEqual([
    expect.stringMatching(/^the small model claude-small is not there \(404: .*claude-test answers/),
  ]);
});

test('what the small model refuses is asked of the run’s own, and the next question is put to it again (L42 X1)', async () => {
  const { result, asked, deps, request, warnings } = await run(
    () => saying('I will not.', 'refusal'),
    'Read a.ts',
    'More',
  );
  expect(result.text).toBe('Read a.ts');
  await summarizeBatch(deps)(attemptOf(), request);
  expect(asked.map(({ model }) => model)).toEqual(['claude-small', 'claude-test', 'claude-small']);
  expect(warnings).toEqual([]);
});

test('a key that is wrong is wrong for every model, and one that is gone is not asked for twice (L42 X1)', async () => {
  const wrong = APIError.generate(401, { error: { message: 'invalid x-api-key' } }, 'no', new Headers());
  const { result, asked } = await run(wrong);
  expect([result.text, asked.length]).toEqual([null, 1]);
});

test('a model that fails or says nothing leaves no summary (L42)', async () => {
  const refused = APIError.generate(400, { error: { message: 'no' } }, 'no', new Headers());
  expect((await run(refused, refused)).result.text).toBeNull();
  expect((await run('', '', '')).result.text).toBeNull();
});
