// This version meets values of a newer one, as in a deploy that goes from worker to worker: they
// are not damage, and are left alone.
import { expect, test } from 'vitest';
import { createConfigReader } from '../../../store/configuration.ts';
import { verifyTranscript } from '../../../store/log/audit.ts';
import type { Segment } from '../../../store/log/entries.ts';
import { memoryStore } from '../../support/memory-store.ts';
import { StoreError } from '../../../store/values/store.ts';
import { loadView } from '../../../store/view/view.ts';
import { session, user } from '../../support/transcript.ts';

const now: Segment = { v: 1, session, parent: null, n: 0, first: 0, entries: [user('x')] };
const todo = 'update this one, or leave it to workers of that version';

async function put(value: unknown) {
  const store = memoryStore();
  return { store, hash: await store.put(Buffer.from(JSON.stringify(value))) };
}

const segments: readonly (readonly [string, unknown, string])[] = [
  ['a segment of the next version', { ...now, v: 2, entries: 'packed' }, 'version 2, this one reads 1'],
  [
    'an entry of a kind of tomorrow',
    { ...now, entries: [user('x'), { kind: 'of_tomorrow' }] },
    'an entry of kind "of_tomorrow"',
  ],
  [
    'a notice of a kind of tomorrow',
    { ...now, entries: [{ kind: 'notice', notice: { kind: 'of_tomorrow' } }] },
    'a notice of kind "of_tomorrow"',
  ],
];

test.each(segments)('%s is newer, not damaged, and the sentence says what to do (L50)', async (_, value, sign) => {
  const { store, hash } = await put(value);
  const error = new StoreError(
    'newer',
    `session s-1, head: stored value ${hash} was written by a newer Perdure (${sign}): ${todo}`,
  );
  await expect(loadView(store, session, hash)).rejects.toEqual(error);
  await expect(verifyTranscript(store, session, hash)).rejects.toEqual(error);
});

test('a run configuration of a later version is newer, and one of no version is damaged (L50 L57)', async () => {
  const later = await put({ v: 2 });
  await expect(createConfigReader(later.store)(later.hash)).rejects.toEqual(
    new StoreError(
      'newer',
      `run configuration ${later.hash} was written by a newer Perdure (version 2, this one reads 1): ${todo}`,
    ),
  );
  for (const value of [{}, null, 'v', { v: '2' }, { v: 0 }]) {
    const { store, hash } = await put(value);
    await expect(createConfigReader(store)(hash)).rejects.toMatchObject({ problem: 'corrupt' });
  }
});
