// Whoever is told of a step that was stored reads what the follower has read already: a program of
// `perdure/agent-sdk` costs no second reading.
import { expect, test } from 'vitest';
import { memoryStore } from '../support/memory-store.ts';
import { createConverger } from '../../client/follow/ledger.ts';
import { transcriptReader } from '../../client/sessions/transcript-reader.ts';
import type { Hash } from '../../workflows/contract/ids.ts';
import { reply, session, stored, textBlock, user } from '../support/transcript.ts';

test('each segment is read once for a follower and for whoever it tells of it (Q7)', async () => {
  const inMemory = memoryStore();
  const heads: Hash[] = [];
  const steps = [[user('Go.'), reply([textBlock('one')])], [reply([textBlock('two')], { iteration: 2 })]] as const;
  for (const count of [1, 2]) heads.push((await stored(inMemory, ...steps.slice(0, count))).head as Hash);
  const got: Hash[] = [];
  const store = { ...inMemory, get: (hash: Hash) => (got.push(hash), inMemory.get(hash)) };
  const read: Promise<number>[] = [];
  const told = createConverger(transcriptReader(store), session, 1, (head) => {
    const since = transcriptReader(store).since(session, head, 1);
    read.push(since.then(({ entries }) => entries.length));
  });
  for (const head of heads) await told.pass({ type: 'stored', step: 1, attempt: 1, head });
  expect(await Promise.all(read)).toEqual([2, 3]);
  expect(got).toEqual(heads);
});
