// The answer of a run so far, read from a whole transcript.
import { expect, test } from 'vitest';
import { finalText } from '../../../store/view/result.ts';
import type { Entry } from '../../../store/log/entries.ts';
import { notice, reply, runEnded, runStarted, textBlock, transition, user } from '../../support/transcript.ts';

const said = (text: string): Entry => reply([textBlock(text)]);
const recovers = transition(2, 'max_output_tokens_recovery');
const before = [runStarted(1), user('first'), said('old '), recovers, notice({ kind: 'continue' }), runEnded(1)];
const next = [runStarted(2), user('second')];

test.each<[string, readonly Entry[], string]>([
  ['the first reply of a run continues nothing of the run before', [said('new')], 'new'],
  ['a continued one is joined', [said('once '), recovers, said('upon '), recovers, said('a time')], 'once upon a time'],
  ['also when its request was made again', [said('a '), recovers, transition(3, 'model_fallback'), said('b')], 'a b'],
  ['a request made again continues nothing by itself', [said('a'), transition(2, 'model_fallback'), said('b')], 'b'],
  ['a bad answer is not continued', [said('a'), transition(2, 'structured_output_retry'), said('b')], 'b'],
  ['only what is next to each other', [said('a'), recovers, said('b'), transition(3, 'next_turn'), said('c')], 'c'],
])('%s (L27)', (_name, run, text) => {
  expect(finalText([...before, ...next, ...run])).toBe(text);
});

test('no more of a long transcript is read than its last answer (L4 L27)', () => {
  const long: readonly Entry[] = [...Array.from({ length: 1_000 }, () => said('old')), recovers, said('new')];
  let read = 0;
  const counted = { length: long.length, at: (position: number) => (read++, long[position]) };
  expect(finalText(counted)).toBe('oldnew');
  expect(read).toBeLessThan(10);
});
