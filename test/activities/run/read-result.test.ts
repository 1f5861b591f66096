// What a run came to, as a workflow's result: within what a server takes, whatever it is written
// with.
import { expect, test } from 'vitest';
import { callModel } from '../../../activities/call-model.ts';
import { commit } from '../../../activities/commit.ts';
import { readResult } from '../../../activities/run/read-result.ts';
import { reply } from '../../../scripted-model/index.ts';
import { noSpend } from '../../../workflows/contract/loop.ts';
import { benchDeps, fakeAttempt } from '../../support/bench-deps.ts';

const MOST = 2 * 1024 * 1024;

test.each([
  ['characters of three bytes', '界'],
  ['characters that JSON writes with six', '\u0001'],
  ['pairs', '🙂'],
])('a final reply of a million %s fits a result of 2 MiB, from its beginning (Q4)', async (_what, character) => {
  const text = character.repeat(1_000_000);
  const bench = await benchDeps({ script: [reply(text)] });
  const said = await callModel(bench.deps)(fakeAttempt(), bench.input());
  if (said.kind !== 'message') throw new Error(said.kind);
  const summary = { run: 1, terminal: { reason: 'completed' }, turns: 1, iterations: 1, messages: [] } as const;
  const ended = { ...summary, spend: noSpend, durationMs: 1, at: 1 };
  const { head } = await commit(bench.deps)(fakeAttempt(), {
    head: said.head,
    append: [{ kind: 'run_ended', ended }],
    step: 9,
  });
  const found = await readResult(bench.deps)(fakeAttempt(), { head, run: 1, step: 10 });
  expect(text.startsWith(found.text)).toBe(true);
  expect(found.text.length).toBeGreaterThan(200_000);
  expect(Buffer.byteLength(JSON.stringify(found))).toBeLessThan(MOST - 400_000);
});
