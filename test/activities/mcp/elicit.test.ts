// A server's form as a question to people, and their answer as the form wants it.
import { expect, test } from 'vitest';
import { answerServer, CallClock, formOf } from '../../../activities/mcp/elicit.ts';
import type { PeopleAnswer, PeopleQuestion } from '../../../activities/people/ask-people.ts';
import { until } from '../../support/until.ts';

type Properties = Parameters<typeof formOf>[1]['properties'];

const form = (properties: Properties, required: string[] = []) =>
  formOf('Say.', { type: 'object', properties, required });

const asked = (properties: Properties) => ({
  mode: 'form' as const,
  message: 'Say.',
  requestedSchema: { type: 'object' as const, properties },
});

/** Answers in this order, and what was asked. */
function people(...answers: readonly (string | PeopleAnswer)[]) {
  const left = [...answers];
  const questions: PeopleQuestion[] = [];
  const ask = (question: PeopleQuestion): Promise<PeopleAnswer> => {
    questions.push(question);
    const next = left.shift() ?? ({ kind: 'unanswered' } as const);
    return Promise.resolve(typeof next === 'string' ? { kind: 'answered', text: next } : next);
  };
  return { ask, questions };
}

const never = new AbortController().signal;

test('one field is a question with what it offers, and its answer is of the field’s type (L77)', () => {
  const colour = form({
    colour: { type: 'string', enum: ['red', 'green'], title: 'Colour', description: 'Of the door' },
  });
  expect(colour).toMatchObject({ question: 'Say.\nColour: Of the door', options: ['red', 'green'] });
  expect(colour.read('green')).toEqual({ colour: 'green' });
  const titled = form({
    size: {
      type: 'string',
      oneOf: [
        { const: 's', title: 'Small' },
        { const: 'l', title: 'Large' },
      ],
    },
  });
  expect(titled.options).toEqual(['Small', 'Large']);
  expect(titled.read('Large')).toEqual({ size: 'l' });
  const sure = form({ sure: { type: 'boolean' } });
  expect([sure.options, sure.read('yes'), sure.read('no')]).toEqual([['yes', 'no'], { sure: true }, { sure: false }]);
  const many = form({ n: { type: 'integer', minimum: 1 } });
  expect(many.options).toBeUndefined();
  expect(many.read('7')).toEqual({ n: 7 });
  expect(() => many.read('0')).toThrow('n must be >= 1');
  expect(() => many.read('seven')).toThrow('n must be integer');
  expect(form({ name: { type: 'string' } }).read('Ann')).toEqual({ name: 'Ann' });
});

test('a form without a field asks yes or no, and one with several for JSON (L77)', () => {
  const none = form({});
  expect([none.options, none.read('yes'), none.read('no')]).toEqual([['yes', 'no'], {}, null]);
  const several = form({ name: { type: 'string', title: 'Your name' }, age: { type: 'integer' } }, ['name']);
  expect(several.question).toBe(
    'Say.\nAnswer with JSON, as {"name":"…","age":"…"}:\n- name (string): Your name\n- age (integer, may be left out)',
  );
  expect(several.read('{"name":"Ann"}')).toEqual({ name: 'Ann' });
  expect(() => several.read('Ann')).toThrow('it is no JSON');
  expect(() => several.read('{"age":3}')).toThrow("must have required property 'name'");
});

test('an answer that will not do is asked for again, with the reason; declined and unanswered are told so (L77)', async () => {
  const { ask, questions } = people('old', '30');
  const schema = asked({ age: { type: 'integer' } });
  expect(await answerServer('shop', schema, ask, never)).toEqual({ action: 'accept', content: { age: 30 } });
  expect(questions.map(({ question }) => question)).toEqual([
    'The MCP server shop asks: Say.\nage',
    '(The answer "old" will not do: age must be integer.) The MCP server shop asks: Say.\nage',
  ]);
  expect(await answerServer('shop', schema, people({ kind: 'declined' }).ask, never)).toEqual({ action: 'decline' });
  expect(await answerServer('shop', schema, people().ask, never)).toEqual({ action: 'cancel' });
  expect(await answerServer('shop', asked({}), people('no').ask, never)).toEqual({ action: 'decline' });
  const stubborn = people(...Array.from({ length: 50 }, () => 'x'));
  expect(await answerServer('shop', schema, stubborn.ask, never)).toEqual({ action: 'cancel' });
  expect(stubborn.questions).toHaveLength(10);
});

test('the time of a call stands still while people are asked, and goes on then (L77)', async () => {
  const clock = new CallClock(50);
  await clock.pause(() => new Promise((resolve) => setTimeout(resolve, 200)));
  expect(clock.signal.aborted).toBe(false);
  await until(() => clock.signal.aborted);
  expect(clock.signal.reason).toMatchObject({ kind: 'late' });
});
