// The task list in what stands for older messages (L83).
import { expect, test } from 'vitest';
import { compact } from '../../../activities/compaction/compact.ts';
import type { Entry } from '../../../store/log/entries.ts';
import { project } from '../../../store/view/project.ts';
import {
  callBlock,
  collapsed,
  outcome,
  outcomes,
  reply,
  runStarted,
  textBlock,
  user,
} from '../../support/transcript.ts';
import { attemptOf, compactionBench } from './support.ts';

const round = (name: string, size = 400): Entry[] => [
  reply([textBlock(`About ${name}.`), callBlock(name)]),
  outcomes(outcome(1, name.repeat(Math.ceil(size / name.length)))),
];
const long = [
  runStarted(1),
  user('Fix the bug in a.ts.'),
  ...['r1', 'r2', 'r3', 'r4', 'r5', 'r6'].flatMap((name) => round(name)),
];

async function run(entries: readonly Entry[]) {
  const bench = await compactionBench({ entries: [...entries], answers: ['They looked at r1 to r4.'] });
  return { ...bench, compact: () => compact(bench.deps)(attemptOf(), { ...bench.request, trigger: 'auto' }) };
}

const listed = (name: string, list: string): Entry[] => [
  reply([callBlock(name, {}, 'todo')]),
  outcomes({
    ...outcome(0, list),
    log: { key: null, name: 'todo', decision: 'allowed', duration: 1, outcome: 'ok' },
  }),
];

test('the task list is kept word by word over a compaction, and over the next one (L83)', async () => {
  const list = '[x] find the bug\n[>] fix it: "a.ts", line 3\n[ ] say so';
  const begun = [...long.slice(0, 2), ...listed('t1', '[ ] old'), ...listed('t2', list), ...long.slice(2)];
  const once = await run(begun);
  const first = await once.compact();
  if (first.kind !== 'compacted') throw new Error(first.kind);
  const after = await once.entries(first.head);
  expect(after.at(-1)).toMatchObject({ kind: 'boundary', tasks: list });
  expect(JSON.stringify(project(after, new Map()))).toContain(JSON.stringify(list).slice(1, -1));
  expect(JSON.stringify(project(after, new Map()))).not.toContain('[ ] old');
  const more = ['r7', 'r8', 'r9'].flatMap((name) => round(name, 2_000));
  const twice = await run([...after, ...more]);
  const second = await twice.compact();
  if (second.kind !== 'compacted') throw new Error(second.kind);
  expect((await twice.entries(second.head)).at(-1)).toMatchObject({ kind: 'boundary', tasks: list });
});

test('a stretch that is shown short keeps the task list that stands in it, word by word (L83)', () => {
  const todo = (list: string) =>
    outcomes({
      ...outcome(0, list),
      log: { key: null, name: 'todo', decision: 'allowed', duration: 1, outcome: 'ok' },
    });
  const entries = [
    user('go'),
    reply([callBlock('a', {}, 'todo')]),
    todo('[ ] one'),
    reply([callBlock('b', {}, 'todo')]),
    todo('[x] one'),
    reply([textBlock('on')]),
    user('and?'),
  ];
  const text = JSON.stringify(project([...entries, ...collapsed(1, 5, 'It was worked on.')], new Map()));
  expect(text).toContain('It was worked on.\\n\\nThe task list');
  expect(text).toContain('[x] one');
  expect(text).not.toContain('[ ] one');
});
