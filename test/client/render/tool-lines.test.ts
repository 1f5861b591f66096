// What a call would do, on one line.
import { expect, test } from 'vitest';
import { callWhat } from '../../../client/render/tool-lines.ts';

test.each<[string, unknown, string]>([
  ['bash', { command: 'npm test', description: 'Runs the test suite', timeout: 5 }, 'npm test'],
  ['edit', { path: 'src/a.ts', old_string: 'one\ntwo', new_string: 'one\n2\n3' }, 'src/a.ts +2 −1'],
  ['write', { path: 'a.txt', content: 'one\ntwo\n' }, 'a.txt +2 −0'],
  ['todo', { tasks: [{ text: 'a' }, { text: 'b' }] }, '2 tasks'],
  ['agent', { prompt: 'Audit every dependency.', description: 'Audit it' }, 'Audit it'],
  ['deploy', { name: 'pricing', environment: 'production', reason: 'asked' }, 'pricing environment=production'],
  ['deploy', { reason: 'asked' }, 'asked'],
  ['deploy', ['a'], '["a"]'],
])('a call of %s with %j is told by what it would do (L55)', (tool, input, what) => {
  expect(callWhat(tool, input)).toBe(what);
});
