// Several processes in one store folder, some of them killed.
import { once } from 'node:events';
import { watch } from 'node:fs';
import { expect, test } from 'vitest';
import { fileStore } from '../../../store/values/file-store.ts';
import type { Hash } from '../../../workflows/contract/ids.ts';
import { compiled, outputOf, startNode } from '../../support/compiled.ts';
import { tempDir } from '../../support/temp-dir.ts';

type Line = { readonly key?: string; readonly hash: Hash; readonly kind: 'created' | 'existing' };

const lines = (output: readonly string[]): Line[] =>
  output.map((line) => JSON.parse(line) as Line).filter(({ key }) => key !== undefined);

test('of three processes that write the same steps, one creates each, and all read the same', async () => {
  const dir = tempDir();
  const script = compiled('test/support/store-writer.ts');
  const outputs = await Promise.all(['a', 'b', 'c'].map((name) => outputOf(startNode(script, dir, name, '60'))));
  const all = outputs.flatMap(lines);
  expect(all).toHaveLength(180);
  const store = fileStore({ dir });
  for (let n = 0; n < 60; n += 1) {
    const created = all.filter(({ key, kind }) => key === `steps/s-1/${n}` && kind === 'created');
    expect(created).toHaveLength(1);
    expect(Buffer.from((await store.read(`steps/s-1/${n}`)) ?? []).toString()).toBe(created[0]?.hash);
  }
});

/**
 * Kills the writer when the `nth` change in the temp folder is seen: a temp file appears or goes.
 */
async function killedAt(nth: number, dir: string, script: string): Promise<Line[]> {
  const child = startNode(script, dir, `killed at ${nth}`, '100000');
  const output = outputOf(child);
  const changes = watch(`${dir}/tmp`);
  let seen = 0;
  changes.on('change', () => (++seen === nth ? child.kill('SIGKILL') : undefined));
  const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
  changes.close();
  expect(signal).toBe('SIGKILL');
  return lines(await output);
}

test('SIGKILL of a writer while it writes: everything acknowledged reads back, and no record lacks its value (F1)', async () => {
  const dir = tempDir();
  const script = compiled('test/support/store-writer.ts');
  const store = fileStore({ dir });
  await store.put(Buffer.from('the folder is there'));
  let acknowledged = 0;
  for (const nth of [1, 2, 3, 5, 8, 61]) {
    for (const { key, hash } of await killedAt(nth, dir, script)) {
      const record = Buffer.from((await store.read(key ?? '')) ?? []).toString() as Hash;
      await store.get(record);
      await store.get(hash).catch(() => expect(record).not.toBe(hash));
      acknowledged += 1;
    }
  }
  expect(acknowledged).toBeGreaterThanOrEqual(5);
  for (let n = 0; n < acknowledged; n += 1) {
    const record = await store.read(`steps/s-1/${n}`);
    if (record) await store.get(Buffer.from(record).toString() as Hash);
  }
});
