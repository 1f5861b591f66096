// Where the package cannot run, each of its entries says so in one sentence, with what to do, to
// import and to require() alike.
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { reply } from '../../scripted-model/index.ts';
import { cliPlace, modelFor } from '../support/cli.ts';
import { HAS_NODES } from '../support/packed-project.ts';
import { tempDir } from '../support/temp-dir.ts';
import { type Done, projectAt, root, runProgram } from './empty-project.ts';

/** Every entry that has code but the workflows', each on its own. */
const ENTRIES = Object.keys(
  (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { exports: Record<string, unknown> }).exports,
).filter((entry) => !/^\.\/(?:workflow|agent-sdk\/sdk-tools(?:\.js)?|.*\.json)$/.test(entry));

test.runIf(HAS_NODES)(
  'Node 24 runs the command and query(); Node 18 is refused with a sentence by each (Q1)',
  async () => {
    const { folder: cwd, write } = projectAt(inject('npmProject'));
    const { env } = cliPlace(await modelFor([reply('On Node 24.')]));
    const [old, newer] = [18, 24].map((major) => join(cwd, `node_modules/node${major}/bin/node`));
    const asked = `import { query } from 'perdure';
    process.stdout.write(process.version.slice(0, 4) + (await query({ prompt: 'Go.' }).result()).text);`;
    const program = write('ask-24.mjs', asked);
    const ran = await runProgram(newer ?? '', [program], { cwd, env });
    expect(ran).toMatchObject({ status: 0, err: '', out: 'v24.On Node 24.' });
    const command = join(cwd, 'node_modules/perdure/bin/perdure.mjs');
    expect(await runProgram(newer ?? '', [command, '--version'], { cwd, env })).toMatchObject({ status: 0, err: '' });
    const refused = 'cannot run here: it needs Node 20.19 or newer, and this is Node 18.20.8: use a newer Node';
    const line = new RegExp(`^perdure [0-9.]+ ${refused}\\n$`);
    expect(await runProgram(old ?? '', [command, 'list'], { cwd, env })).toMatchObject({
      status: 1,
      out: '',
      err: expect.stringMatching(line) as string,
    });
    const each = `for (const entry of ${JSON.stringify(ENTRIES)})
    await import(entry.replace('.', 'perdure')).then(() => console.log('ran', entry), (error) => console.log(error.message));`;
    const { out } = await runProgram(old ?? '', [write('import-18.mjs', each)], { cwd });
    expect(out.trim().split('\n')).toEqual(ENTRIES.map(() => expect.stringContaining(refused) as string));
    const required = `for (const entry of ${JSON.stringify(ENTRIES)})
    try { require(entry.replace('.', 'perdure')); console.log('ran', entry); } catch (error) { console.log(error.message); }`;
    const { out: said } = await runProgram(old ?? '', [write('require-18.cjs', required)], { cwd });
    expect(said.trim().split('\n')).toEqual(ENTRIES.map(() => expect.stringContaining(refused) as string));
    // As Node 22 is before 22.12, where imports work.
    const flag = ['--no-experimental-require-module'];
    const { out: told } = await runProgram(newer ?? '', [...flag, join(cwd, 'require-18.cjs')], { cwd });
    const instead =
      /is an ES module, which require\(\) of Node 24\.\S+ does not load: use Node 22\.12 or newer, or import/;
    expect(told.trim().split('\n')).toEqual(ENTRIES.map(() => expect.stringMatching(instead) as string));
  },
);

test.runIf(HAS_NODES)(
  'what Node 24 compiles once lies where no command of an agent and no other user writes, or nowhere (L55)',
  async () => {
    const { folder: cwd } = projectAt(inject('npmProject'));
    const node = join(cwd, 'node_modules/node24/bin/node');
    const command = join(cwd, 'node_modules/perdure/bin/perdure.mjs');
    const cache = tempDir();
    const temporary = tempDir();
    const env = { XDG_CACHE_HOME: cache, TMPDIR: temporary, NODE_COMPILE_CACHE: undefined };
    const version = (): Promise<Done> => runProgram(node, [command, '--version'], { cwd, env });
    expect(await version()).toMatchObject({ status: 0, err: '' });
    const compiled = join(cache, 'perdure/compile');
    const kept = readdirSync(compiled, { recursive: true }).length;
    expect(kept).toBeGreaterThan(0);
    expect(statSync(compiled).mode & 0o777).toBe(0o700);
    expect(readdirSync(temporary)).toEqual([]);
    // Open to others, or a link to somewhere else: it is not used.
    rmSync(compiled, { recursive: true });
    mkdirSync(compiled);
    chmodSync(compiled, 0o777);
    expect(await version()).toMatchObject({ status: 0, err: '' });
    rmSync(compiled, { recursive: true });
    symlinkSync(temporary, compiled);
    expect(await version()).toMatchObject({ status: 0, err: '' });
    expect(readdirSync(temporary)).toEqual([]);
  },
);

/**
 * The tarball beside an `@temporalio/client` that calls itself another version; all else is that of
 * the npm project.
 */
async function projectBeside(name: string, version: string): Promise<string> {
  const cwd = join(tempDir(), name);
  const modules = join(cwd, 'node_modules');
  const theirs = join(inject('npmProject'), 'node_modules');
  const client = join(modules, '@temporalio/client');
  mkdirSync(join(modules, 'perdure'), { recursive: true });
  await runProgram('tar', ['xzf', inject('tarball'), '-C', join(modules, 'perdure'), '--strip-components=1'], { cwd });
  cpSync(join(theirs, '@temporalio/client'), client, { recursive: true });
  const manifest = readFileSync(join(client, 'package.json'), 'utf8');
  writeFileSync(join(client, 'package.json'), manifest.replace(/"version": "[^"]+"/, `"version": "${version}"`));
  for (const scope of ['', '@temporalio'])
    for (const each of readdirSync(join(theirs, scope)).filter((one) => !existsSync(join(modules, scope, one))))
      symlinkSync(join(theirs, scope, each), join(modules, scope, each));
  return cwd;
}

test.each([
  ['an older one', '1.22.1'],
  ['one of another major version', '2.0.0'],
])('beside %s of @temporalio/client each entry says what to install, also to require() (Q1)', async (name, version) => {
  const cwd = await projectBeside(name.replaceAll(' ', '-'), version);
  const said = `cannot run here: it needs @temporalio/client ^1.23.0, and ${version} is installed: npm install @temporalio/client@^1.23.0`;
  const each = `(async () => { for (const entry of ${JSON.stringify(ENTRIES)}) {
    const name = entry.replace('.', 'perdure');
    await import(name).then(() => console.log('ran', entry), (error) => console.log(error.message));
    try { require(name); console.log('ran', entry); } catch (error) { console.log(error.message); } } })();`;
  writeFileSync(join(cwd, 'each.cjs'), each);
  const { out } = await runProgram(process.execPath, [join(cwd, 'each.cjs')], { cwd });
  expect(out.trim().split('\n')).toEqual([...ENTRIES, ...ENTRIES].map(() => expect.stringContaining(said) as string));
  const command = join(cwd, 'node_modules/perdure/bin/perdure.mjs');
  expect(await runProgram(process.execPath, [command, 'list'], { cwd })).toMatchObject({
    status: 1,
    err: expect.stringContaining(said) as string,
  });
});
