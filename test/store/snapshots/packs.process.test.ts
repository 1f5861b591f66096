// Snapshots that one host has taken, read on another: two data folders and one store (T4).
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Entry } from '../../../store/log/entries.ts';
import { hasSnapshot } from '../../../store/snapshots/compare.ts';
import { FolderCapture, outgoingOf } from '../../../store/snapshots/capture-folder.ts';
import { fetchPacks, sendPacks } from '../../../store/snapshots/packs.ts';
import { describeSnapshot, takeSnapshot } from '../../../store/snapshots/take-snapshot.ts';
import { fileStore } from '../../../store/values/file-store.ts';
import type { Hash } from '../../../workflows/contract/ids.ts';
import { tempFolder } from '../../tools/support.ts';
import { shadowed, runHere } from './support.ts';

type Shadowed = ReturnType<typeof shadowed>;

const readingOf = ({ place, means }: Shadowed) => ({ gitDir: place.gitDir, git: means.git, run: runHere });

test('packs of what is new carry all snapshots of a session to another host, each file once (T4)', async () => {
  const [here, there] = [shadowed(), shadowed()];
  const store = fileStore({ dir: tempFolder() });
  const entries: Entry[] = [];
  let [before, named]: [string | null, readonly Hash[]] = [null, []];
  const capture = async (script: string): Promise<string> => {
    here.sh(script);
    const taken = await takeSnapshot({ ...here.means, packs: true }, before);
    const packs = await sendPacks(
      store,
      here.place,
      (waiting) => new Set(waiting.filter((hash) => named.includes(hash))),
    );
    named = [...named, ...packs];
    entries.push({ kind: 'files', roots: [{ ...describeSnapshot(here.root, taken), packs }], at: 0 });
    return (before = taken.id);
  };
  const first = await capture('mkdir a && echo 1 > a/one && echo 2 > two && head -c 100000 /dev/urandom > large');
  const second = await capture('echo more >> a/one && rm two && mkdir empty');
  const third = await capture('seq 1 300 | split -l 1 - a/part-');
  expect(entries.map((entry) => (entry as Extract<Entry, { kind: 'files' }>).roots[0]?.packs?.length)).toEqual([
    1, 1, 1,
  ]);
  const sizes = await Promise.all(named.map(async (hash) => (await store.get(hash)).length));
  expect(sizes[0]).toBeGreaterThan(100_000);
  expect(sizes[1]).toBeLessThan(2_000);
  // What the transcript names waits no longer; the last is not known to be named.
  expect(readdirSync(outgoingOf(here.place))).toEqual([named.at(-1)]);
  const reading = readingOf(there);
  await fetchPacks(reading, store, entries);
  for (const id of [first, second, third]) {
    expect(await hasSnapshot(reading, id)).toBe(true);
    expect(await there.files(id)).toEqual(await here.files(id));
  }
  expect(await there.content(first, 'files/two')).toBe('2\n');
  expect(await there.content(second, 'folders')).toBe('empty/');
});

test('what was captured without a pack is in the next one, as all the rest (T4)', async () => {
  const [here, there] = [shadowed(), shadowed()];
  const store = fileStore({ dir: tempFolder() });
  const take = (packs: boolean, before: string | null) => takeSnapshot({ ...here.means, packs }, before);
  here.sh('echo 1 > one');
  const first = await take(true, null);
  here.sh('echo 2 > two');
  await take(false, first.id);
  here.sh('echo 3 > three');
  const last = await take(true, first.id);
  const packs = await sendPacks(store, here.place, () => new Set());
  const roots = [{ ...describeSnapshot(here.root, last), packs }];
  await fetchPacks(readingOf(there), store, [{ kind: 'files', roots, at: 0 }]);
  const contents = ['one', 'two', 'three'].map((name) => there.content(last.id, `files/${name}`));
  expect(await Promise.all(contents)).toEqual(['1\n', '2\n', '3\n']);
});

test('packs are whole after a restart, and where a session had none before (T4)', async () => {
  const [here, there] = [shadowed(), shadowed()];
  const store = fileStore({ dir: tempFolder() });
  here.sh('echo 1 > one && echo 2 > two');
  await here.take();
  const request = { ...here.means, include: [], before: null, packs: true };
  const packsOf = async (): Promise<readonly Hash[]> => {
    const folder = new FolderCapture(here.means);
    await folder.capture(request);
    folder.save();
    folder.close();
    return await sendPacks(store, here.place, () => new Set());
  };
  here.sh('echo 3 > three');
  const [all] = await packsOf();
  here.sh('echo 4 > four');
  const later = (await packsOf()).filter((hash) => hash !== all);
  expect(later).toHaveLength(1);
  const { id } = await here.take();
  const roots = [{ ...describeSnapshot(here.root, await here.take()), packs: [all as Hash, ...later] }];
  await fetchPacks(readingOf(there), store, [{ kind: 'files', roots, at: 0 }]);
  expect(await there.files(id)).toEqual(['100644 four', '100644 one', '100644 three', '100644 two']);
  expect(await there.content(id, 'files/one')).toBe('1\n');
});

test('a pack that cannot be stored goes with the next, and one that the store lost leaves the rest readable (T4)', async () => {
  const [here, there] = [shadowed(), shadowed()];
  const store = fileStore({ dir: tempFolder() });
  const failing = { put: () => Promise.reject(new Error('the store is away')) };
  here.sh('echo 1 > one');
  await takeSnapshot({ ...here.means, packs: true }, null);
  await expect(sendPacks(failing, here.place, () => new Set())).rejects.toThrow('away');
  here.sh('echo 2 > two');
  const second = await takeSnapshot({ ...here.means, packs: true }, null);
  const packs = await sendPacks(store, here.place, () => new Set());
  expect(packs).toHaveLength(2);
  const roots = [{ ...describeSnapshot(here.root, second), packs: [...packs, 'f'.repeat(64) as Hash] }];
  await fetchPacks(readingOf(there), store, [{ kind: 'files', roots, at: 0 }]);
  expect(await there.files(second.id)).toEqual(['100644 one', '100644 two']);
});

test('a session with ten thousand snapshots fetches what is missing, and nothing by a name that is no id (T4)', async () => {
  const [here, there] = [shadowed(), shadowed()];
  const store = fileStore({ dir: tempFolder() });
  here.sh('echo 1 > one');
  const taken = await takeSnapshot({ ...here.means, packs: true }, null);
  const packs = await sendPacks(store, here.place, () => new Set());
  const described = describeSnapshot(here.root, taken);
  const rootOf = (id: string) => ({ ...described, id, packs: id === taken.id ? packs : ['f'.repeat(64) as Hash] });
  const others = Array.from({ length: 10_000 }, (_, at) => at.toString(16).padStart(40, '0'));
  const asked: string[] = [];
  const watched = { get: (hash: Hash) => (asked.push(hash), store.get(hash)) };
  const ids = [...others, '*', '--batch-all-objects', `${taken.id} x`, taken.id];
  await fetchPacks(readingOf(there), watched, [{ kind: 'files', roots: ids.map(rootOf), at: 0 }]);
  expect(await there.files(taken.id)).toEqual(['100644 one']);
  expect(asked.toSorted()).toEqual([...packs, 'f'.repeat(64)].toSorted());
  const named = [{ ...described, id: '0'.repeat(39), packs: ['../../../outside' as Hash] }];
  await fetchPacks(readingOf(there), watched, [{ kind: 'files', roots: named, at: 0 }]);
  expect(asked).toHaveLength(2);
  expect(readdirSync(join(there.place.gitDir, 'incoming'))).toEqual([]);
});
