// L42: a line about the batch that ran; no failure of the model is one of the run.
import { APIError } from '@anthropic-ai/sdk';
import { expect, test } from 'vitest';
import { summarizeBatch } from '../../../activities/compaction/summarize.ts';
import { callBlock, outcome, outcomes, reply, textBlock, user } from '../../support/transcript.ts';
import { attemptOf, compactionBench, type Answer } from './support.ts';

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

test('a model that fails or says nothing leaves no summary (L42)', async () => {
  const refused = APIError.generate(400, { error: { message: 'no' } }, 'no', new Headers());
  expect((await run(refused)).result.text).toBeNull();
  expect((await run('', '', '')).result.text).toBeNull();
});
