// What `npm test` says at its end, and which files it runs, tried on a small project of its own.
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { heart, optionalPrograms, wholeTiers } from './heart.mjs';
import { tempDir } from './support/temp-dir.ts';

const root = resolve(import.meta.dirname, '..');

type Ended = {
  readonly status: number;
  readonly out: string;
  readonly closing: readonly string[];
  readonly runs: readonly string[];
};

/**
 * `files`: sources of tests by path. Each can note that it ran with `ran(name)`, which returns how
 * often it has.
 */
async function run(part: string, files: Readonly<Record<string, string>>, path = process.env.PATH): Promise<Ended> {
  const project = tempDir();
  symlinkSync(join(root, 'node_modules'), join(project, 'node_modules'));
  const tiers = ['fast', 'server'].map((name) => ({ test: { name, include: [`test/${name}/*.test.mjs`] } }));
  writeFileSync(join(project, 'vitest.config.mjs'), `export default { test: { projects: ${JSON.stringify(tiers)} } };`);
  const helper = [
    `import { appendFileSync, readFileSync } from 'node:fs';`,
    `export { expect, test } from 'vitest';`,
    `export const ran = (name) => {`,
    `  appendFileSync(${JSON.stringify(join(project, 'runs'))}, name + '\\n');`,
    `  return readFileSync(${JSON.stringify(join(project, 'runs'))}, 'utf8').split('\\n').filter((each) => each === name).length;`,
    `};`,
  ];
  writeFileSync(join(project, 'helper.mjs'), helper.join('\n'));
  for (const [file, source] of Object.entries(files)) {
    mkdirSync(dirname(join(project, file)), { recursive: true });
    writeFileSync(join(project, file), `import { expect, ran, test } from '../../helper.mjs';\n${source}\n`);
  }
  const env = { PATH: path, HOME: process.env.HOME };
  return new Promise((done) => {
    execFile(process.execPath, [join(root, 'test/run.mjs'), part, project], { cwd: project, env }, (error, out) => {
      const notes = join(project, 'runs');
      done({
        status: Number(error?.code ?? 0),
        out,
        closing: out.trimEnd().split('\n').slice(-3),
        runs: existsSync(notes) ? readFileSync(notes, 'utf8').trimEnd().split('\n') : [],
      });
    });
  });
}

test('a file that fails and then passes alone is named as unsteady, and the run has passed', async () => {
  const ended = await run('all', {
    'test/fast/shaky.test.mjs': `test('a', () => expect(ran('shaky')).toBe(2));`,
    'test/fast/sound.test.mjs': `test('b', () => void ran('sound'));`,
  });
  expect(ended.closing.slice(-2)).toEqual([
    'unsteady: fast test/fast/shaky.test.mjs failed, and passed when it ran once more, alone',
    '2 passed, 0 failed',
  ]);
  expect(ended.status).toBe(0);
  expect(ended.runs.toSorted()).toEqual(['shaky', 'shaky', 'sound']);
  expect(ended.runs.at(-1)).toBe('shaky');
});

test('a file that fails twice is a failure, and so is one that does not load', async () => {
  const ended = await run('all', {
    'test/fast/broken.test.mjs': `test('a', () => expect(ran('broken')).toBe(0)); test('b', () => {});`,
    'test/fast/unreadable.test.mjs': `ran('unreadable'); throw new Error('no');`,
  });
  expect(ended.closing.at(-1)).toBe('1 passed, 2 failed');
  expect(ended.status).toBe(1);
  expect(ended.runs.toSorted()).toEqual(['broken', 'broken', 'unreadable', 'unreadable']);
});

test('an error outside of any test fails its file', async () => {
  const ended = await run('all', {
    'test/fast/stray.test.mjs': `test('a', async () => { void Promise.reject(new Error('nobody waits')); await new Promise((r) => setTimeout(r, 50)); });`,
  });
  expect(ended.closing.at(-1)).toBe('1 passed, 1 failed');
  expect(ended.status).toBe(1);
});

test('the heart leaves other files of a tier to test:rest, and says how many and how to run them', async () => {
  const files = {
    'test/fast/a.test.mjs': `test('a', () => void ran('fast'));`,
    'test/server/other.test.mjs': `test('b', () => void ran('other'));`,
    'test/server/scenarios.test.mjs': `test('c', () => void ran('scenarios'));`,
  };
  const first = await run('heart', files);
  expect(first.runs).toEqual(['fast']);
  expect(first.closing.slice(-2)).toEqual([
    'left out: 2 files that take longer (server 2); to run them: npm run test:rest',
    '1 passed, 0 failed',
  ]);
  expect((await run('rest', files)).runs.toSorted()).toEqual(['other', 'scenarios']);
});

test('a word that is no part is refused with what there is', async () => {
  expect(await run('everything', {})).toMatchObject({ status: 2, runs: [] });
});

test('each file of the heart is there, in the tier that it is listed under', () => {
  const config = readFileSync(join(root, 'vitest.config.ts'), 'utf8');
  for (const [tier, files] of Object.entries(heart)) {
    expect(config).toContain(`name: '${tier}'`);
    for (const file of files) expect(existsSync(join(root, file)), file).toBe(true);
    expect(files.every((file) => file.startsWith(`test/${tier}/`))).toBe(true);
  }
  for (const tier of wholeTiers) expect(config).toContain(`name: '${tier}'`);
});

test('files that use a program are left out where it is not installed, and a line says so', async () => {
  const bin = tempDir();
  symlinkSync(process.execPath, join(bin, 'node'));
  const ended = await run('heart', { 'test/fast/a.test.mjs': `test('a', () => void ran('fast'));` }, bin);
  expect(ended.out).toContain('left out: the live channel on a Redis, for no redis-server is installed\n');
  expect(ended.closing.at(-1)).toBe('1 passed, 0 failed');
  const users = execFileSync('git', ['grep', '-l', 'redisServer(', '--', 'test/**/*.process.test.ts'], {
    cwd: root,
    encoding: 'utf8',
  });
  const usesRedis = (file: string): boolean => optionalPrograms.some(({ isUsedBy }) => isUsedBy('process', file));
  expect(
    users
      .trim()
      .split('\n')
      .filter((file) => !usesRedis(file)),
  ).toEqual([]);
});
