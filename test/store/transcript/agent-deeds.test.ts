// What the parent of an agent reads where a limit has ended it in the middle of its work.
import { expect, test } from 'vitest';
import { lastRunOf, describeDeeds } from '../../../store/view/agent-end.ts';
import { memoryStore } from '../../support/memory-store.ts';
import type { Hash } from '../../../workflows/contract/ids.ts';
import { noSpend } from '../../../workflows/contract/loop.ts';
import {
  callBlock,
  outcome,
  outcomes,
  reply,
  runEnded,
  runStarted,
  session,
  stored,
  textBlock,
} from '../../support/transcript.ts';

const work = [
  reply([textBlock('I look for the cause.'), callBlock('a', { command: 'npm test\n -- x' }, 'bash')]),
  outcomes(outcome(0, 'bad', { toolUseId: 'a', isError: true })),
  reply([callBlock('b', { path: 'src/a.ts' }, 'read'), callBlock('c', { tasks: [] }, 'todo')]),
  outcomes(outcome(0, 'x', { toolUseId: 'b' })),
];

test('an agent that its turn limit has ended brings back what it did and said (L67)', async () => {
  const store = memoryStore();
  const { head } = await stored(store, [
    runStarted(1),
    ...work,
    runEnded(1, { reason: 'max_turns', limit: 2, turnNotTaken: 3 }),
  ]);
  const run = {
    run: 1,
    terminal: { reason: 'max_turns', limit: 2, turnNotTaken: 3 },
    turns: 2,
    head: head as Hash,
  } as const;
  const last = await lastRunOf(store, { kind: 'agent', session, run, spend: noSpend });
  expect(last).toMatchObject({ text: '', completed: false });
  expect(last?.deeds.split('\n')).toEqual([
    'It said before its last calls: I look for the cause.',
    '- bash npm test -- x (failed)',
    '- read src/a.ts',
    '- todo {"tasks":[]} (without an outcome)',
  ]);
});

test('of many calls the newest are told, and of none nothing (L67)', () => {
  const many = Array.from({ length: 100 }, (_, n) => reply([callBlock(`c${n}`, { path: 'x'.repeat(1_000) })]));
  const lines = describeDeeds(many).split('\n');
  expect([lines.length, lines[0]]).toEqual([31, '- 70 earlier calls']);
  expect(lines.join('\n').length).toBeLessThan(8_000);
  expect(describeDeeds([reply([textBlock('Done.')])])).toBe('');
});
