// Checks the store in memory that programs use, and the labels of sessions.
import { expect, test } from 'vitest';
import { foldSessionSummary, InMemorySessionStore } from '../../../client/agent-sdk/sessions/session-store.ts';
import { readLabels, writeLabel } from '../../../client/agent-sdk/sessions/sessions.ts';
import { memoryStore } from '../../support/memory-store.ts';

const key = { projectKey: 'p', sessionId: 's' };
const said = (content: string) => ({ type: 'user', message: { role: 'user', content } });

test('a store in memory gives back what it was given, lists sessions, and forgets one with its parts (Q7)', async () => {
  const store = new InMemorySessionStore();
  const entry = said('one');
  await store.append(key, [entry]);
  entry.message.content = 'changed';
  await store.append(key, [{ type: 'assistant' }, said('two')]);
  await store.append({ ...key, subpath: 'agent' }, [said('part')]);
  await store.append({ ...key, sessionId: 'other' }, [said('other')]);
  expect(await store.load(key)).toEqual([said('one'), { type: 'assistant' }, said('two')]);
  expect(store.getEntries(key)).toHaveLength(3);
  expect((await store.listSessions('p')).map(({ sessionId }) => sessionId)).toEqual(['s', 'other']);
  expect((await store.listSessionSummaries('p'))[0]?.data).toEqual({
    firstPrompt: 'one',
    lastPrompt: 'two',
    entries: 3,
  });
  expect(await store.listSubkeys(key)).toEqual(['agent']);
  await store.delete(key);
  expect([await store.load(key), store.size]).toEqual([null, 1]);
  store.clear();
  expect(store.size).toBe(0);
});

test('a summary keeps the first prompt and takes the last, and the time it is given (Q7)', () => {
  const first = foldSessionSummary(undefined, key, [said('one')], { mtime: 5 });
  expect(foldSessionSummary(first, key, [said('two')])).toEqual({
    sessionId: 's',
    mtime: 5,
    data: { firstPrompt: 'one', lastPrompt: 'two', entries: 2 },
  });
});

test('the last title and tag of a session count, whoever wrote them, and a tag can be taken away (Q7)', async () => {
  const store = memoryStore();
  await Promise.all([writeLabel(store, 's-1', { title: 'One' }), writeLabel(store, 's-1', { tag: 'a' })]);
  expect(await readLabels(store, 's-1')).toEqual({ changes: 2, title: 'One', tag: 'a' });
  await writeLabel(store, 's-1', { tag: null });
  await writeLabel(store, 's-1', { title: 'Two' });
  expect(await readLabels(store, 's-1')).toEqual({ changes: 4, title: 'Two' });
  expect(await readLabels(store, 's-2')).toEqual({ changes: 0 });
});
