// Notes that take the place of others: at any moment there are the old ones or the new ones (L80).
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { tempDir } from '../../support/temp-dir.ts';

const disk = vi.hoisted((): { left: number; before: (left: number) => void } => ({
  left: Infinity,
  before: () => undefined,
}));

// Every operation after the last that is left fails, those that tidy up as well: the process is
// dead.
vi.mock('node:fs/promises', async (original) => {
  const real = await original<Record<string, unknown>>();
  const counted = (operation: (...args: unknown[]) => Promise<unknown>) => {
    return async (...args: unknown[]): Promise<unknown> => {
      if (disk.left <= 0) throw Object.assign(new Error('killed'), { code: 'KILLED' });
      disk.left -= 1;
      disk.before(disk.left);
      return operation(...args);
    };
  };
  return Object.fromEntries(
    Object.entries(real).map(([name, each]) => [
      name,
      typeof each === 'function' ? counted(each as (...args: unknown[]) => Promise<unknown>) : each,
    ]),
  );
});

// Test files share the modules they have loaded: here those are meant that work on the disk above.
vi.resetModules();
afterAll(() => vi.resetModules());
const { finishMerge, mergeNotes } = await import('../../../activities/memory/merge-notes.ts');
const { endLease, takeMemoryLease: takeLease } = await import('../../../activities/memory/consolidate.ts');
const { addNote, hasNote, readNotes, removeNote, replaceNote } = await import('../../../activities/memory/notes.ts');

const names = ['s-1-1-aaaaaa.md', 's-1-2-bbbbbb.md', 's-2-1-cccccc.md'];
const merged = [{ name: 'merged-2026-11-27-abcdef-1.md', text: '# Both\n- a, b' }];

async function folderOfNotes(): Promise<string> {
  const folder = join(tempDir(), 'memory');
  for (const name of names) await addNote(folder, name, `About ${name}`);
  return folder;
}

async function merging(folder: string, id = '2026-11-27-abcdef') {
  return mergeNotes(folder, { id, merged, replaced: (await readNotes(folder)).slice(0, 2) });
}

const read = async (folder: string): Promise<readonly string[]> => (await readNotes(folder)).map(({ name }) => name);
const after = [merged[0]?.name, names[2]];

test('new notes take the place of those they replace, which are kept aside with their words (L80)', async () => {
  const folder = await folderOfNotes();
  expect(await merging(folder)).toBe(true);
  expect(await read(folder)).toEqual(after);
  expect(new Set(readdirSync(folder))).toEqual(new Set([...after, 'old']));
  const old = join(folder, 'old', '2026-11-27-abcdef');
  expect(readdirSync(old).toSorted()).toEqual(['merge.json', names[0], names[1]]);
  expect(readFileSync(join(old, names[0] ?? ''), 'utf8')).toBe(`About ${names[0]}\n`);
  // The run whose note it was is not read again.
  expect(await hasNote(folder, names[0] ?? '')).toBe(true);
});

test('killed at any operation, it leaves the old notes or the new ones whole, and the next reader’s merge ends it (L80)', async () => {
  const seen = new Set<string>();
  for (let operations = 0; ; operations += 1) {
    const folder = await folderOfNotes();
    const replaced = (await readNotes(folder)).slice(0, 2);
    disk.left = operations;
    const done = await mergeNotes(folder, { id: 'x', merged, replaced }).catch(() => 'killed');
    disk.left = Infinity;
    const left = await read(folder);
    expect([names, after]).toContainEqual(left);
    await finishMerge(folder);
    expect(await read(folder)).toEqual(left);
    const kept = names.filter((name) => existsSync(join(folder, name)) || existsSync(join(folder, 'old', 'x', name)));
    expect(kept).toEqual(names);
    expect(readdirSync(folder).filter((name) => name === '.merge')).toEqual([]);
    seen.add(`${String(done)} ${left.length}`);
    if (done === true) break;
  }
  expect([...seen]).toEqual(['killed 3', 'killed 2', 'true 2']);
});

test('who reads while files are moved sees the old notes or the new ones, at every operation of either (L80)', async () => {
  const replacedOf = async (folder: string) => (await readNotes(folder)).slice(0, 2);
  for (let at = 0; at < 60; at += 1) {
    const folder = await folderOfNotes();
    const replaced = await replacedOf(folder);
    let reading: Promise<readonly string[]> | undefined;
    disk.left = 1_000;
    disk.before = (left) => {
      if (left === 999 - at) reading = ((disk.before = () => undefined), read(folder));
    };
    await mergeNotes(folder, { id: 'x', merged, replaced });
    disk.before = () => undefined;
    disk.left = Infinity;
    if (reading) expect([names, after]).toContainEqual(await reading);
  }
});

test('a note that a person changed or removed meanwhile is not merged, and nothing else is (L80)', async () => {
  for (const change of [
    (folder: string) => replaceNote(folder, names[1] ?? '', 'Mine.'),
    (folder: string) => removeNote(folder, names[1] ?? ''),
  ]) {
    const folder = await folderOfNotes();
    const replaced = (await readNotes(folder)).slice(0, 2);
    await change(folder);
    const before = readdirSync(folder);
    expect(await mergeNotes(folder, { id: 'x', merged, replaced })).toBe(false);
    expect(readdirSync(folder)).toEqual(before);
  }
});

test('a note that a person edits between a kill and its end stays as they left it (L80)', async () => {
  const folder = await folderOfNotes();
  const replaced = (await readNotes(folder)).slice(0, 2);
  disk.before = () => {
    if (existsSync(join(folder, '.merge'))) disk.left = 0;
  };
  await mergeNotes(folder, { id: 'x', merged, replaced }).catch(() => undefined);
  disk.before = () => undefined;
  disk.left = Infinity;
  expect(existsSync(join(folder, '.merge'))).toBe(true);
  writeFileSync(join(folder, names[0] ?? ''), 'Mine.');
  await finishMerge(folder);
  expect(await read(folder)).toEqual([merged[0]?.name, names[0], names[2]]);
  expect(readFileSync(join(folder, names[0] ?? ''), 'utf8')).toBe('Mine.');
});

test('several that end the same merge at once move each file once, and a second merge waits for the first (L80)', async () => {
  const folder = await folderOfNotes();
  const replaced = (await readNotes(folder)).slice(0, 2);
  const first = mergeNotes(folder, { id: 'x', merged, replaced });
  const others = [
    finishMerge(folder),
    mergeNotes(folder, { id: 'y', merged: [{ ...merged[0]!, name: 'z.md' }], replaced }),
  ];
  expect([await first, ...(await Promise.all(others))].filter((each) => each === true)).toHaveLength(1);
  await Promise.all([finishMerge(folder), finishMerge(folder)]);
  expect(await read(folder)).toHaveLength(2);
  expect(readdirSync(join(folder, 'old'))).toHaveLength(1);
});

test('one at a time, also where the last one died: then after an hour (L80)', async () => {
  const folder = await folderOfNotes();
  const now = Date.now();
  const all = await Promise.all([1, 2, 3, 4].map(() => takeLease(folder, now)));
  expect(all.filter(Boolean)).toHaveLength(1);
  expect(await takeLease(folder, now + 3_599_999)).toBe(false);
  mkdirSync(join(folder, '.merge.dead'));
  const later = await Promise.all([1, 2, 3, 4].map(() => takeLease(folder, now + 3_600_000)));
  expect(later.filter(Boolean)).toHaveLength(1);
  expect(readdirSync(folder).filter((name) => name.startsWith('.'))).toEqual(['.merging']);
  await endLease(folder);
  expect(await takeLease(folder, now)).toBe(true);
});
