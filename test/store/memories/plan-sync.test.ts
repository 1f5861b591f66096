// What a sync does for each way in which a folder and its memory store can differ.
import { expect, test } from 'vitest';
import type { Memory } from '../../../store/memories/memories.ts';
import { planSync } from '../../../store/memories/plan-sync.ts';

const memory = (sha256: string): Memory => ({
  memory: 'mem_1',
  version: 'memver_1',
  in: 'memver_1',
  path: '/a',
  at: 0,
  createdAt: 0,
  bytes: 1,
  sha256,
});

/** `-` stands for nothing under the path. */
const sides = (base: string, local: string, remote: string, readOnly = false) => ({
  base: new Map(base === '-' ? [] : [['/a', base]]),
  local: new Map(local === '-' ? [] : [['/a', local]]),
  remote: new Map(remote === '-' ? [] : [['/a', memory(remote)]]),
  readOnly,
  wasHeld: (_: Memory, sha256: string, since: string | undefined) => sha256 === 'earlier' && since !== 'later',
});

test.each([
  ['1', '1', '1', 'keep'],
  ['1', '2', '2', 'keep'],
  ['-', '1', '1', 'keep'],
  ['1', '1', '2', 'writeFile'],
  ['-', '-', '1', 'writeFile'],
  ['1', '1', '-', 'removeFile'],
  ['1', '2', '1', 'writeMemory'],
  ['-', '1', '-', 'writeMemory'],
  ['1', '2', '-', 'writeMemory'],
  ['1', '-', '1', 'deleteMemory'],
  ['1', '-', '2', 'writeFile'],
  ['1', '-', '-', undefined],
  ['1', 'earlier', '2', 'writeFile'],
  ['-', 'earlier', '2', 'writeFile'],
  ['1', 'earlier', '1', 'writeMemory'],
  ['later', 'earlier', '2', 'writeMemory'],
])('last %s, in the folder %s, in the store %s: %s (G67)', (base, local, remote, expected) => {
  expect(planSync(sides(base, local, remote)).map((step) => step.do)).toEqual(expected ? [expected] : []);
});

test('a memory that changed on both sides gets the text of the folder, and the note says so (G67)', () => {
  expect(planSync(sides('1', '2', '3'))).toMatchObject([{ do: 'writeMemory', memory: { sha256: '3' }, isOver: true }]);
  expect(planSync(sides('-', '2', '3'))).toMatchObject([{ do: 'writeMemory', isOver: true }]);
});

test.each([
  ['1', '2', '1', 'writeFile'],
  ['1', '-', '1', 'writeFile'],
  ['1', '2', '-', 'removeFile'],
  ['-', '1', '-', 'removeFile'],
])(
  'a read-only folder takes after its store: last %s, folder %s, store %s: %s (G67)',
  (base, local, remote, expected) => {
    expect(planSync(sides(base, local, remote, true)).map((step) => step.do)).toEqual([expected]);
  },
);

test('what is removed makes room for what comes: a file may become a folder (G67)', () => {
  const steps = planSync({
    base: new Map([['/a', '1']]),
    local: new Map([['/a/b', '2']]),
    remote: new Map([['/a', memory('1')]]),
    readOnly: false,
    wasHeld: () => false,
  });
  expect(steps.map((step) => `${step.do} ${step.path}`)).toEqual(['deleteMemory /a', 'writeMemory /a/b']);
});
