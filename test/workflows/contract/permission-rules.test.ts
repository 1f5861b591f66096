import { expect, test } from 'vitest';
import { optionsProblem } from '../../../workflows/contract/options-problem.ts';
import { parseRule } from '../../../workflows/contract/permission-rules.ts';
import type { PermissionRules } from '../../../workflows/contract/session.ts';

const problemOf = (permissions: unknown): string | undefined =>
  optionsProblem({ permissions: permissions as PermissionRules });

test('a rule is a tool, or a tool and a pattern', () => {
  expect(parseRule('mcp__*')).toEqual({ tool: 'mcp__*', pattern: null });
  expect(parseRule('bash(git status:*)')).toEqual({ tool: 'bash', pattern: 'git status:*' });
  expect(parseRule('mcp__x(a (b))')).toEqual({ tool: 'mcp__x', pattern: 'a (b)' });
});

test('a rule that denies may end the run, and no other may (L34)', () => {
  expect(parseRule('bash(git push:*)!')).toEqual({ tool: 'bash', pattern: 'git push:*', fatal: true });
  expect(parseRule('Bash!')).toEqual({ tool: 'bash', pattern: null, fatal: true });
  expect(parseRule('read(a!)')).toEqual({ tool: 'read', pattern: 'a!' });
  expect(problemOf({ deny: ['bash(git push *)!', 'mcp__*!', 'write(.env)!'] })).toBeUndefined();
  expect(problemOf({ deny: ['bash(a && b)!'] })).toContain('is not one simple command');
  for (const list of ['allow', 'ask'])
    expect(problemOf({ [list]: ['bash!'] })).toContain('"bash!" ends with "!", which ends the run, and does not deny');
});

test('a rule in the words of another agent means here what it means there (L55)', () => {
  expect(parseRule('Bash(git status:*)')).toEqual({ tool: 'bash', pattern: 'git status:*' });
  expect(parseRule('Bash(git status *)')).toEqual({ tool: 'bash', pattern: 'git status:*' });
  expect(parseRule('bash(*)')).toEqual({ tool: 'bash', pattern: null });
  expect(parseRule('Read(src/**)')).toEqual({ tool: 'read', pattern: 'src/**' });
  expect(parseRule('Deploy(x *)')).toEqual({ tool: 'Deploy', pattern: 'x *' });
});

test.each([
  ['*'],
  ['bash'],
  ['bash(npm test)'],
  ['bash(git status:*)'],
  ['bash(git status *)'],
  ['bash(*)'],
  ['Bash(rm:*)'],
  ['write(src/**)'],
  ['read(./a/{b,c}.[tj]s)'],
  ['grep(secrets/)'],
  ['write(.)'],
  ['write(./)'],
  ['write(.env)'],
  ['write(a b/~c)'],
  ['write(//data/shared/**)'],
  ['read(//data/{a,b}/.env)'],
  ['mcp__*'],
  ['mcp__web(anything at all)'],
])('takes the rule %s (L55)', (rule) => {
  expect(problemOf({ allow: [rule], deny: [rule], ask: [rule] })).toBeUndefined();
});

test.each([
  ['', '"" cannot be read: write tool or tool(pattern), such as bash(git status:*), write(src/**) or mcp__*'],
  ['bash(', '"bash(" cannot be read'],
  ['bash()', '"bash()" cannot be read'],
  ['git status', '"git status" cannot be read'],
  ['*(src/**)', 'has a pattern for several tools'],
  ['bash(:*)', 'names no command: write bash for every command'],
  ['bash(git * main)', 'has a * that is not at its end: end it with :*'],
  ['bash( *)', 'names no command: write bash for every command'],
  ['bash(a && b)', 'is not one simple command'],
  ['bash(echo $HOME)', 'is not one simple command'],
  ['bash(a\nb)', 'holds a control character'],
  ['write(/etc/**)', 'is absolute: write it relative to the workspace, or an absolute path with two slashes'],
  ['write(//)', 'names no path after its two slashes'],
  ['write(///etc)', 'names no path after its two slashes'],
  ['write(//data/../etc/**)', 'holds ".."'],
  ['write(//data/./etc)', 'holds a "."'],
  ['write(src/../x)', 'holds ".."'],
  ['write({src,../x}/y)', 'holds ".."'],
  ['write(src/./**)', 'holds a "." between slashes: leave it out'],
  ['write(././x)', 'holds a "."'],
  ['write(src/.)', 'holds a "."'],
  ['write({./a,b})', 'holds a "."'],
  ['write( src/**)', 'begins or ends with a blank: leave it out'],
  ['write(src/** )', 'begins or ends with a blank'],
  ['write(~/x)', 'begins with ~: write it relative to the workspace'],
  ['write(src\\x)', 'holds a backslash'],
  ['write({a,{b,c}})', 'has braces within braces'],
  [`write(${'{a,b}'.repeat(9)})`, 'stands for more than 256 globs'],
  [`write(${'x'.repeat(500)})`, '… has 507 characters: give at most 500'],
])('refuses the rule %j and names it (L55)', (rule, sentence) => {
  expect(problemOf({ deny: [rule] })).toContain(sentence);
  expect(problemOf({ deny: [rule] })).toContain('permission rule "');
});

test.each([
  [null, 'the permissions are not an object'],
  [['bash'], 'the permissions are not an object'],
  [{ denied: [] }, 'the permissions have no list "denied": it is allow, deny or ask'],
  [{ deny: 'bash' }, `the permissions' "deny" is not a list`],
  [{ deny: [7] }, 'a permission rule is not a text'],
  [{ allow: Array<string>(600).fill('a'), ask: Array<string>(401).fill('b') }, 'there are more than 1000'],
])('refuses permissions that are no lists of rules: %j (L55)', (permissions, sentence) => {
  expect(problemOf(permissions)).toContain(sentence);
});
