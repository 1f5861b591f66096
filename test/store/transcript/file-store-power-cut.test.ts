// Acknowledged writes survive a power cut at any moment, and nothing that survives refers to
// something that did not.
import { expect, test } from 'vitest';
import { fileStore } from '../../../store/values/file-store.ts';
import { type Store, hashOf } from '../../../store/values/store.ts';
import type { Hash } from '../../../workflows/contract/ids.ts';
import { PowerCut, type PowerCutFiles, powerCutFiles } from '../../support/power-cut-files.ts';

type Acknowledged = { readonly hashes: Hash[]; readonly keys: [string, string][] };

/**
 * Two sessions work at the same time, as two workers would; values repeat, and latecomers write
 * what is being written.
 */
async function work(files: PowerCutFiles, done: Acknowledged): Promise<void> {
  await Promise.all(latecomers(files, done));
  await Promise.all(
    ['s-1', 's-2'].map(async (session) => {
      const store = fileStore({ dir: '/data/store', files });
      done.hashes.push(await store.put(Buffer.from('the same configuration')));
      for (const turn of [1, 2]) {
        const segment = Buffer.from(`${session} segment ${turn}`);
        const key = `steps/${session}/${turn}`;
        const record = hashOf(segment);
        await store.writeStep({ key, bytes: Buffer.from(record), blobs: [segment, Buffer.from('a large result')] });
        done.keys.push([key, record]);
        const claim = `claims/${session}/${turn}`;
        await store.create(claim, Buffer.from(claim));
        done.keys.push([claim, claim]);
      }
    }),
  );
}

/**
 * Each begins a moment after the one before, so that some find a name whose folder is not flushed
 * yet.
 */
function latecomers(files: PowerCutFiles, done: Acknowledged): Promise<void>[] {
  const store = fileStore({ dir: '/data/store', files });
  return Array.from({ length: 20 }, async (_, late) => {
    await store.read('claims/late');
    for (let moment = 0; moment < 15 * late; moment += 1) await Promise.resolve();
    done.hashes.push(await store.put(Buffer.from('wanted by many')));
    await store.create('claims/late', Buffer.from('late'));
    done.keys.push(['claims/late', 'late']);
  });
}

/** Returns the values that a reader of the records now counts on. */
async function checkSurvivor(store: Store, done: Acknowledged, at: number): Promise<Hash[]> {
  const found: Hash[] = [];
  for (const hash of done.hashes) await store.get(hash);
  for (const [key, value] of done.keys) {
    expect(Buffer.from((await store.read(key)) ?? []).toString(), `${key}, cut after ${at}`).toBe(value);
  }
  for (const session of ['s-1', 's-2']) {
    for (const turn of [1, 2]) {
      const record = await store.read(`steps/${session}/${turn}`);
      if (record) found.push(Buffer.from(record).toString() as Hash);
    }
  }
  for (const hash of found) await store.get(hash);
  return found;
}

/** Names that were not flushed: none is there afterwards, those of records alone, or all. */
const spared = [() => false, (path: string) => !path.includes('/blobs'), () => true];

test('a power cut after any operation loses nothing acknowledged and leaves no record without its values (F7)', async () => {
  const whole = powerCutFiles();
  whole.makeFolder('/data');
  await whole.flushFolder('/');
  await work(whole, { hashes: [], keys: [] });
  expect(whole.operations()).toBeGreaterThan(100);

  for (let cut = 2; cut < whole.operations(); cut += 1) {
    const files = powerCutFiles(cut);
    files.makeFolder('/data');
    await files.flushFolder('/');
    const done: Acknowledged = { hashes: [], keys: [] };
    await expect(work(files, done)).rejects.toThrow(PowerCut);
    for (const spares of spared) {
      const survivor = files.survivor(spares);
      const found = await checkSurvivor(fileStore({ dir: '/data/store', files: survivor }), done, cut);
      const later = fileStore({ dir: '/data/store', files: survivor.survivor() });
      for (const hash of found) await later.get(hash);
      if (cut % 10 === 0) await work(survivor, { hashes: [], keys: [] });
    }
  }
});
