import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { judgeShell } from '../../../../tools/builtin/shell/read-only-shell.ts';
import { tempFolder } from '../../support.ts';
import { measureGrowth, QUADRATIC } from '../../../support/growth.ts';
import { nastyCommands } from './nasty-commands.ts';

const judged = (command: string, cwd = '/workspace'): boolean => judgeShell(command, { cwd }).readOnly;

test.each([
  'ls',
  'ls -la src',
  'ls *.ts',
  'ls -lR src',
  'ls --color=never --time-style=long-iso',
  'du -sh src',
  'du -a --max-depth=1 ./src*',
  'cat .g* src/.e*',
  'cat a.txt b.txt',
  'cat src/*.ts | head -20',
  'cat /workspace/src/a.ts',
  'wc -l src/*.ts && echo done',
  'grep -rn "foo bar" src',
  "grep -n 'foo$' a.txt | sort -u | uniq -c | sort -rn",
  'grep -c "^$" a.txt; true',
  'grep -rn "/api/users" src',
  'grep -rn foo --include=*.ts src',
  'grep -rnE --include="*.ts" "^/api" src',
  'grep -- -x a.txt',
  'uniq -c a.txt',
  'cat -- -x',
  "rg 'a|b' --type ts",
  'rg -l foo',
  "find . -name '*.ts' -not -path './node_modules/*'",
  'find src -type f | wc -l',
  'cd src && ls',
  'cd src && cd deep && cat x',
  'echo "hello world"',
  'echo see /etc/passwd and ../x',
  'echo a > /dev/null 2>&1',
  'ls missing 2>/dev/null || echo none',
  'cat a &>/dev/null',
  'test -f a.txt && cat a.txt',
  '[ -d src ] && ls src',
  'printf "%s\\n" a b',
  'date +%Y-%m-%d',
  'pwd; whoami; uname -a',
  'git status',
  'git status --short && git diff --stat HEAD~3..HEAD',
  'git --no-pager log --oneline -n 5 -- src/a.ts',
  'git log -10 --format="%h %s" --since="2 weeks ago"',
  'git show HEAD:src/a.ts',
  'git diff main...feature/x',
  'git branch -a',
  'git branch --list "feat*"',
  'git rev-parse --abbrev-ref HEAD',
  'git remote -v; git stash list; git tag --list',
  'node --version',
  'ls # a comment; rm -rf /',
  'ls \\\n  -la',
  'cat "a b" \'c d\' e\\ f',
  'head -c 100 x\ntail -n 5 y\n',
  'stat -c %s a.txt | tr -d "\\n"',
])('%j only reads (L55)', (command) => {
  expect(judged(command)).toBe(true);
});

test.each(nastyCommands.map((command) => ({ command })))('$command does not only read (L55)', ({ command }) => {
  expect(judged(command)).toBe(false);
});

test.each(['grep -x', 'ls -a', 'cat ./', 'sort -k'])(
  '%s… is judged in time in proportion to its length (L55)',
  (begin) => {
    expect(measureGrowth((n) => judged(`${begin}${'x'.repeat(n)} a`), 24_500)).toBeLessThan(QUADRATIC);
  },
);

test('paths are judged from the workspace, and from where cd leads', () => {
  expect(judged('cat /workspace-sibling/x')).toBe(false);
  expect(judged('cat /workspace/../etc/passwd')).toBe(false);
  expect(judgeShell('cd src && cat a', { cwd: '/workspace' })).toEqual({
    readOnly: true,
    paths: [
      { path: '/workspace/src', entries: false },
      { path: '/workspace/a', entries: false },
      { path: '/workspace/src/a', entries: false },
    ],
    gitIn: [],
  });
  expect(judgeShell('cd src && git status', { cwd: '/workspace' })).toMatchObject({
    gitIn: ['/workspace', '/workspace/src'],
  });
  expect(judgeShell('cat src/*.ts', { cwd: '/workspace' })).toMatchObject({
    paths: [{ path: '/workspace/src/', entries: true }],
  });
});

// Pieces that make trouble together: what the judgement lets through is run, and must change
// nothing.
const words =
  'cat ls echo grep find sort uniq printf test [ ] cd git status date file diff touch made rm sub . .. / a.txt PATH x b.txt ' +
  '-o -v -exec -delete -d* -n - -- %n --output=x --out* /dev/null';
const likelyPieces = ['a.txt', 'b.txt', 'a.txt', '-', '--', '-o', '-d*', '--out*', 'x', '"$\\\n(touch made)"'];
const marks = '; | && || & > >> < 2> 2>&1 ( ) { } , ! # \\ " \' ` $ $( ${ * ? ~ =';
const pieces = [...`${words} ${marks}`.split(' '), ' ', ' ', ' ', ' ', '\t', '\n'];

test('nothing that is judged to only read leaves a trace (L55)', () => {
  const cwd = tempFolder();
  const fill = (): void => {
    for (const name of readdirSync(cwd)) rmSync(join(cwd, name), { recursive: true });
    const files = { 'a.txt': 'a\nb\n', 'b.txt': 'b\na\n', '-delete': '', '-o': '', '--output=b.txt': '' };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text);
  };
  const contents = (): string =>
    JSON.stringify(
      readdirSync(cwd).map((name) => [
        name,
        statSync(join(cwd, name)).isFile() && readFileSync(join(cwd, name), 'utf8'),
      ]),
    );
  fill();
  const before = contents();
  let ran = 0;
  const read = (command: string): void => {
    if (!judged(command, cwd)) return;
    ran++;
    spawnSync('bash', ['--norc', '--noprofile', '-c', command], {
      cwd,
      timeout: 5_000,
      env: { PATH: process.env['PATH'] ?? '' },
    });
    if (contents() === before) return;
    fill();
    throw new Error(`left a trace: ${JSON.stringify(command)}`);
  };
  const command = fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 12 }).map((parts) => parts.join(''));
  const likely = fc
    .tuple(
      fc.constantFrom('cat', 'ls', 'sort', 'grep a', 'find', 'echo', 'uniq', 'printf', 'git status', 'test'),
      command,
    )
    .map(([name, rest]) => `${name} ${rest}`);
  const likelier = fc
    .tuple(
      fc.constantFrom('uniq', 'sort', 'find .', 'echo', 'echo x | uniq'),
      fc.array(fc.constantFrom(...likelyPieces), { minLength: 1, maxLength: 4 }),
    )
    .map(([name, rest]) => [name, ...rest].join(' '));
  fc.assert(fc.property(fc.oneof(command, likely, likelier), read), { numRuns: 3_000 });
  expect(ran).toBeGreaterThan(20);
});
