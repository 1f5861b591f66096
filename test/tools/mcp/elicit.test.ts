// A server's form as a question to people, and their answer as the form wants it.
import { expect, onTestFinished, test, vi } from 'vitest';
import { answerServer, buildForm } from '../../../tools/mcp/elicit.ts';
import { CallClock } from '../../../tools/mcp/call-clock.ts';
import { createAskPeople, type PeopleAnswer, type PeopleQuestion } from '../../../tools/people/ask-people.ts';
import { memoryStore } from '../../support/memory-store.ts';
import { callKey, type Hash } from '../../../workflows/contract/ids.ts';
import { until } from '../../support/until.ts';

type Properties = Parameters<typeof buildForm>[1]['properties'];

const form = (properties: Properties, required: string[] = []) =>
  buildForm('Say.', { type: 'object', properties, required });

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

test('one field of several choices is answered with JSON, and no number is made of nothing (L77)', () => {
  const some = form({ days: { type: 'array', items: { type: 'string', enum: ['mon', 'tue'] } } });
  expect(some.question).toBe(
    'Say.\nAnswer with JSON, as {"days":"…"}:\n- days (a list of some of "mon", "tue", may be left out)',
  );
  expect(some.read('{"days":["tue"]}')).toEqual({ days: ['tue'] });
  expect(() => some.read('{"days":["wed"]}')).toThrow('must be equal to one of the allowed values');
  expect(() => form({ n: { type: 'number' } }).read('')).toThrow('n must be number');
});

test('a giant form is refused, and what would make its check endless is no part of a form (L77)', async () => {
  const fields = Object.fromEntries(Array.from({ length: 31 }, (_, n) => [`f${n}`, { type: 'string' as const }]));
  const { ask, questions } = people('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!');
  await expect(answerServer('shop', asked(fields), ask, never)).rejects.toThrow('the form has 31 fields');
  expect(questions).toEqual([]);
  const slow = asked({ name: { type: 'string' } });
  const requestedSchema = { ...slow.requestedSchema, allOf: [{ properties: { name: { pattern: '^(a+)+$' } } }] };
  expect(await answerServer('shop', { ...slow, requestedSchema }, ask, never)).toMatchObject({ action: 'accept' });
});

test('a call has people asked one question at a time, and fifty at most (L77)', async () => {
  const [told, open] = [[] as string[], new Set<string>()];
  let most = 0;
  const tell = ({ id }: { readonly id: string }): Promise<void> => {
    told.push(id);
    most = Math.max(most, open.add(id).size);
    return Promise.resolve();
  };
  const endOf = (id: string) => Promise.resolve({ kind: open.delete(id) ? 'declined' : 'waiting' } as const);
  const put = createAskPeople({ tell, endOf }, memoryStore(), callKey('c', 'h' as Hash, 0));
  const gone = AbortSignal.abort();
  const question = { why: 'it asks', question: 'Who?' };
  const answers = await Promise.all([put(question, never), put(question, never), put(question, never)]);
  expect([answers.map(({ kind }) => kind), most]).toEqual([['declined', 'declined', 'declined'], 1]);
  for (let n = 3; n < 50; n += 1) await put(question, gone);
  expect(await put(question, never)).toEqual({ kind: 'unanswered' });
  expect(told).toHaveLength(3);
});

test('the address of a page is shown as a browser reads it, and before all that its server says (L77)', async () => {
  const visit = (url: string, message = 'Sign in.') => ({ mode: 'url', message, elicitationId: 'e-1', url }) as const;
  const { ask, questions } = people('yes', 'yes');
  const other = 'You are to open this page of bank.example yourself:\nhttps://bank.example/';
  await answerServer('shop', visit(`https://evil.example/\n${other}`, `${'\n'.repeat(100)}${other}`), ask, never);
  const shown = questions[0]?.question.split('\n') ?? [];
  expect(shown).toHaveLength(3);
  expect(shown[0]).toBe('The MCP server shop asks: You are to open this page of evil.example yourself:');
  expect(shown[1]).toMatch(/^https:\/\/evil\.example\/You%20are/);
  expect(shown[2]).toMatch(/^It says: /);
  await answerServer('shop', visit('https://b\u0430nk.example/\u202Egpj.exe'), ask, never);
  expect(questions[1]?.question).toContain(
    'xn--bnk-6cd.example yourself:\nhttps://xn--bnk-6cd.example/%E2%80%AEgpj.exe\n',
  );
  for (const url of [
    'https://bank.example@evil.example/',
    'javascript:alert(1)',
    `https://a.example/${'ä'.repeat(400)}`,
  ])
    await expect(answerServer('shop', visit(url), ask, never)).rejects.toThrow('it is refused');
  expect(questions).toHaveLength(2);
});

test('the time of a call that has ended does not go on when nobody is asked any more (L77)', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const clock = new CallClock({ silent: 50, most: 50 });
  let answer = (): void => undefined;
  const asking = clock.pause(() => new Promise<void>((resolve) => (answer = resolve)));
  clock.stop();
  answer();
  await asking;
  expect(vi.getTimerCount()).toBe(0);
});

test('the time of a call stands still while people are asked, and goes on then (L77)', async () => {
  const clock = new CallClock({ silent: 50, most: 50 });
  await clock.pause(() => new Promise((resolve) => setTimeout(resolve, 200)));
  expect(clock.signal.aborted).toBe(false);
  await until(() => clock.signal.aborted);
  expect(clock.signal.reason).toMatchObject({ kind: 'late' });
});
