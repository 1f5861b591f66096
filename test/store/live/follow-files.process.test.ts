// Reads the live channel's files: lines that are not whole, folders that go, processes that write
// at the same time.
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { LiveFate, LiveHeader, LiveWriter } from '../../../store/live/events.ts';
import { fileLive } from '../../../store/live/file-live.ts';
import type { Hash, SessionId } from '../../../workflows/contract/ids.ts';
import { compiled, outputOf, startNode } from '../../support/compiled.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { watcher } from '../../support/watcher.ts';

const session = 's-1' as SessionId;
const storedFate: LiveFate = { type: 'fate', fate: 'stored', head: 'h' as Hash };

function channel() {
  const dir = tempDir();
  const live = fileLive({ dir });
  const open = (step: number): LiveWriter => live.open({ session, step, attempt: 1, activity: 'openRun' });
  const say = (writer: LiveWriter, text: string): void =>
    writer.write({ type: 'text_delta', iteration: 3, index: 0, text });
  return { dir, live, open, say };
}

test('a line is seen when it is whole, and garbage is left out with a warning', async () => {
  const { dir } = channel();
  const path = `${dir}/s-1/00000001.1.jsonl`;
  mkdirSync(`${dir}/s-1`);
  const header: LiveHeader = { type: 'header', session, step: 1, attempt: 1, activity: 'callModel' };
  const delta = (text: string): string => `${JSON.stringify({ type: 'text_delta', iteration: 1, index: 0, text })}\n`;
  writeFileSync(
    path,
    `${JSON.stringify(header)}\n${delta('one')}garbage\n{"type":"of tomorrow"}\n${delta('zwö').slice(0, -6)}`,
  );
  const seen = watcher(dir, session);
  await seen.sees((items) => items.length === 1);
  appendFileSync(path, delta('zwö').slice(-6));
  await seen.sees((items) => items.length === 2);
  expect(seen.said()).toEqual(['one', 'zwö']);
  expect(seen.warnings).toEqual([expect.stringContaining(path)]);
});

test('files that are forgotten, and a folder that goes, are a gap and no error', async () => {
  const { dir, live, open, say } = channel();
  const seen = watcher(dir, session);
  const first = open(1);
  say(first, 'run 1');
  await first.end(storedFate);
  await seen.sees((items) => items.length === 1);
  await live.forgetBefore(session, 2);
  const second = open(2);
  say(second, 'run 2');
  await second.end(storedFate);
  await seen.sees((items) => items.length === 2);
  rmSync(`${dir}/s-1`, { recursive: true });
  const third = open(3);
  say(third, 'run 3');
  await third.end(storedFate);
  await seen.sees((items) => items.length === 3);
  expect(seen.said()).toEqual(['run 1', 'run 2', 'run 3']);
});

test('of three processes that write at once, every line is seen, in the order of each', async () => {
  const dir = tempDir();
  const script = compiled('test/support/live-writer.ts');
  const seen = watcher(dir, session);
  await Promise.all([1, 2, 3].map((step) => outputOf(startNode(script, dir, session, String(step), '500'))));
  await seen.sees((items) => items.length === 1_500);
  for (const step of [1, 2, 3]) {
    const texts = seen.items.flatMap((item) => (item.step === step && item.type === 'text_delta' ? [item.text] : []));
    expect(texts).toEqual(Array.from({ length: 500 }, (_, n) => `${step}:${n}`));
  }
});
