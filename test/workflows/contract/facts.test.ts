// Variables and extra folders that a caller or a worker gives to tools: which ones are refused, and
// that no sentence repeats a value.
import { expect, test } from 'vitest';
import { optionsProblem } from '../../../workflows/contract/options-problem.ts';
import { toolVariableProblem } from '../../../workflows/contract/tool-env.ts';

const problem = (toolEnv: unknown): string | undefined => optionsProblem({ toolEnv: toolEnv as never });

test('ordinary names and values do for variables of tools, an empty value too (Q7)', () => {
  expect(problem({ CI: '1', _x9: '', PATH: '/opt/bin:/usr/bin', http_proxy: 'http://proxy' })).toBeUndefined();
  expect(problem({})).toBeUndefined();
});

test.each([
  ['PERDURE_CALL', 'is a setting of Perdure, its server or its model'],
  ['TEMPORAL_API_KEY', 'is a setting of Perdure, its server or its model'],
  ['ANTHROPIC_API_KEY', 'is a setting of Perdure, its server or its model'],
  ['LD_PRELOAD', 'would change what a command does before it runs'],
  ['DYLD_INSERT_LIBRARIES', 'would change what a command does before it runs'],
  ['BASH_ENV', 'would change what a command does before it runs'],
  ['BASH_FUNC_ls', 'would change what a command does before it runs'],
  ['GIT_CONFIG_COUNT', 'would change what a command does before it runs'],
  ['PWD', 'is set for each command'],
  ['1ST', 'is no name for one'],
  ['BASH_FUNC_ls%%', 'is no name for one'],
  ['A=B', 'is no name for one'],
  ['', 'is no name for one'],
])('the variable %j is refused with a sentence that says why, without its value (Q7)', (name, why) => {
  expect(problem({ [name]: 'hush' })).toContain(`the variable ${JSON.stringify(name)} for tools ${why}`);
  expect(problem({ [name]: 'hush' })).not.toContain('hush');
  expect(toolVariableProblem(name)).toContain(why);
});

test.each([
  ['CI=1', 'the variables for tools are no object'],
  [['CI'], 'the variables for tools are no object'],
  [{ CI: 1 }, 'the variable "CI" for tools has a value that is no text'],
  [{ CI: 'a\0b' }, 'the variable "CI" for tools has a NUL character'],
  [{ CI: 'x'.repeat(16_001) }, 'the variable "CI" for tools has a value of 16001 characters: give at most 16000'],
  [
    Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`V${n}`, ''])),
    '101 variables for tools are given: give at most 100',
  ],
])('%j is refused as variables of tools (Q7)', (given, sentence) => {
  expect(problem(given)).toContain(sentence);
});

test.each([
  ['/data', 'the additional directories are no list'],
  [[7], 'an additional directory is no text'],
  [['data'], 'the additional directory "data" is not an absolute path'],
  [[''], 'the additional directory "" is not an absolute path'],
  [['/'], 'the additional directory "/" is the whole machine'],
  [['//'], 'the additional directory "//" is the whole machine'],
  [['/a\nb'], 'has a line end or another control character'],
  [['/a\u2028b'], 'has a line end or another control character'],
  [[`/${'x'.repeat(4_096)}`], 'has 4097 characters: give at most 4096'],
  [Array.from({ length: 21 }, (_, n) => `/d${n}`), '21 additional directories are given: give at most 20'],
])('%j is refused as folders for tools (Q7)', (given, sentence) => {
  expect(optionsProblem({ additionalDirectories: given as never })).toContain(sentence);
});

test('absolute paths do for folders for tools, and none at all (Q7)', () => {
  expect(optionsProblem({ additionalDirectories: ['/data/shared', '/srv/a b'] })).toBeUndefined();
  expect(optionsProblem({ additionalDirectories: [] })).toBeUndefined();
});
