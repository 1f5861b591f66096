// What it takes to read a long transcript that no cache holds. Alone on the machine: it is a
// measurement.
import { performance } from 'node:perf_hooks';
import { expect, test } from 'vitest';
import { fileStore } from '../../store/values/file-store.ts';
import { loadView } from '../../store/view/view.ts';
import { atBest } from '../support/at-best.ts';
import { tempDir } from '../support/temp-dir.ts';
import { reply, session, stored, textBlock } from '../support/transcript.ts';

test('a cold read of 1,000 entries from disk takes at most 150 ms', async () => {
  const store = fileStore({ dir: tempDir() });
  const { head } = await stored(
    store,
    ...Array.from({ length: 1_000 }, (_, n) => [reply([textBlock(`${n} `.padEnd(1_000, 'x'))])]),
  );
  const read = async (): Promise<number> => {
    const before = performance.now();
    const view = await loadView(store, session, head);
    expect(view.length).toBe(1_000);
    return performance.now() - before;
  };
  expect(await atBest(150, 40, read)).toBeLessThanOrEqual(150);
});
