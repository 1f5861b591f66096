// Entries that were shrunk, shortened or summarised can be opened by the name given in their place
// (L8–L10).
import { expect, test } from 'vitest';
import { entryName, parseEntryName } from '../../../store/log/entries.ts';
import { createReadTool } from '../../../tools/builtin/read.ts';
import type { Sandbox } from '../../../tools/sandbox.ts';
import { buildToolContext } from '../../../activities/calls/call-context.ts';
import { memoryStore } from '../../support/memory-store.ts';
import { readEntries } from '../../../store/view/render-entries.ts';
import { callKey, type Hash, type SessionId } from '../../../workflows/contract/ids.ts';
import {
  boundary,
  callBlock,
  outcome,
  outcomes,
  reply,
  session,
  stored,
  textBlock,
  thinkingBlock,
  transition,
  user,
} from '../../support/transcript.ts';

const entries = [
  user('Fix it.'),
  reply([thinkingBlock('private'), textBlock('I will look.'), callBlock('a', { path: 'a.ts' })]),
  outcomes(outcome(2, 'x'.repeat(900), { isError: true })),
  transition(1, 'next_turn'),
  boundary('All of it.', 3, [0]),
];

async function opened(name: string): Promise<string | null> {
  const store = memoryStore();
  const { head } = await stored(store, entries);
  const bytes = await readEntries(store, session, head, name);
  return bytes && Buffer.from(bytes).toString();
}

test('a range of entries reads as text, whole, without thinking (L8 L9 L10)', async () => {
  const text = await opened('perdure:entry/0-4');
  expect(text).toContain('--- entry 0 ---\nUser:\nFix it.');
  expect(text).toContain('I will look.\n[calls read with {"path":"a.ts"}]');
  expect(text).toContain(`Result of read (an error):\n${'x'.repeat(900)}`);
  expect(text).toContain('Summary of what was before:\nAll of it.');
  expect(text).not.toContain('private');
  expect(await opened('perdure:entry/3')).toBe('(nothing was said here)');
});

test('a name of nothing opens nothing', async () => {
  for (const name of [
    'perdure:entry/99',
    'perdure:entry/3-1',
    'perdure:entry/-1',
    'perdure:entry/1e3',
    'perdure:result/1',
    'a.ts',
  ]) {
    expect(await opened(name)).toBeNull();
  }
});

test('a call reads entries of the transcript that its key is of (L8)', async () => {
  const store = memoryStore();
  const { head } = await stored(store, entries);
  const bench = { cwd: '/work', store, ofHost: store, session, queryId: 'q', depth: 0 };
  const signal = new AbortController().signal;
  const parts = { id: callKey('chain', head as Hash, 1), generation: null, iteration: 1, signal, progress: () => {} };
  const output = await createReadTool({ sandbox: {} as Sandbox }).call(
    { path: 'perdure:entry/0' },
    buildToolContext(bench, parts),
  );
  expect(output.content).toContain('Fix it.');
  const unknown = createReadTool({ sandbox: {} as Sandbox }).call(
    { path: 'perdure:entry/99' },
    buildToolContext(bench, parts),
  );
  await expect(unknown).rejects.toThrow('There is no stored result perdure:entry/99');
});

test('entries of another session are not to be had', async () => {
  const store = memoryStore();
  const { head } = await stored(store, entries);
  await expect(readEntries(store, 's-2' as SessionId, head, 'perdure:entry/0')).rejects.toThrow('does not belong here');
});

test('a name means what it was made of', () => {
  for (const range of [
    { from: 0, to: 1 },
    { from: 3, to: 9 },
  ])
    expect(parseEntryName(entryName(range))).toEqual(range);
});
