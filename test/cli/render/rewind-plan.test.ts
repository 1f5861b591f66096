// What a person reads before a session goes back.
import { expect, test } from 'vitest';
import { planText } from '../../../cli/render/rewind-plan.ts';
import { createPaint } from '../../../client/paint.ts';
import { rewoundPartsText, turnsText } from '../../../client/render/context-words.ts';
import type { RewindResult } from '../../../client/sessions/files/rewind-session.ts';
import type { Hash } from '../../../workflows/contract/ids.ts';

const plan: RewindResult = {
  rewind: { from: 'f' as Hash, to: null, files: [{ root: '/w', known: 'a', to: 'b' }] },
  position: 0,
  prompt: 'Make a cart.',
  turns: 2,
  effects: [
    { name: 'bash', input: { command: 'npm run format' }, outcome: 'ok', filesGoBack: true },
    { name: 'bash', input: { command: 'git push' }, outcome: 'ok' },
  ],
  files: [
    { root: '/w', path: 'a', kind: 'changed', insertions: 3, deletions: 1 },
    { root: '/w', path: 'b', kind: 'deleted', insertions: 0, deletions: 2, unnamed: true },
  ],
  moreFiles: 0,
  notLooked: null,
  problems: ['a was changed by someone else'],
  untaken: { count: 3, first: [{ path: 'big.bin', why: 'it was not captured then' }] },
  inUse: ['node (pid 12) has data.db open'],
  rewound: null,
};

const text = (changes: Partial<RewindResult> = {}, all = false): string =>
  planText(createPaint(false), { ...plan, ...changes }, all);

test('a plan names where the conversation goes, the files, what would stop it, what stays, and who uses files (T7 T8)', () => {
  expect(text())
    .toBe(`the conversation goes back to its beginning, before the prompt "Make a cart.": 2 turns left behind
a  +3 −1
deleted b  +0 −2  not named by any call
2 files changed (+3 −3)
this would stop it:
  a was changed by someone else
not taken back:
  big.bin: it was not captured then
  and 2 more
in use:
  node (pid 12) has data.db open
may have done more than change files:
  bash npm run format
this stays done:
  bash git push
`);
  expect(text({ notLooked: 'no worker runs' })).toContain(
    'as far as snapshots tell, for nobody looked at the folder: no worker runs\n',
  );
});

test('a plan lists twenty files, and says how to see the others (T7)', () => {
  const files = Array.from({ length: 30 }, (_, n) => ({ ...plan.files?.[0], path: `file-${n}` })) as typeof plan.files;
  expect(text({ files, moreFiles: 550 })).toMatch(
    /file-19 {2}[^\n]*\nand 560 more; --json or --all shows them\n580 files changed/,
  );
  expect(text({ files, moreFiles: 550 })).not.toContain('file-20');
  expect(text({ files, moreFiles: 550 }, true)).toMatch(/file-29 {2}[^\n]*\nand 550 more\n/);
});

test('what went back names files that were not captured then, and an undo the turns that it leaves (T7)', () => {
  const root = { root: '/w', before: 'x', to: 'y', files: 2 };
  const untaken = (count: number) => ({ count, first: [{ path: 'big.bin', why: 'it was not captured then' }] });
  expect(rewoundPartsText({ to: null, files: [{ ...root, untaken: untaken(3) }] })).toBe(
    'the conversation to its beginning and 2 files; not taken back: big.bin and 2 others (it was not captured then)',
  );
  expect(rewoundPartsText({ files: [{ ...root, untaken: untaken(1) }] })).toBe(
    '2 files; not taken back: big.bin (it was not captured then)',
  );
  expect([turnsText(0), turnsText(1), turnsText(2)]).toEqual([
    '',
    '; 1 later turn left behind',
    '; 2 later turns left behind',
  ]);
});
