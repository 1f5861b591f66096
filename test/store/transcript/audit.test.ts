// Damage and contradictions in a transcript are found, and named by session and entry.
import { readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { verifyTranscript } from '../../../store/log/audit.ts';
import { fileStore } from '../../../store/values/file-store.ts';
import { hashOf, StoreError } from '../../../store/values/store.ts';
import { memoryStore } from '../../support/memory-store.ts';
import { encodeSegment } from '../../../store/log/segments.ts';
import { loadView, type View } from '../../../store/view/view.ts';
import type { Entry, Segment } from '../../../store/log/entries.ts';
import type { Hash, MessageId } from '../../../workflows/contract/ids.ts';
import { tempDir } from '../../support/temp-dir.ts';
import {
  boundary,
  callBlock,
  outcome,
  outcomes,
  reply,
  runEnded,
  runStarted,
  session,
  stored,
  textBlock,
  user,
} from '../../support/transcript.ts';

const config = Buffer.from('config');

async function onDisk(count: number) {
  const dir = tempDir();
  const store = fileStore({ dir });
  const hashes: Hash[] = [];
  await store.put(config);
  const kept = { ...store, put: async (bytes: Uint8Array) => hashes[hashes.push(await store.put(bytes)) - 1] as Hash };
  const segments = Array.from({ length: count }, (_, n): Entry[] => [user(`${n}`), reply([textBlock('yes')])]);
  const view: View = await stored(kept, ...segments);
  const file = (n: number): string => `${dir}/blobs/${hashes[n]?.slice(0, 1)}/${hashes[n]}`;
  return { store, view, hashes, file };
}

test('a damaged segment is named by session and entry when the transcript is read (F7)', async () => {
  const { store, view, hashes, file } = await onDisk(150);
  for (const n of [0, 1, 63, 64, 65, 100, 127, 128, 149]) {
    const whole = readFileSync(file(n));
    truncateSync(file(n), 20);
    const error = await loadView(store, session, view.head).catch((thrown: unknown) => thrown);
    const place = n === 149 ? 'head' : `entry ${n * 2 + 1}`;
    expect(error).toBeInstanceOf(StoreError);
    expect(error).toMatchObject({ problem: 'corrupt' });
    expect(String(error)).toContain(
      `session s-1, ${place}: stored value ${hashes[n]} does not match its hash (${file(n)}`,
    );
    writeFileSync(file(n), whole);
  }
});

test('an audit goes past damage where it can, and names all of it (F7)', async () => {
  const { store, view, file } = await onDisk(200);
  rmSync(file(70));
  writeFileSync(file(75), readFileSync(file(76)));
  const audit = await verifyTranscript(store, session, view.head);
  expect(audit.segments).toBe(198);
  expect(audit.problems.map(({ problem }) => problem)).toEqual([
    expect.stringMatching(/session s-1, entry 141: stored value .* is missing/),
    expect.stringMatching(/session s-1, entry 151: stored value .* does not match its hash/),
  ]);
  truncateSync(file(195), 0);
  const cut = await verifyTranscript(store, session, view.head);
  expect(cut.problems.map(({ problem }) => problem)).toEqual([
    expect.stringMatching(/entry 391: stored value/),
    'what comes before it cannot be reached',
  ]);
});

test('a sound transcript has no problems, and everything it refers to was read', async () => {
  const store = memoryStore();
  const whole = await store.put(Buffer.from('the whole result'));
  const body = await store.put(Buffer.from('a long prompt'));
  await store.put(config);
  const prompt: Entry = { kind: 'user', id: 'm' as MessageId, body: { kind: 'stored', hash: body, bytes: 13 } };
  const { head } = await stored(
    store,
    [runStarted(1), prompt, reply([callBlock('a'), callBlock('b')]), outcomes(outcome(1, 'early'))],
    [outcomes(outcome(0, 'part', { whole: { hash: whole, bytes: 16 } })), reply([textBlock('ok')]), runEnded(1)],
    [runStarted(2), user('and?'), reply([callBlock('c')])],
  );
  expect(await verifyTranscript(store, session, head)).toMatchObject({
    segments: 3,
    entries: 10,
    values: 6,
    problems: [],
  });
  expect(await verifyTranscript(store, session, null)).toMatchObject({ segments: 0, problems: [] });
});

test('calls without or with two outcomes, outcomes of nothing, runs that overlap, and lost references are found (L39)', async () => {
  const store = memoryStore();
  const lost = hashOf(Buffer.from('never stored'));
  await store.put(config);
  const { head } = await stored(
    store,
    [runStarted(1), user('go'), reply([callBlock('a'), callBlock('b')])],
    [outcomes(outcome(1, 'x'), outcome(1, 'y'), outcome(5, 'z', { whole: { hash: lost, bytes: 1 } }))],
    [reply([textBlock('ok')]), runStarted(2), runEnded(3)],
  );
  const { problems } = await verifyTranscript(store, session, head);
  expect(problems).toEqual([
    { entry: 2, problem: 'its call at block 0 has no outcome' },
    { entry: 2, problem: 'there is an outcome for its block 5, which is no call' },
    { entry: 2, problem: 'its call at block 1 has more than one outcome' },
    { entry: 3, problem: expect.stringMatching(new RegExp(`session s-1, entry 3: stored value ${lost} is missing`)) },
    { entry: 5, problem: 'run 2 begins and run 1 has not ended' },
    { entry: 6, problem: 'run 3 ends while run 2 is open' },
  ]);
});

test('a boundary, a mark or a stretch that speaks of what is not before it is found (L5 L8 L9)', async () => {
  const store = memoryStore();
  const { head } = await stored(store, [
    user('go'),
    reply([textBlock('ok')]),
    { kind: 'microcompact', before: 9, freed: 1 },
    { kind: 'collapse_staged', from: 1, to: 2, short: 'x' },
    { kind: 'collapse_staged', from: 2, to: 2, short: 'x' },
    { kind: 'collapse_committed', count: 3 },
    boundary('x', 9),
    boundary('x', 2, [0, 1]),
    { kind: 'collapse_committed', count: 1 },
  ]);
  expect((await verifyTranscript(store, session, head)).problems).toEqual([
    { entry: 2, problem: 'it shrinks results before entry 9, which is after it' },
    { entry: 4, problem: 'it shortens entries 2 to 2, which is no part of what was before it' },
    { entry: 5, problem: 'it commits 3 of 2 staged collapses' },
    { entry: 6, problem: 'what is seen begins at entry 9, which is after it' },
    { entry: 7, problem: 'it keeps entry 1, which is no message before entry 2' },
    { entry: 8, problem: 'it commits 1 of 0 staged collapses' },
  ]);
});

const sound: Segment = { v: 1, session, parent: null, n: 0, first: 0, entries: [user('x')] };
const other = hashOf(Buffer.from('other'));

const filesOf = (id: string) => ({ kind: 'files', roots: [{ id, parent: null }] });

test.each<[string, unknown, RegExp]>([
  ['no JSON', 'not json', /it is not a JSON object/],
  ['a version that never was', { ...sound, v: 0 }, /its version is 0, this Perdure reads 1/],
  ['no version', { ...sound, v: undefined }, /its version is missing, this Perdure reads 1/],
  ['no entries', { ...sound, entries: [] }, /it has no entries/],
  ['an entry without a kind', { ...sound, entries: [{}] }, /it has an entry without a kind/],
  ['an entry that is null', { ...sound, entries: [null] }, /it has an entry without a kind/],
  [
    'a snapshot by an option of git',
    { ...sound, entries: [filesOf('--output=/x')] },
    /it names a snapshot by what is no id/,
  ],
  ['no folders of a snapshot', { ...sound, entries: [{ kind: 'files' }] }, /it names a snapshot by what is no id/],
  [
    'a kept snapshot by a name',
    { ...sound, n: 1, first: 1, parent: other, near: [other], behind: { from: 1, entries: [[0, filesOf('HEAD')]] } },
    /it names a snapshot by what is no id/,
  ],
  ['no place', { ...sound, first: -1 }, /its place is not given/],
  ['no parent', { ...sound, n: 3 }, /its parent is not given/],
  ['half a page', { ...sound, n: 64, parent: other, page: [other] }, /its page of earlier hashes is not whole/],
  [
    'another session',
    { ...sound, session: 's-2' },
    /is segment 0 from entry 0 of session s-2 and does not belong here/,
  ],
])('a stored value that is no segment of the session is refused: %s', async (_, value, problem) => {
  const store = memoryStore();
  const bytes = Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));
  const head = await store.put(bytes);
  const error = await loadView(store, session, head).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ problem: 'corrupt', message: expect.stringMatching(problem) });
  expect(String(error)).toContain(`session s-1, head: stored value ${head}`);
});

test('a segment that names a parent which is not the one before it is refused', async () => {
  const store = memoryStore();
  const { head } = await stored(store, [user('a')], [user('b')]);
  const wrong: Segment = { v: 1, session, parent: head, n: 1, first: 1, entries: [user('c')] };
  await expect(loadView(store, session, await store.put(encodeSegment(wrong)))).rejects.toThrow(
    /session s-1, entry 0: stored value .* is segment 1 from entry 1 .* does not belong here/,
  );
});
