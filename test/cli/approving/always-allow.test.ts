// The rule that is proposed for a call, and the calls that rules cover.
import { expect, test } from 'vitest';
import { createAlwaysRules, ruleFor } from '../../../client/sessions/always-allow.ts';

const bash = (command: string) => ({ tool: 'bash', input: { command } });

test.each<readonly [command: string, rule: string | null]>([
  ['npm test', 'bash(npm test)'],
  ['git commit -m "a b"', 'bash(git commit:*)'],
  ['make', 'bash(make)'],
  ['echo $HOME', null],
  ['cat a > b', null],
  ['make; rm -rf build', null],
  ['"unclosed', null],
  // Behind these a pattern would allow anything.
  ...[
    'sh -c "a b"',
    '/bin/bash -c "a b"',
    'sudo sh -c "a b"',
    'env A=1 "b c"',
    'find . -name "*.ts"',
    'xargs -n 1 "a b"',
    'ssh host "a b"',
    'timeout 5 "a b"',
    'nice make "a b"',
    'python3 -c "a b"',
    'python3.12 x.py "a b"',
    'node -e "a b"',
    'perl -e "a b"',
    'awk -f "a b"',
    'npx tsc "a b"',
    'npm exec "a b"',
    'uv run "a b"',
    'docker run "a b"',
    'git -c "core.pager=a b"',
    'git submodule foreach "a b"',
    'tar -cf "a b"',
    'ls -la "a b"',
    'CI=1 npm "a b"',
    'NODE_ENV=test node "a b"',
    'A+=1 cargo "a b"',
    './run.sh ./x "a b"',
  ].map((command) => [command, null] as const),
  ['python3 -m http.server', 'bash(python3 -m http.server)'],
  ['sudo reboot', 'bash(sudo reboot)'],
  ['cp src/a "src/b c"', 'bash(cp src/a:*)'],
])('for the command %s the rule %s is proposed (O18)', (command, rule) => {
  expect(ruleFor(bash(command))).toBe(rule);
});

test.each([
  [{ tool: 'edit', input: { path: 'src/a.ts' } }, 'edit(src/a.ts)'],
  [{ tool: 'write', input: { path: '/tmp/a' } }, 'write(//tmp/a)'],
  [{ tool: 'write', input: { path: 'a*' } }, null],
  [{ tool: 'mcp__git__push', input: {} }, 'mcp__git__push'],
  [{ tool: 'a b', input: {} }, null],
])('for %j the rule %s is proposed (O18)', (call, rule) => {
  expect(ruleFor(call)).toBe(rule);
});

test('a rule covers its own call and no wider one, and nothing whose input is not certain (O18)', () => {
  const always = createAlwaysRules();
  always.in(import.meta.dirname);
  for (const rule of ['bash(npm test)', 'edit(a.ts)', 'mcp__git__push']) always.add(rule);
  const covered = (call: Parameters<typeof always.ruleThatCovers>[0]) => always.ruleThatCovers(call);
  expect(covered(bash('npm test'))).toBe('bash(npm test)');
  expect(covered({ tool: 'edit', input: { path: 'a.ts' } })).toBe('edit(a.ts)');
  expect(covered({ tool: 'mcp__git__push', input: { force: true } })).toBe('mcp__git__push');
  const others = [
    bash('npm test; rm -rf .'),
    bash('npm test > a'),
    bash('npm'),
    { tool: 'write', input: { path: 'a.ts' } },
  ];
  for (const other of [...others, { ...bash('npm test'), problem: 'lost' }]) expect(covered(other)).toBeNull();
});
