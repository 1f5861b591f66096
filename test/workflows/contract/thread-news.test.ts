// What a thread tells its session by a signal (G68): anyone can signal, so that the shape is checked.
import { expect, test } from 'vitest';
import { hashOf } from '../../../store/values/store.ts';
import { isThreadNews } from '../../../workflows/contract/waits.ts';

const head = hashOf(Buffer.from('head'));
const settled = (end: object) => ({ kind: 'settled', call: '1.1.0', ...end });
const body = { kind: 'text', text: 'Done.' };

test.each([
  ['a wait', { kind: 'wait', calls: [{ call: '1.1.0', why: 'ask' }], at: 1 }, true],
  ['a wait for a sandbox', { kind: 'wait', calls: [{ call: '1.1.0', why: 'sandbox' }], at: 1 }, false],
  ['a denial', settled({ how: 'deny', message: 'No.' }), true],
  ['a result', settled({ how: 'result', result: { body } }), true],
  ['an error', settled({ how: 'result', result: { body, isError: true } }), true],
  ['a result without one', settled({ how: 'result' }), false],
  ['a result without a body', settled({ how: 'result', result: 'Done.' }), false],
  ['a result that is no error', settled({ how: 'result', result: { body, isError: false } }), false],
  ['an end of another kind', settled({ how: 'forgotten' }), false],
])('%s: news of a thread or not (G68)', (_, entry, is) => {
  expect(isThreadNews({ session: 's-1', head, told: [entry] })).toBe(is);
});
