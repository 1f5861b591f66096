// The tarball on machines that have nothing but Node: its program, npm and a shell are all that is on
// PATH, and home is empty. What npm has downloaded before is taken from its cache; what npx installs
// for the first of them, the others find.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, inject, test } from 'vitest';
import { reply } from '../../scripted-model/index.ts';
import { cliPlace, modelFor } from '../support/cli.ts';
import { HAS_NODES, NODE_VERSIONS } from '../support/packed-project.ts';
import { tempDir } from '../support/temp-dir.ts';
import { projectAt, root, runProgram } from './empty-project.ts';

const tarball = inject('tarball');
const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  exports: Record<string, unknown>;
};
/** Entries that a program outside a workflow imports, and the files that they publish. */
const ENTRIES = Object.keys(exports).filter((entry) => !/^\.\/(?:workflow$|.*\.json$)/.test(entry));
/** Those of types alone, and their alias, are ES modules without a door for require(). */
const REQUIRED = ENTRIES.filter((entry) => !entry.startsWith('./agent-sdk/sdk-tools'));

const nodeOf = (major: string): string => join(inject('npmProject'), `node_modules/node${major}/bin/node`);

/** What npm says of its own places, which an empty home would lose. */
async function npmPlaces() {
  const { out } = await runProgram('npm', ['config', 'get', 'cache', 'userconfig', 'prefix'], { cwd: root });
  const value = (name: string): string => new RegExp(`^${name}=(.*)$`, 'm').exec(out)?.[1] ?? '';
  return { cache: value('cache'), userconfig: value('userconfig') };
}

const cache = mkdtempSync(join(tmpdir(), 'perdure-npx-'));
afterAll(() => rmSync(cache, { recursive: true, force: true, maxRetries: 3 }));

/** A PATH and a home with nothing else in them. */
async function bareMachine(major: string) {
  const folder = tempDir();
  const [bin, home] = ['bin', 'home'].map((name) => join(folder, name)) as [string, string];
  for (const each of [bin, home]) mkdirSync(each);
  const places = await npmPlaces();
  const [known, downloads] = [join(places.cache, '_cacache'), join(cache, '_cacache')];
  if (existsSync(known) && !existsSync(downloads)) symlinkSync(known, downloads);
  symlinkSync(nodeOf(major), join(bin, 'node'));
  symlinkSync('/bin/sh', join(bin, 'sh'));
  const { out: npmRoot } = await runProgram('npm', ['root', '-g'], { cwd: root });
  for (const name of ['npm', 'npx'])
    writeFileSync(join(bin, name), `#!/bin/sh\nexec node "${join(npmRoot.trim(), `npm/bin/${name}-cli.js`)}" "$@"\n`, {
      mode: 0o755,
    });
  const settings = {
    npm_config_cache: cache,
    npm_config_userconfig: places.userconfig,
    npm_config_prefer_offline: 'true',
  };
  return { bin, env: { PATH: bin, HOME: home, ...settings, NODE_COMPILE_CACHE: undefined } };
}

test.runIf(HAS_NODES).each(Object.entries(NODE_VERSIONS))(
  'on Node %s alone, `npx perdure` from the tarball says its version, checks the machine and runs a task (Q1)',
  async (major, version) => {
    const { bin, env: bare } = await bareMachine(major);
    const { env, cwd } = cliPlace(await modelFor([reply('On bare Node.')]));
    const { version: own } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    // Of a machine without bubblewrap doctor ends with 1.
    const commands = 'perdure --version && (perdure doctor || true) && perdure run Go.';
    const ran = await runProgram(join(bin, 'npx'), ['--yes', '--package', tarball, '-c', commands], {
      cwd,
      env: { ...env, ...bare },
    });
    expect(ran).toMatchObject({ status: 0, out: expect.stringContaining('On bare Node.') as string });
    const [first, ...lines] = ran.out.split('\n');
    expect(first).toBe(own);
    expect(ran.out).toMatch(new RegExp(`^ok +node +${version.replaceAll('.', '\\.')}$`, 'm'));
    expect(ran.out).toMatch(/^ok +ripgrep /m);
    expect(ran.out).toMatch(/^ok +build /m);
    expect(lines.filter((line) => /^missing (?! *sandbox )/.test(line))).toEqual([]);
  },
);

test.runIf(HAS_NODES).each(Object.entries(NODE_VERSIONS))(
  'Node %s imports and requires each entry (Q1)',
  async (major) => {
    const { folder: cwd, write } = projectAt(inject('npmProject'));
    const program = write(
      `each-${major}.cjs`,
      `(async () => {
        for (const entry of ${JSON.stringify(ENTRIES)}) console.log('import', entry, typeof (await import(entry.replace('.', 'perdure'))));
        for (const entry of ${JSON.stringify(REQUIRED)}) console.log('require', entry, typeof require(entry.replace('.', 'perdure')));
        for (const file of ['events.v1.schema.json', 'openapi.v1.json', 'package.json']) console.log(file, typeof require('perdure/' + file));
        process.exit(0);
      })();`,
    );
    const ran = await runProgram(nodeOf(major), [program], { cwd, env: { PATH: dirname(nodeOf(major)) } });
    expect(ran).toMatchObject({ status: 0, err: '' });
    expect(ran.out.trim().split('\n')).toEqual([
      ...ENTRIES.map((entry) => `import ${entry} object`),
      ...REQUIRED.map((entry) => `require ${entry} object`),
      ...['events.v1.schema.json', 'openapi.v1.json', 'package.json'].map((file) => `${file} object`),
    ]);
  },
);
