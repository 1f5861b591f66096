// Searches in folders as people keep them: below ignore files that are not theirs, with names that
// look like patterns, asked for as people ask.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createGlobTool } from '../../../../tools/builtin/glob.ts';
import { createGrepTool } from '../../../../tools/builtin/grep.ts';
import { callTool } from '../../../../activities/calls/call-tool.ts';
import { probeSandbox } from '../../../../tools/sandbox.ts';
import { inputFor, tempFolder, toolContext } from '../../support.ts';

const sandbox = await probeSandbox({ kinds: ['group'] });
const tools = { glob: createGlobTool({ sandbox }), grep: createGrepTool({ sandbox }) };

function filesIn(folder: string, names: readonly string[]): void {
  for (const name of names) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), 'needle\n');
  }
}

async function search(kind: keyof typeof tools, cwd: string, input: object): Promise<readonly string[]> {
  const tool = tools[kind];
  const ran = await callTool(tool, inputFor(tool, input), toolContext(cwd));
  if (ran.kind !== 'output') throw new Error(JSON.stringify(ran));
  return ran.output.content.split('\n').slice(0, -1);
}

describe('an ignore file above the workspace', () => {
  const found = async (cwd: string): Promise<unknown> => [
    await search('glob', cwd, { pattern: '**/*.ts' }),
    await search('grep', cwd, { pattern: 'needle', output_mode: 'files' }),
    await search('grep', cwd, { pattern: 'needle', path: 'src', output_mode: 'files' }),
    await search('glob', cwd, { pattern: '*.ts', path: 'src' }),
  ];
  const one = [['src/a.ts'], ['src/a.ts'], ['src/a.ts'], ['src/a.ts']];

  function home(): { readonly above: string; readonly cwd: string } {
    const above = tempFolder();
    const cwd = join(above, 'ws');
    for (const folder of [cwd, join(cwd, 'web')]) filesIn(folder, ['src/a.ts', 'src/gen/b.ts', 'dist/c.ts']);
    writeFileSync(join(cwd, '.gitignore'), 'dist\ngen\n/web\n');
    for (const name of ['.gitignore', '.ignore']) writeFileSync(join(above, name), '*\n');
    return { above, cwd };
  }

  test('hides nothing of a plain folder, whose own files count', async () => {
    const { cwd } = home();
    expect(await found(cwd)).toEqual(one);
  });

  test('hides nothing of a repository below it, where those up to its root count', async () => {
    const { above, cwd } = home();
    execFileSync('git', ['init', '-q', cwd]);
    execFileSync('rm', [join(above, '.ignore')]);
    expect(await found(cwd)).toEqual(one);
    writeFileSync(join(cwd, '.gitignore'), 'dist\ngen\n');
    expect(await found(join(cwd, 'web'))).toEqual(one);
  });

  test('is needed for none of this', async () => {
    const { above, cwd } = home();
    execFileSync('rm', [join(above, '.ignore'), join(above, '.gitignore')]);
    expect(await found(cwd)).toEqual(one);
  });
});

describe('a pattern', () => {
  const names = [
    '2026/07/26.md',
    'app/[slug]/page.tsx',
    'app/[...rest]/page.tsx',
    'app/(auth)/page.tsx',
    'app/s/page.tsx',
    'pages/[slug].tsx',
    '{a,b}.md',
  ];

  test.each([
    ['2026/07', ['2026/07/26.md']],
    ['2026/07/', ['2026/07/26.md']],
    ['2026//07/*.md', ['2026/07/26.md']],
    ['2026/./07/*.md', ['2026/07/26.md']],
    ['./2026/**', ['2026/07/26.md']],
    ['/WS/2026/07/*.md', ['2026/07/26.md']],
    ['app/[slug]/**', ['app/[slug]/page.tsx', 'app/s/page.tsx']],
    ['app/[...rest]/page.tsx', ['app/[...rest]/page.tsx', 'app/s/page.tsx']],
    ['app/(auth)/**', ['app/(auth)/page.tsx']],
    ['{a,b}.md', ['{a,b}.md']],
  ])('%s means the same to glob and grep', async (pattern, expected) => {
    const cwd = tempFolder();
    filesIn(cwd, names);
    const asked = pattern.replace('/WS', cwd);
    expect(await search('glob', cwd, { pattern: asked })).toEqual(expected);
    expect(await search('grep', cwd, { pattern: 'needle', glob: asked, output_mode: 'files' })).toEqual(expected);
  });

  test('for names alone finds one that looks like a set', async () => {
    const cwd = tempFolder();
    filesIn(cwd, names);
    expect(await search('grep', cwd, { pattern: 'needle', glob: '[slug].tsx', output_mode: 'files' })).toEqual([
      'pages/[slug].tsx',
    ]);
  });

  test('in composed characters finds a decomposed name', async () => {
    const cwd = tempFolder();
    filesIn(cwd, ['re\u0301sume\u0301.txt']);
    expect(await search('glob', cwd, { pattern: 'r\u00e9sum*.txt' })).toEqual(['re\u0301sume\u0301.txt']);
  });
});

test('a name that is no UTF-8 is listed with its bytes', async () => {
  const cwd = tempFolder();
  writeFileSync(Buffer.concat([Buffer.from(`${cwd}/caf`), Buffer.from([0xe9]), Buffer.from('.txt')]), 'needle\n');
  expect(await search('glob', cwd, { pattern: '*.txt' })).toEqual(['caf\\xe9.txt']);
  expect(await search('grep', cwd, { pattern: 'needle' })).toEqual(['caf\\xe9.txt:1:needle']);
});

test('the end of a line is found by grep in files of LF, of CRLF, and of both', async () => {
  const cwd = tempFolder();
  const texts = { 'crlf.txt': 'one\r\ntwo\r\n', 'lf.txt': 'one\ntwo\n', 'mixed.txt': 'two\none\r\ntwo one\n' };
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(cwd, name), text);
  writeFileSync(join(cwd, 'utf16.txt'), Buffer.from('\ufeffone\r\ntwo\r\n', 'utf16le'));
  expect(await search('grep', cwd, { pattern: 'one$' })).toEqual([
    'crlf.txt:1:one',
    'lf.txt:1:one',
    'mixed.txt:2:one',
    'mixed.txt:3:two one',
    'utf16.txt:1:one',
  ]);
  expect(await search('grep', cwd, { pattern: '^one$', output_mode: 'count' })).toEqual([
    'crlf.txt:1',
    'lf.txt:1',
    'mixed.txt:1',
    'utf16.txt:1',
  ]);
  for (const pattern of ['\\r', '\\r$', '[\\r]', '\\x0D', '\r'])
    expect([pattern, (await search('grep', cwd, { pattern, output_mode: 'files' })).toSorted()]).toEqual([
      pattern,
      ['crlf.txt', 'mixed.txt', 'utf16.txt'],
    ]);
});
