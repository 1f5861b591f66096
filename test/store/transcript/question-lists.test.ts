// Checks that a list of questions becomes one that a person reads, and is found again in it.
import { expect, test } from 'vitest';
import { joinQuestions, splitQuestions } from '../../../store/transcript/question-lists.ts';

const choice = (label: string, description = '') => ({ label, description });
const which = { question: 'Which?', header: 'Kind', options: [choice('A', 'small'), choice('B')], multiSelect: false };
const bare = { question: 'Which?', header: '', options: [choice('A'), choice('B')], multiSelect: false };
const many = { ...which, question: 'What else?', multiSelect: true };
const open = { question: 'Why?', header: '', options: [], multiSelect: false };

test('one question keeps its options, and its text has what they mean (L81)', () => {
  expect(joinQuestions([bare])).toEqual({ question: 'Which?', options: ['A', 'B'] });
  expect(joinQuestions([which])).toEqual({ question: '[Kind] Which?\n- A — small\n- B', options: ['A', 'B'] });
});

test('of several options, and of several questions, the answer is a text (L81)', () => {
  expect(joinQuestions([many])).toEqual({ question: '[Kind] What else? (choose any)\n- A — small\n- B' });
  expect(joinQuestions([bare, open])).toEqual({ question: '1. Which?\n- A\n- B\n\n2. Why?' });
});

test.each([[[bare]], [[which]], [[many]], [[open]], [[which, many, open, bare]]])(
  'the questions of %j are found again in the text (L81)',
  (questions) => {
    const joined = joinQuestions(questions);
    expect(joined && splitQuestions(joined)).toEqual(questions);
  },
);

test('a question that is no such list stays as it is (L81)', () => {
  const asked = { question: 'Shall I\n- stop, or\n- go on?', options: ['stop', 'go on'] };
  expect(splitQuestions(asked)).toEqual([
    { question: asked.question, header: '', options: [choice('stop'), choice('go on')], multiSelect: false },
  ]);
  for (const list of [[], 'x', [{ question: 1 }], [null], undefined]) expect(joinQuestions(list)).toBeNull();
});
