// The value that a run with an output schema came to.
import { expect, test } from 'vitest';
import { resultOf, type RunResult } from '../../store/view/result.ts';
import { memoryStore } from '../support/memory-store.ts';
import { outputReader } from '../../client/sessions/outcome.ts';
import type { Terminal } from '../../workflows/contract/loop.ts';
import { reply, runEnded, runStarted, textBlock } from '../support/transcript.ts';

async function outputOf(text: string, outputSchema: object | null | undefined, terminal?: Terminal) {
  const store = memoryStore();
  const config = await store.put(Buffer.from(JSON.stringify({ v: 1, outputSchema })));
  const entries = [runStarted(1, config), reply([textBlock(text)]), runEnded(1, terminal)];
  return outputReader(store)(entries, resultOf({ entries }, 1) as RunResult);
}

const schema = { type: 'object' };

test('is the final answer, parsed, bare or in its fence (L53)', async () => {
  expect(await outputOf('{"n": 3}', schema)).toEqual({ output: { n: 3 } });
  expect(await outputOf('Here:\n```json\n{"n": 3}\n```', schema)).toEqual({ output: { n: 3 } });
  expect(await outputOf('null', schema)).toEqual({ output: null });
});

test.each<[string, string, object | null | undefined, Terminal | undefined]>([
  ['without a schema', '{"n": 3}', null, undefined],
  ['of a run before there were schemas', '{"n": 3}', undefined, undefined],
  ['of a run that did not complete', '{"n": 3}', schema, { reason: 'structured_output_failed', detail: 'no' }],
])('is absent %s', async (_what, text, given, terminal) => {
  expect(await outputOf(text, given, terminal)).toEqual({});
});

test('is not taken for absent when a newer Perdure wrote the configuration of the run', async () => {
  const store = memoryStore();
  const entries = [runStarted(1, await store.put(Buffer.from('{"v":2}'))), reply([textBlock('{}')]), runEnded(1)];
  const read = outputReader(store)(entries, resultOf({ entries }, 1) as RunResult);
  await expect(read).rejects.toThrow('update this one');
});

test('is absent when the configuration of the run is lost', async () => {
  const entries = [runStarted(1), reply([textBlock('{}')]), runEnded(1)];
  expect(await outputReader(memoryStore())(entries, resultOf({ entries }, 1) as RunResult)).toEqual({});
});
