import { expect, test } from 'vitest';
import { failureOf, failureText, UsageError } from '../../cli/errors.ts';
import { ClientProblem } from '../../client/problem.ts';
import { StoreError } from '../../store/values/store.ts';
import { SetupProblem } from '../../system/setup-problem.ts';

test.each([
  [new UsageError('the prompt is empty'), 2],
  [new SetupProblem('no server answers'), 2],
  [new StoreError('corrupt', 'session s-1, entry 3: damaged'), 2],
  [new ClientProblem('no_session', 'no session s-1'), 2],
  [new ClientProblem('no_worker', 'no worker polls'), 1],
])('says %s in one line, with status %d', (error, status) => {
  expect(failureOf(error)).toEqual({ status, message: error.message });
  expect(failureText(error, false)).toBe(`perdure: ${error.message}\n`);
});

test('keeps the stack of what nobody expected for those who ask', () => {
  const error = new TypeError('x is undefined\nsecond line', { cause: new Error('below') });
  expect(failureText(error, false)).toBe(
    'perdure: unexpected: x is undefined (run it again with --verbose to see the stack)\n',
  );
  expect(failureText(error, true)).toMatch(/TypeError: x is undefined[^]+errors\.test\.ts[^]+caused by Error: below/);
});

test('takes the server’s own words, and lets them not act on a terminal', () => {
  const cause = Object.assign(new Error('x'), { details: 'namespace \u001b[31mgone\nmore' });
  const error = Object.assign(new Error('failed', { cause }), { name: 'ServiceError' });
  expect(failureText(error, false)).toBe(
    'perdure: the Temporal server refused: namespace \\x1b[31mgone; check the server and try again\n',
  );
});
