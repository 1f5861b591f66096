import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { createGlobTool } from '../../../tools/builtin/glob.ts';
import { createGrepTool } from '../../../tools/builtin/grep.ts';
import { prepareCall } from '../../../activities/calls/prepare.ts';
import { createRegistry } from '../../../tools/registry.ts';
import { callTool } from '../../../activities/calls/call-tool.ts';
import { probeSandbox, type Sandbox } from '../../../tools/sandbox.ts';
import type { ToolContext } from '../../../tools/tool.ts';
import { inputFor, tempFolder, toolContext } from '../support.ts';

const sandbox = await probeSandbox({ kinds: ['group'], unconfined: true });

function workspace(files: Readonly<Record<string, string | Uint8Array>>): string {
  const cwd = join(tempFolder(), 'ws');
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(cwd, path)), { recursive: true });
    writeFileSync(join(cwd, path), content);
  }
  return cwd;
}

async function call(
  kind: 'glob' | 'grep',
  cwd: string,
  input: object,
  more: Partial<ToolContext> = {},
  dataDir?: string,
): Promise<string> {
  const options = dataDir === undefined ? { sandbox } : { sandbox, dataDir };
  const tool = kind === 'glob' ? createGlobTool(options) : createGrepTool(options);
  const ran = await callTool(tool, inputFor(tool, input), toolContext(cwd, more));
  return ran.kind === 'output' ? ran.output.content : `${ran.kind}: ${ran.kind === 'failed' ? ran.text : ran.partial}`;
}

const tree = {
  'b.ts': 'beta one\n',
  'a.ts': 'alpha one\nalpha two\n',
  'src/deep/c.ts': 'Gamma\n',
  'src/d.js': 'delta\n',
  'ignored.ts': 'alpha ignored\n',
  'node_modules/m/index.ts': 'alpha module\n',
  '.git/config.ts': 'alpha git\n',
  '.github/e.ts': 'alpha hidden\n',
  '.gitignore': 'ignored.ts\n',
};

test.each([
  ['**/*.ts', {}, 'a.ts\nb.ts\nsrc/deep/c.ts\n(3 files)'],
  ['*.ts', {}, 'a.ts\nb.ts\n(2 files)'],
  ['*.py', {}, '(no files match)'],
  ['*.js', { path: 'src' }, 'src/d.js\n(1 file)'],
  ['./*.js', { path: './src/' }, 'src/d.js\n(1 file)'],
  ['**/.github/**', {}, '.github/e.ts\n(1 file)'],
  ['.git/*.ts', {}, '.git/config.ts\n(1 file)'],
  ['node_modules/**/*.ts', {}, 'node_modules/m/index.ts\n(1 file)'],
  ['**/index.ts', { path: 'node_modules' }, 'node_modules/m/index.ts\n(1 file)'],
  ['-x', {}, '(no files match)'],
])('glob %j with %j', async (pattern, more, expected) => {
  expect(await call('glob', workspace(tree), { pattern, ...more })).toBe(expected);
});

test('glob takes an absolute pattern below the workspace, and refuses what could match nothing', async () => {
  const cwd = workspace(tree);
  expect(await call('glob', cwd, { pattern: `${cwd}/src/*.js` })).toBe('src/d.js\n(1 file)');
  expect(await call('glob', cwd, { pattern: '/etc/*' })).toContain('matches nothing below');
  expect(await call('glob', cwd, { pattern: '../*' })).toContain('cannot hold ".."');
  expect(await call('glob', cwd, { pattern: '*', path: '..' })).toContain('is outside the workspace');
  expect(await call('glob', cwd, { pattern: '*', path: 'a.ts' })).toContain('is a file: give the folder');
  expect(await call('glob', cwd, { pattern: '*', path: 'nope' })).toContain('it does not exist');
});

test('glob shows the first 1,000 of more, in order', async () => {
  const many = Object.fromEntries(Array.from({ length: 1_205 }, (_, n) => [`f${String(n).padStart(5, '0')}`, '']));
  const lines = (await call('glob', workspace(many), { pattern: '*' })).split('\n');
  expect(lines.at(-1)).toBe('(1205 files, first 1000 shown)');
  expect(lines.slice(0, 1_000)).toEqual(Object.keys(many).slice(0, 1_000));
});

test('neither follows a link out, and a name that would break the line is quoted (L34)', async () => {
  const cwd = workspace({ 'in/x.txt': 'needle\n', '../outside/x.txt': 'needle\n', 'a\nb.txt': 'needle\n' });
  symlinkSync('../outside', join(cwd, 'link'));
  symlinkSync('../outside/x.txt', join(cwd, 'file.txt'));
  expect(await call('glob', cwd, { pattern: '**/x.txt' })).toBe('in/x.txt\n(1 file)');
  expect(await call('glob', cwd, { pattern: 'a*' })).toBe('"a\\nb.txt"\n(1 file)');
  expect(await call('grep', cwd, { pattern: 'needle', output_mode: 'files' })).toBe('"a\\nb.txt"\nin/x.txt\n(2 files)');
  expect(await call('grep', cwd, { pattern: 'needle', path: 'link' })).toContain('is outside the workspace');
});

test.each([
  [{ pattern: 'alpha' }, '.github/e.ts:1:alpha hidden\na.ts:1:alpha one\na.ts:2:alpha two\n(3 matches in 2 files)'],
  [{ pattern: 'alpha', output_mode: 'count' }, '.github/e.ts:1\na.ts:2\n(3 matches in 2 files)'],
  [{ pattern: 'alpha', output_mode: 'files' }, '.github/e.ts\na.ts\n(2 files)'],
  [{ pattern: 'one', glob: 'b*' }, 'b.ts:1:beta one\n(1 match in 1 file)'],
  [{ pattern: 'gamma' }, '(no matches)'],
  [{ pattern: 'gamma', output_mode: 'count' }, '(no matches)'],
  [{ pattern: 'gamma', output_mode: 'files' }, '(no matches)'],
  [{ pattern: 'gamma', ignore_case: true }, 'src/deep/c.ts:1:Gamma\n(1 match in 1 file)'],
  [{ pattern: '', path: 'src', output_mode: 'count' }, 'src/d.js:1\nsrc/deep/c.ts:1\n(2 matches in 2 files)'],
  [{ pattern: 'two', context: 1, path: 'a.ts' }, 'a.ts-1-alpha one\na.ts:2:alpha two\n(1 match in 1 file)'],
  [
    { pattern: 'o', glob: '*.ts', limit: 2 },
    'a.ts:1:alpha one\na.ts:2:alpha two\n(3 matches in 2 files, first 2 shown)',
  ],
  [
    { pattern: '', glob: 'src/**/*.{ts,js}', output_mode: 'count' },
    'src/d.js:1\nsrc/deep/c.ts:1\n(2 matches in 2 files)',
  ],
  [{ pattern: '', glob: 'deep/*', path: 'src', output_mode: 'files' }, 'src/deep/c.ts\n(1 file)'],
  [{ pattern: '', glob: '!*.ts', output_mode: 'files' }, '.gitignore\nsrc/d.js\n(2 files)'],
  [{ pattern: '--files' }, '(no matches)'],
  [{ pattern: '-e' }, '(no matches)'],
  [{ pattern: 'module', path: 'node_modules' }, 'node_modules/m/index.ts:1:alpha module\n(1 match in 1 file)'],
  [{ pattern: 'alpha', glob: '**/*', output_mode: 'count' }, '.github/e.ts:1\na.ts:2\n(3 matches in 2 files)'],
])('grep %j', async (input, expected) => {
  expect(await call('grep', workspace(tree), input)).toBe(expected);
});

test.each([
  [{ pattern: 'a(' }, 'regex parse error'],
  [{ pattern: 'a\nb' }, 'not allowed in a regex'],
  [{ pattern: 'a{1000000000}' }, /regex/],
  [{ pattern: 'a', glob: '[' }, 'error parsing glob'],
  [{ pattern: 'a\0' }, 'holds a NUL'],
  [{ pattern: 'a', path: 'fifo' }, 'neither a folder nor a file'],
  [{ pattern: 'a', path: '../x' }, 'outside the workspace'],
])('grep %j is refused in a sentence', async (input, sentence) => {
  const cwd = workspace(tree);
  execFileSync('mkfifo', [join(cwd, 'fifo')]);
  const said = await call('grep', cwd, input);
  expect(said).toMatch(/^failed: /);
  expect(said).toMatch(sentence);
});

test('grep shows groups with context apart, and ends with a count', async () => {
  const text = 'a\nhit\nb\nc\nd\ne\nhit\nf\n';
  expect(await call('grep', workspace({ f: text }), { pattern: 'hit', context: 1 })).toBe(
    'f-1-a\nf:2:hit\nf-3-b\n--\nf-6-e\nf:7:hit\nf-8-f\n(2 matches in 1 file)',
  );
});

test('grep bounds its answer, and still counts everything', async () => {
  const cwd = workspace({ long: `needle ${'x'.repeat(100_000)}\n`, many: 'needle in a line\n'.repeat(50_000) });
  const said = await call('grep', cwd, { pattern: 'needle', limit: 10_000 });
  expect(said.length).toBeLessThan(50_000);
  expect(said).toMatch(/\(50001 matches in 2 files, first \d+ shown\)$/);
});

test('grep leaves binary files out and shows what is no UTF-8', async () => {
  const cwd = workspace({ binary: Buffer.from('needle\0\x01needle\n'), latin: Buffer.from('needle \xe9\n', 'latin1') });
  expect(await call('grep', cwd, { pattern: 'needle' })).toBe('latin:1:needle \ufffd\n(1 match in 1 file)');
});

test.each(['glob', 'grep'] as const)('%s does not see Perdure its own data in the workspace', async (kind) => {
  const cwd = workspace({ '.perdure/store/x.txt': 'needle\n', 'x.txt': 'needle\n' });
  const pattern = kind === 'glob' ? '{**,.perdure/**}/*.txt' : 'needle';
  expect(await call(kind, cwd, { pattern }, {}, join(cwd, '.perdure'))).not.toContain('perdure');
});

test.each(['glob', 'grep'] as const)('%s ends when the call is stopped', async (kind) => {
  const signal = AbortSignal.abort('interrupt');
  expect(await call(kind, workspace(tree), { pattern: 'a' }, { signal })).toBe('stopped: Stopped while searching.');
});

const bwrap = await probeSandbox({ kinds: ['bwrap'] }).catch(() => null);

test.runIf(bwrap)(
  'a search whose sandbox could not be set up is made once more, for a socket had gone meanwhile',
  async () => {
    const cwd = workspace(tree);
    const held = bwrap as Sandbox;
    let tries = 0;
    const wrap: Sandbox['wrap'] = (argv, confinement) => {
      const [program = '', ...args] = held.wrap(argv, confinement);
      const at = args.indexOf('--chdir');
      return (tries += 1) > 1
        ? [program, ...args]
        : [program, ...args.toSpliced(at, 0, '--ro-bind', '/dev/null', '/gone/a.sock')];
    };
    const tool = createGlobTool({ sandbox: { ...held, wrap } });
    const ran = await callTool(tool, inputFor(tool, { pattern: '*.ts' }), toolContext(cwd));
    expect(ran).toMatchObject({ output: { content: 'a.ts\nb.ts\n(2 files)' } });
    expect(tries).toBe(2);
  },
);

/** As a session's call with these rules runs it. */
async function ruled(kind: 'glob' | 'grep', cwd: string, deny: readonly string[], input: object): Promise<string> {
  const registry = createRegistry([createGlobTool({ sandbox }), createGrepTool({ sandbox })]);
  const ready = prepareCall(registry, { mode: 'default', permissions: { deny }, cwd }, { name: kind, input });
  if (ready.kind !== 'ready' || ready.permission.kind !== 'allow') return JSON.stringify(ready);
  const { mayUse, mayShow } = ready;
  return call(kind, cwd, input, { mayUse, ...(mayShow && { mayShow }) });
}

const secret = {
  'a.txt': 'KEY=a\n',
  '.env': 'KEY=hidden\n',
  'deep/.env': 'KEY=hidden\n',
  'deep/b.txt': 'x\nKEY=b\n',
  'secrets/c.txt': 'KEY=hidden\n',
  'z.txt': 'KEY=z\n',
};
const LEFT_OUT = '\n(without the files that permission rules deny)';

test.each([
  [{ pattern: 'KEY' }, 'a.txt:1:KEY=a\ndeep/b.txt:2:KEY=b\nz.txt:1:KEY=z\n(3 matches in 3 files)'],
  [
    { pattern: 'KEY', context: 1 },
    'a.txt:1:KEY=a\n--\ndeep/b.txt-1-x\ndeep/b.txt:2:KEY=b\n--\nz.txt:1:KEY=z\n(3 matches in 3 files)',
  ],
  [{ pattern: 'hidden' }, '(no matches)'],
  [{ pattern: 'KEY', output_mode: 'files' }, 'a.txt\ndeep/b.txt\nz.txt\n(3 files)'],
  [{ pattern: 'KEY', output_mode: 'count' }, 'a.txt:1\ndeep/b.txt:1\nz.txt:1\n(3 matches in 3 files)'],
  [{ pattern: 'KEY', path: 'deep' }, 'deep/b.txt:2:KEY=b\n(1 match in 1 file)'],
])('grep %j above files that rules deny finds the rest, and tells nothing of these (L55)', async (input, found) => {
  const deny = ['grep(.env)', 'grep(**/.env)', 'grep(secrets/**)', 'glob(z.txt)'];
  expect(await ruled('grep', workspace(secret), deny, input)).toBe(`${found}${LEFT_OUT}`);
});

test('glob leaves out what rules deny, and says nothing of rules that are about no files of its own (L55)', async () => {
  const cwd = workspace(secret);
  const found = await ruled('glob', cwd, ['glob(secrets/**)', `glob(/${cwd}/z.txt)`], { pattern: '**/*.txt' });
  expect(found).toBe(`a.txt\ndeep/b.txt\n(2 files)${LEFT_OUT}`);
  const all = 'a.txt\ndeep/b.txt\nsecrets/c.txt\nz.txt\n(4 files)';
  expect(await ruled('glob', cwd, ['read(.env)', 'bash(rm:*)'], { pattern: '**/*.txt' })).toBe(all);
  expect(await ruled('grep', cwd, ['grep(.env)'], { pattern: 'KEY', path: '.env' })).toContain('"deny"');
});
