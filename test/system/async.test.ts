// Questions that several ask at once are asked once, and texts that are written often are written
// together.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, onTestFinished, test, vi } from 'vitest';
import { pause, shareInFlight, TextBatch, startDeadline } from '../../system/async.ts';

test('who asks while the same is asked for shares its answer, and who asks later asks anew (L64)', async () => {
  const asked: string[] = [];
  const ask = (key: string): Promise<number> => {
    asked.push(key);
    return Promise.resolve(asked.length);
  };
  const look = shareInFlight<string, number>();
  expect(await Promise.all([look('a', ask), look('b', ask), look('a', ask)])).toEqual([1, 2, 1]);
  expect(await look('a', ask)).toBe(3);
  expect(asked).toEqual(['a', 'b', 'a']);
});

test('a failure is shared as well, and forgotten', async () => {
  const look = shareInFlight<string, string>();
  const fail = () => Promise.reject(new Error('gone'));
  const both = await Promise.allSettled([look('a', fail), look('a', () => Promise.resolve('never asked'))]);
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await look('a', () => Promise.resolve('here'))).toBe('here');
});

test('text is written at once when none was lately, together within its time, and early when it is much (O13)', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const written: string[] = [];
  const batch = new TextBatch({ ms: 15, size: 10 }, (text) => written.push(text));
  // The first texts of a batch come together.
  batch.add('a');
  vi.advanceTimersByTime(14);
  batch.add('b');
  expect(written).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(written).toEqual(['ab']);
  vi.advanceTimersByTime(20);
  batch.add('c');
  vi.advanceTimersByTime(1);
  expect(written).toEqual(['ab', 'c']);
  batch.add('d');
  batch.add('e');
  vi.advanceTimersByTime(13);
  expect(written).toEqual(['ab', 'c']);
  vi.advanceTimersByTime(2);
  expect(written).toEqual(['ab', 'c', 'de']);
  batch.add('much and long');
  expect(written.at(-1)).toBe('much and long');
  batch.add('taken');
  expect(batch.takeAll()).toBe('taken');
  vi.advanceTimersByTime(100);
  batch.flush();
  expect(written).toHaveLength(4);
});

test('a time that is up ends the work, also when memory was collected meanwhile', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const ended = new Promise<unknown>((resolve) => {
    const { signal } = startDeadline(100, new AbortController().signal);
    const listened = AbortSignal.any([signal, new AbortController().signal]);
    listened.addEventListener('abort', () => resolve(listened.reason));
  });
  for (let round = 0; round < 3; round += 1) {
    await pause(10, new AbortController().signal);
    collect();
  }
  expect(await ended).toMatchObject({ name: 'TimedOut' });
});
