// What is read of a large session is what is needed.
import { appendFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { expect, test } from 'vitest';
import { createAttemptReader } from '../../store/live/attempt-reader.ts';
import { folderChanges } from '../../store/live/file-live.ts';
import { attemptFile } from '../../store/live/files.ts';
import { memoryStore } from '../support/memory-store.ts';
import { readEntries } from '../../store/view/render-entries.ts';
import type { Store } from '../../store/values/store.ts';
import { emptyView } from '../../store/view/view.ts';
import type { Hash } from '../../workflows/contract/ids.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { appendSegment, outcome, outcomes, reply, session, textBlock, user } from '../support/transcript.ts';

/** Counts what is read of it. */
function counting(store: Store) {
  const read = { values: 0, bytes: 0 };
  const get: Store['get'] = async (hash) => {
    const bytes = await store.get(hash);
    read.values += 1;
    read.bytes += bytes.length;
    return bytes;
  };
  return { read, store: { ...store, get } };
}

/** A session of `turns` segments with two entries each. */
async function grown(turns: number) {
  const { read, store } = counting(memoryStore());
  let view = emptyView(session);
  for (let turn = 0; turn < turns; turn += 1)
    view = await appendSegment(store, view, [
      turn === 0 ? user('Go.') : outcomes(outcome(0, `result ${turn}`)),
      reply([textBlock(`turn ${turn}`)]),
    ]);
  return { read, store, head: view.head as Hash, whole: view.bytes };
}

test.each([0, 1, 2_501, 4_999, 9_998, 9_999])(
  'opens entry %d of 10,000 without reading the transcript (L8)',
  async (position) => {
    const { read, store, head, whole } = await grown(5_000);
    const text = Buffer.from((await readEntries(store, session, head, `perdure:entry/${position}`)) ?? []).toString();
    const turn = Math.floor(position / 2);
    const said = position % 2 === 1 ? `turn ${turn}` : turn === 0 ? 'Go.' : `result ${turn}`;
    expect(text).toMatch(new RegExp(`^--- entry ${position} ---\\n.*:\\n${said}$`));
    // To the last page, then a page at a time, then a search in one.
    expect(read.values).toBeLessThan(64 + 5_000 / 64 + 8);
    expect(read.bytes).toBeLessThan(whole / 5);
  },
);

test('opens a range as it did, across segments and pages, to the end and beyond (L10)', async () => {
  const { store, head } = await grown(200);
  const open = async (name: string) => Buffer.from((await readEntries(store, session, head, name)) ?? []).toString();
  const positions = (text: string) => [...text.matchAll(/^--- entry (\d+) ---$/gm)].map(([, at]) => Number(at));
  for (const [from, to] of [
    [0, 399],
    [100, 180],
    [127, 129],
    [126, 127],
    [255, 257],
    [396, 500],
  ] as const)
    expect(positions(await open(`perdure:entry/${from}-${to}`))).toEqual(
      Array.from({ length: Math.min(to, 399) - from + 1 }, (_, n) => from + n),
    );
  expect(await readEntries(store, session, head, 'perdure:entry/400')).toBeNull();
});

test('a watcher lists the files of a run again when one has come or gone, not when one has grown (L16)', async () => {
  const dir = tempDir();
  const reader = createAttemptReader(dir, () => {});
  const [stop, path] = [new AbortController(), (step: number) => attemptFile(dir, { step, attempt: 1 })];
  writeFileSync(path(1), '');
  const changes = folderChanges(dir, stop.signal);
  expect(reader.list(0)).toHaveLength(1);
  await until(async () => {
    appendFileSync(path(1), 'more\n');
    return (await changes.next(0))?.length === 0;
  });
  writeFileSync(path(2), '');
  reader.noteChanges([]);
  expect(reader.list(0)).toHaveLength(1);
  let told: readonly string[] | null = [];
  await until(async () => (told = await changes.next(0))?.length !== 0);
  reader.noteChanges(told);
  expect(reader.list(0)).toHaveLength(2);
  // A file that nobody told of stands between two that were.
  for (const step of [3, 4]) writeFileSync(path(step), '');
  reader.noteChanges([basename(path(4))]);
  expect(reader.list(2).map(({ step }) => step)).toEqual([2, 3, 4]);
  rmSync(path(4));
  reader.noteChanges([basename(path(4))]);
  expect(reader.list(3).map(({ step }) => step)).toEqual([3]);
  stop.abort();
  changes.close();
});
