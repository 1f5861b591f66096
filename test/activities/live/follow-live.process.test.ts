// What a watcher sees of attempts that live, die and take each other's place.
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { LiveFate, LiveHeader, LiveWriter } from '../../../activities/live/events.ts';
import { fileLive } from '../../../activities/live/file-live.ts';
import type { Hash, SessionId } from '../../../workflows/contract/ids.ts';
import { compiled, outputOf, startNode } from '../../support/compiled.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { watcher } from '../../support/watcher.ts';

const session = 's-1' as SessionId;
const storedFate: LiveFate = { type: 'fate', fate: 'stored', head: 'h' as Hash };
const died = (why: string): LiveFate => ({ type: 'fate', fate: 'died', why });

type Opening = Partial<Omit<LiveHeader, 'type' | 'session' | 'step'>>;

function channel(dir = tempDir()) {
  const live = fileLive({ dir });
  const open = (step: number, changes: Opening = {}): LiveWriter =>
    live.open({ session, step, attempt: 1, activity: 'callModel', ...changes });
  const say = (writer: LiveWriter, ...texts: string[]): void => {
    for (const text of texts) writer.write({ type: 'text_delta', iteration: 3, index: 0, text });
  };
  return { dir, live, open, say };
}

const retry = { type: 'retry', iteration: 3, failures: 1, delayMs: 500, error: 'overloaded' } as const;

test('a session that does not exist yet is waited for, and seen from its first line', async () => {
  const { dir, open, say } = channel(`${tempDir()}/not/there/yet`);
  const seen = watcher(dir, session);
  const writer = open(1);
  say(writer, 'a');
  await seen.sees((items) => items.length === 1);
  say(writer, 'b');
  await writer.end(storedFate);
  await seen.sees((items) => items.length === 2);
  expect(seen.items).toMatchObject([
    { type: 'text_delta', text: 'a', step: 1, attempt: 1 },
    { type: 'text_delta', text: 'b', step: 1, attempt: 1 },
  ]);
});

test('what a watcher was given of an attempt that died is taken back, with the attempt’s number (L16)', async () => {
  const { dir, open, say } = channel();
  const seen = watcher(dir, session);
  const first = open(1);
  say(first, 'never ', 'mind');
  await seen.sees((items) => items.length === 2);
  await first.end(died('overloaded'));
  const second = open(1, { attempt: 2 });
  say(second, 'hello');
  await second.end(storedFate);
  await seen.sees((items) => items.length === 4);
  expect(seen.items[2]).toMatchObject({ type: 'tombstone', step: 1, attempt: 1, iteration: 3, why: 'overloaded' });
  expect(seen.said()).toEqual(['hello']);
});

test('an attempt that ended without a word is taken back when the next one begins (L16)', async () => {
  const { dir, open, say } = channel();
  const seen = watcher(dir, session);
  say(open(1), 'cut off by a crash');
  await seen.sees((items) => items.length === 1);
  await open(1, { attempt: 2 }).end(storedFate);
  await seen.sees((items) => items.length === 2);
  expect(seen.items[1]).toMatchObject({ type: 'tombstone', step: 1, attempt: 1 });
});

test('who joins late never sees what is void: died, replaced, superseded or given up (L16)', async () => {
  const { dir, open, say } = channel();
  const attempts: [number, Opening, string, LiveFate | null][] = [
    [1, { attempt: 1 }, 'died', died('overloaded')],
    [1, { attempt: 2 }, 'crashed', null],
    [1, { attempt: 3 }, 'one', storedFate],
    [2, {}, 'cut by max tokens', storedFate],
    [3, { supersedes: 2 }, 'three', storedFate],
    [4, { activity: 'runTool' }, 'given up', null],
    [5, {}, 'five', storedFate],
  ];
  for (const [step, changes, text, fate] of attempts) {
    const writer = open(step, changes);
    say(writer, text.padEnd(20_000));
    if (fate) await writer.end(fate);
  }
  const seen = watcher(dir, session);
  await seen.sees((items) => items.some(({ step }) => step === 5));
  expect(seen.items.map((item) => item.type === 'text_delta' && item.text.trim())).toEqual(['one', 'three', 'five']);
});

test('the announcement of a retry is seen although its attempt has died (L14)', async () => {
  const { dir, open, say } = channel();
  const seen = watcher(dir, session);
  const writer = open(1);
  say(writer, 'void');
  writer.write(retry);
  await writer.end(died('overloaded'));
  await seen.sees((items) => items.some(({ type }) => type === 'retry'));
  expect(seen.said()).toEqual([]);
});

test('the deltas of a reply that is asked for again are taken back (L26)', async () => {
  const { dir, open, say } = channel();
  const seen = watcher(dir, session);
  const cut = open(1);
  say(cut, 'as far as it g');
  await cut.end(storedFate);
  await seen.sees((items) => items.length === 1);
  const again = open(2, { supersedes: 1, retells: 2 });
  say(again, 'as far as it goes');
  await again.end(storedFate);
  await seen.sees((items) => items.length === 3);
  expect(seen.items[1]).toMatchObject({ type: 'tombstone', step: 1, attempt: 1 });
  expect(seen.items[1]).not.toHaveProperty('retold');
  expect(seen.said()).toEqual(['as far as it goes']);
});

test.each<[string, number, Opening]>([
  ['the next attempt', 1, { attempt: 2, retells: 1 }],
  ['a later step', 2, { supersedes: 1, retells: 1 }],
])(
  'what an attempt showed that died after it had stored it is no void, when %s tells it again (L16 L39)',
  async (_, step, by) => {
    const { dir, open, say } = channel();
    const seen = watcher(dir, session);
    say(open(1), 'stored');
    await seen.sees((items) => items.length === 1);
    const again = open(step, by);
    say(again, 'stored');
    await again.end(storedFate);
    await seen.sees((items) => items.length === 3);
    const why = 'its reply is stored, and told again';
    expect(seen.items[1]).toMatchObject({ type: 'tombstone', step: 1, attempt: 1, why, retold: true });
    expect(seen.said()).toEqual(['stored']);
  },
);

test('what was stored stays, also when another attempt finds it done and says so', async () => {
  const { dir, open, say } = channel();
  const first = open(1);
  say(first, 'stored');
  await first.end(storedFate);
  await open(1, { attempt: 2 }).end(storedFate);
  const seen = watcher(dir, session);
  await open(2).end(storedFate);
  const next = open(3);
  say(next, 'next');
  await next.end(storedFate);
  await seen.sees((items) => items.length === 2);
  expect(seen.said()).toEqual(['stored', 'next']);
});

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
  const first = open(1, { activity: 'openRun' });
  say(first, 'run 1');
  await first.end(storedFate);
  await seen.sees((items) => items.length === 1);
  await live.forgetBefore(session, 2);
  const second = open(2, { activity: 'openRun' });
  say(second, 'run 2');
  await second.end(storedFate);
  await seen.sees((items) => items.length === 2);
  rmSync(`${dir}/s-1`, { recursive: true });
  const third = open(3, { activity: 'openRun' });
  say(third, 'run 3');
  await third.end(storedFate);
  await seen.sees((items) => items.length === 3);
  expect(seen.said()).toEqual(['run 1', 'run 2', 'run 3']);
});

test('it ends when it is told to, whatever it waits for', async () => {
  const seen = watcher(`${tempDir()}/nothing`, session);
  await seen.stop();
  expect(seen.items).toEqual([]);
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
