// Inputs that take a worker's time: the thread that judges a call and prepares its result carries
// all sessions of the worker.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { analyse } from 'scslre';
import ts from 'typescript';
import { expect, test } from 'vitest';
import { describeResult } from '../../tools/builtin/shell/output.ts';
import { renderTerminal } from '../../tools/builtin/files/terminal-text.ts';
import { createBashTool } from '../../tools/builtin/bash.ts';
import { createGlobTool } from '../../tools/builtin/glob.ts';
import { createGrepTool } from '../../tools/builtin/grep.ts';
import { foldBranches } from '../../system/schema/fold-branches.ts';
import { mendInput } from '../../system/schema/input-schema.ts';
import { describeNearestLine } from '../../tools/builtin/files/lookalikes.ts';
import { replaceText } from '../../tools/builtin/files/replace-text.ts';
import { decidePermission } from '../../tools/rules/permission.ts';
import { probeSandbox } from '../../tools/sandbox.ts';
import { createRedactor } from '../../worker/redact.ts';
import { TOPS } from '../docs/house-report.mjs';
import { measureGrowth, QUADRATIC } from '../support/growth.ts';
import { htmlOf } from '../../page/layout.tsx';
import { MarkdownText } from '../../page/text/markdown-view.tsx';
import { tempFolder, toolContext } from '../tools/support.ts';

const sandbox = await probeSandbox({ kinds: ['group'], unconfined: true });
const bash = createBashTool({ sandbox });
const rules = Array.from({ length: 600 }, (_, n) => `bash(cmd${n} sub:*)`);

function judge(permissions: object, command: string): unknown {
  const subject = { mode: 'default' as const, permissions, cwd: '/workspace' };
  return decidePermission(subject, { risk: 'execute', tool: bash, input: { command } });
}

const output = (text: string) => ({ head: Buffer.from(text), tail: Buffer.alloc(0), omitted: 0, errors: [] });
const ended = { kind: 'exit', exit: { code: 0, signal: null } } as const;

test.each<[string, (n: number) => unknown, number]>([
  ['blank lines before the end', (n) => describeResult('x', 1, ended, output(`${'\n'.repeat(n)}x`)), 100_000],
  ['escapes that never end', (n) => renderTerminal(Buffer.from('\u001b[1;'.repeat(n))), 100_000],
  ['carriage returns', (n) => renderTerminal(Buffer.from('\r'.repeat(n))), 100_000],
])('an output of n %s takes time in proportion to n', (_, work, n) => {
  expect(measureGrowth(work, n)).toBeLessThan(QUADRATIC);
});

const edit = (text: Buffer, before: string): unknown =>
  replaceText(text, before, 'x', { all: true, most: text.length * 2 });

test.each<[string, (n: number) => unknown, number]>([
  ['many places and no newline', (n) => edit(Buffer.alloc(n, 'ab'), 'ab'.repeat(20)), 500_000],
  [
    'a long text that is nearly there',
    (n) => edit(Buffer.alloc(n, 'a'), `${'a'.repeat(n / 4)}b${'a'.repeat(n / 4)}`),
    200_000,
  ],
  ['a text that repeats itself', (n) => edit(Buffer.alloc(n, 'ab'), `bb${'ab'.repeat(5_000)}`), 500_000],
  ['CRLF lines', (n) => edit(Buffer.alloc(n, '\r\n'), 'a\nb'), 500_000],
])('an edit of a file of n bytes with %s takes time in proportion to n', (_, work, n) => {
  expect(measureGrowth(work, n)).toBeLessThan(QUADRATIC);
});

const heap = `a${'\u0301\u0323'.repeat(900)}\n`;

test.each<[string, (n: number) => unknown, number]>([
  ['heaps of accents', (n) => describeNearestLine(heap.repeat(n / heap.length), 'another'), 200_000],
  ['one long line', (n) => describeNearestLine('x'.repeat(n), `${'x'.repeat(n / 10)}y`), 200_000],
  [
    'lines that nearly have it',
    (n) => describeNearestLine(`${'x'.repeat(n / 100)}\n`.repeat(100), `y${'x'.repeat(n / 200)}`),
    20_000,
  ],
  ['blank lines', (n) => describeNearestLine('\n'.repeat(n), `${'\n'.repeat(49)}x`), 200_000],
])('the line nearest to an edit that misses is found among n characters of %s in proportion to n', (_, work, n) => {
  expect(measureGrowth(work, n)).toBeLessThan(QUADRATIC);
});

const branches = (count: number, branch: (n: number) => object): readonly object[] =>
  Array.from({ length: count }, (_, n) => branch(n));

test.each<[string, (n: number) => unknown, number]>([
  [
    'n branches that say different things of a field',
    (n) => foldBranches({ type: 'object', anyOf: branches(n, (at) => ({ properties: { a: { const: at } } })) }),
    600,
  ],
  [
    'n ways to each of its parts',
    (n) => {
      const part = { anyOf: branches(n, () => ({ $ref: '#/$defs/part' })) };
      return foldBranches({ type: 'object', $defs: { part }, anyOf: [part] });
    },
    20,
  ],
  [
    'an input of n parts, each of many fields',
    (n) => {
      const properties = Object.fromEntries(
        branches(500, () => ({ type: 'number' })).map((type, at) => [`f${at}`, type]),
      );
      const schema = { type: 'object', properties: { list: { type: 'array', items: { type: 'object', properties } } } };
      return mendInput(schema, { list: branches(n, () => ({ f1: 'x' })) });
    },
    2_000,
  ],
])('a schema of a server with %s is folded, and held to an input, in time in proportion to n', (_, work, n) => {
  expect(measureGrowth(work, n)).toBeLessThan(QUADRATIC);
});

test.each<[string, (n: number) => string]>([
  ['words after a runner', (n) => `sudo ${'cmd1 '.repeat(n / 5)}`],
  ['runners one after the other', (n) => `${'sudo -x bash '.repeat(n / 13)}-c x`],
  ['runners in a pipe', (n) => `echo x ${'| sh '.repeat(n / 5)}`],
  ['options', (n) => `cmd1 ${'-a '.repeat(n / 3)}$x`],
  ['the same options and names', (n) => `cmd1 ${'-a sub '.repeat(n / 7)}`],
  ['commands', (n) => 'cmd1 -x $y; '.repeat(n / 12)],
  ['commands in brackets', (n) => '(cmd1 -x $y) '.repeat(n / 13)],
  ['an open quote', (n) => `$(x) "${'\\"'.repeat(n / 2)}`],
  ['open substitutions', (n) => '$('.repeat(n / 2)],
  ['open braces', (n) => '${'.repeat(n / 2)],
  ['redirections', (n) => `(${'>'.repeat(n / 2)}${' '.repeat(n / 2)}`],
  ['here-documents', (n) => "cat <<'E' ".repeat(n / 10)],
  ['digits', (n) => `(${'1'.repeat(n)}`],
  ['tildes', (n) => `ls ${'~'.repeat(n)}`],
  ['assignments', (n) => `a[${']'.repeat(n)}`],
  ['options that run a program', (n) => `git ${'-c alias.a=b '.repeat(n / 13)}`],
  ['programs with code', (n) => `${'gdb -x python -c '.repeat(n / 17)}'!'`],
  ['verbs', (n) => 'docker run git foreach '.repeat(n / 22)],
  ['variables that name programs', (n) => 'PAGER=a '.repeat(n / 8)],
])('a command of n bytes with %s is judged by 600 rules in time in proportion to n (L55)', (_, command) => {
  for (const kind of ['deny', 'allow']) {
    expect(
      measureGrowth((n) => judge({ [kind]: rules }, command(n)), 25_000),
      kind,
    ).toBeLessThan(QUADRATIC);
  }
});

test('a command that names too many paths, or is too long, is in doubt (L55)', () => {
  const context = { cwd: '/workspace', dir: '/workspace' };
  const risk = (command: string): unknown =>
    typeof bash.risk === 'function' ? bash.risk({ command }, context) : bash.risk;
  expect(risk(`cat ${'a '.repeat(1_000)}`)).toBe('read');
  expect(risk(`cat ${'a '.repeat(3_000)}`)).toBe('execute');
  expect(risk(`cat ${`-${'a'.repeat(255)} `.repeat(100)}`)).toBe('execute');
  expect(risk(`echo ${'a'.repeat(30_000)}`)).toBe('read');
  expect(risk(`echo ${'a'.repeat(40_000)}`)).toBe('execute');
});

test('a glob whose braces make it costly for each name is refused', async () => {
  const context = toolContext(tempFolder());
  const pattern = `${'*a'.repeat(400)}${'{b,c}'.repeat(8)}`;
  await expect(createGlobTool({ sandbox }).call({ pattern }, context)).rejects.toThrow('use a simpler one');
  const files = { pattern: 'x', glob: `x/${pattern}` };
  await expect(createGrepTool({ sandbox }).call(files, context)).rejects.toThrow('use a simpler one');
});

test('other work goes on while a command of blank lines is answered', async () => {
  const cwd = tempFolder();
  const before = process.cpuUsage();
  const { content } = await bash.call({ command: 'yes "" | head -n 200000; echo end' }, toolContext(cwd));
  const { user } = process.cpuUsage(before);
  expect(content.trim()).toBe('end');
  // Of processor time; it was over a minute.
  expect(user / 1e6).toBeLessThan(10);
});

test.each<[string, (n: number) => string, number]>([
  ['stars', (n) => '*'.repeat(n), 20_000],
  ['words in stars', (n) => '**a '.repeat(n / 4), 20_000],
  ['backticks', (n) => '`a ``b '.repeat(n / 7), 20_000],
  ['open links', (n) => '[a]('.repeat(n / 4), 20_000],
  ['quotes in quotes', (n) => `${'> '.repeat(40)}a\n`.repeat(n / 82), 20_000],
  ['lists in lists', (n) => Array.from({ length: n / 40 }, (_, at) => `${' '.repeat(at % 40)}- a`).join('\n'), 20_000],
  ['rows of a table', (n) => `|a|\n|-|\n${'|a|\n'.repeat(n / 4)}`, 20_000],
  ['cells of a row', (n) => `|${'a|'.repeat(n / 2)}\n|-|`, 20_000],
  ['fences', (n) => '```\n'.repeat(n / 4), 20_000],
  ['blank lines in a list', (n) => `- a${'\n'.repeat(n)}b`, 20_000],
  ['code', (n) => `\`\`\`ts\n${'f("\\"'.repeat(n / 5)}\n\`\`\``, 20_000],
])('a reply of n characters of %s is drawn on the page in time in proportion to n', (_, text, n) => {
  expect(measureGrowth((size) => htmlOf(MarkdownText({ text: text(size) })), n)).toBeLessThan(QUADRATIC);
});

test('no regular expression of the product can be made to look at a text again and again', () => {
  const found: string[] = [];
  for (const file of TOPS.flatMap(sourcesIn)) {
    const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest);
    const visit = (node: ts.Node): void => {
      if (ts.isRegularExpressionLiteral(node) && isSlow(node.text)) found.push(`${file}: ${node.text}`);
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  expect(found).toEqual([]);
  expect([/\n+$/, /\s*\n\s*/g, /(a+)+$/].map(String).every(isSlow)).toBe(true);
});

function isSlow(literal: string): boolean {
  const end = literal.lastIndexOf('/');
  return analyse({ source: literal.slice(1, end), flags: literal.slice(end + 1) }).reports.length > 0;
}

function sourcesIn(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true }).map(String);
  return names.filter((name) => /\.tsx?$/.test(name)).map((name) => join(folder, name));
}

const redact = createRedactor({
  ANTHROPIC_API_KEY: 'sk-ant-"0123456789/abcdef',
  ANTHROPIC_AUTH_TOKEN: 'back\\slash/"quoted"',
});

test.each(['\\', '\\u', '%', '%25', '"'])(
  'a text of n times %j is searched for secrets in time in proportion to n',
  (piece) => {
    expect(measureGrowth((n) => redact(piece.repeat(n)), 20_000)).toBeLessThan(QUADRATIC);
  },
);
