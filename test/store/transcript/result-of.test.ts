// The result of a run, read from its entries.
import { expect, test } from 'vitest';
import { resultOf } from '../../../store/view/result.ts';
import type { Entry } from '../../../store/log/entries.ts';
import {
  callBlock,
  notice,
  outcome,
  outcomes,
  reply,
  runEnded,
  runStarted,
  textBlock,
  thinkingBlock,
  transition,
  user,
} from '../../support/transcript.ts';

const cut = (text: string): Entry[] => [
  reply([textBlock(text)], { fate: 'cut' }),
  transition(1, 'max_output_tokens_recovery'),
  notice({ kind: 'continue' }),
];

const entries: Entry[] = [
  runStarted(1),
  user('first'),
  reply([textBlock('old')]),
  runEnded(1),
  runStarted(2),
  user('second'),
  reply([textBlock('let me see'), callBlock('a')]),
  outcomes(outcome(1, 'x')),
  transition(1, 'next_turn'),
  ...cut('once upon '),
  ...cut('a time, '),
  reply([thinkingBlock('hm'), textBlock('the '), textBlock('end')]),
  runEnded(2),
  runStarted(3),
  user('third'),
];

test('a run has its whole list of transitions, and the pieces of a continued reply are one text (L3 L27)', () => {
  expect(resultOf({ entries }, 2)).toEqual({
    run: 2,
    reason: 'completed',
    terminal: { reason: 'completed' },
    turns: 2,
    iterations: 3,
    transitions: [
      { iteration: 1, reason: 'next_turn' },
      { iteration: 1, reason: 'max_output_tokens_recovery' },
      { iteration: 1, reason: 'max_output_tokens_recovery' },
    ],
    text: 'once upon a time, the end',
    messages: [],
    usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    costUsd: 0,
    durationMs: 5,
  });
  expect(resultOf({ entries }, 1)?.text).toBe('old');
});

test('a reply that follows something else than a recovery stands for itself', () => {
  const again = [
    ...cut('dropped'),
    reply([textBlock('kept')], { fate: 'cut' }),
    transition(2, 'stop_hook_blocking'),
    reply([textBlock('new')]),
  ];
  expect(resultOf({ entries: [runStarted(1), ...again, runEnded(1)] }, 1)?.text).toBe('new');
});

test('a reply that is continued after its request was made smaller is still continued (L24 L27)', () => {
  const run = [...cut('once upon '), transition(2, 'reactive_compact_retry'), reply([textBlock('a time')])];
  expect(resultOf({ entries: [runStarted(1), ...run, runEnded(1)] }, 1)?.text).toBe('once upon a time');
});

test('what sums up a run is its text, also after a reply that was cut (L27 L51)', () => {
  const limit = notice({ kind: 'wrap_up', limit: 'tokens' });
  const run = [...cut('once upon '), limit, reply([textBlock('It is half told.')])];
  expect(resultOf({ entries: [runStarted(1), ...run, runEnded(1)] }, 1)?.text).toBe('It is half told.');
});

test('a run that has not ended, or is not there, has no result; one that was refused has an empty text', () => {
  expect(resultOf({ entries }, 3)).toBeNull();
  expect(resultOf({ entries }, 4)).toBeNull();
  const refused = [...entries.slice(0, 4), user('again'), runEnded(2, { reason: 'model_error', detail: 'no' })];
  expect(resultOf({ entries: refused }, 2)).toMatchObject({ reason: 'model_error', text: '', transitions: [] });
});
