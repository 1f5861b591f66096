// What people read at a capture of files.
import { expect, test } from 'vitest';
import type { Entry } from '../../../store/log/entries.ts';
import type { FilesEntry, RootSnapshot } from '../../../store/snapshots/files-entry.ts';
import type { CallKey } from '../../../workflows/contract/ids.ts';
import { filesLines } from '../../../client/render/files-words.ts';
import { callBlock, outcome, outcomes, reply, textBlock } from '../../support/transcript.ts';

const files = (changes: Partial<RootSnapshot> = {}): FilesEntry => ({
  kind: 'files',
  roots: [
    {
      root: '/w',
      id: 'b',
      parent: 'a',
      files: 9,
      bytes: 0,
      added: 1,
      changed: 2,
      deleted: 0,
      insertions: 12,
      deletions: 4,
      names: [],
      ...changes,
    },
  ],
  at: 0,
});

function afterCalls(calls: readonly (readonly [name: string, input: unknown])[], entry = files()): readonly string[] {
  const done = calls.map(([name], index) =>
    outcome(index, '', {
      log: { key: `1.1.${index}` as CallKey, name, decision: 'allowed', duration: 1, outcome: 'ok' },
    }),
  );
  const entries: readonly Entry[] = [
    files({ parent: null }),
    reply(calls.map(([name, input], index) => callBlock(`c${index}`, input, name))),
    outcomes(...done),
    reply([textBlock('Done.')]),
    entry,
  ];
  return filesLines(entries, 4);
}

test('a call that changed files is named with them, several are counted, and those that only read are left out (T5)', () => {
  expect(afterCalls([['bash', { command: 'npm run format' }]])).toEqual([
    'bash npm run format · 3 files changed (+12 −4)',
  ]);
  const several = [
    ['read', { path: 'x' }],
    ['write', { path: 'a', content: '' }],
    ['bash', { command: 'ls -l' }],
    ['write', { path: 'b', content: '' }],
    ['bash', { command: 'make' }],
  ] as const;
  expect(afterCalls(several)).toEqual(['2 × write, bash · 3 files changed (+12 −4)']);
  expect(afterCalls([['read', { path: 'x' }]])).toEqual(['3 files changed (+12 −4)']);
});

test('what is not captured is told when it is new, and a first capture tells of nothing else (T2)', () => {
  const leftOut = { count: 2, first: 'big: it is larger than one file may be' };
  expect(filesLines([files({ parent: null })], 0)).toEqual([]);
  expect(filesLines([files({ parent: null, leftOut })], 0)).toEqual([
    '2 files not captured; big: it is larger than one file may be',
  ]);
  expect(filesLines([files({ parent: null, leftOut }), files({ leftOut })], 1)).toEqual(['3 files changed (+12 −4)']);
});
