// An agent looks for what Perdure keeps elsewhere: other data folders of the same user hold keys,
// tokens and transcripts, and whoever has them can steer other sessions.
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { findExtraFolders, findWorkspace } from '../../activities/run/folders.ts';
import { openDataFolder } from '../../connection/data-folder.ts';
import { findPlaces, registerIn } from '../../system/process/places.ts';
import { isDataFolder, listDataFolders } from '../../system/process/data-folders.ts';
import { createBuiltinTools } from '../../tools/builtin/builtin-tools.ts';
import { probeSandbox, type Sandbox } from '../../tools/sandbox.ts';
import { inputFor, tempFolder, toolContext } from '../tools/support.ts';
import { unfiltered, workingSandboxes } from '../tools/sandboxes.ts';

const works = (await workingSandboxes()).some(({ kind }) => kind === 'bwrap');
const SECRET = 'the token of another session';

/** A user with a data folder for each purpose, and a session that uses the first. */
function userWithFolders() {
  const root = tempFolder();
  const home = join(root, 'home');
  const env = { HOME: home };
  const cwd = join(home, 'project');
  mkdirSync(cwd, { recursive: true });
  const open = (path: string): string => {
    openDataFolder({ ...env, PERDURE_DATA: path });
    writeFileSync(join(path, 'page.json'), SECRET);
    return path;
  };
  const own = open(join(root, 'own-data'));
  const usual = open(join(home, '.local/share/perdure'));
  const elsewhere = open(join(root, 'some/where/data'));
  const inWorkspace = open(join(cwd, 'deep/er/data'));
  /** Of another machine's cache, or of an earlier version. */
  const unknown = open(join(cwd, 'unknown'));
  rmSync(join(home, '.cache/perdure/data-folders'), { recursive: true });
  for (const path of [usual, elsewhere, inWorkspace]) open(path);
  /** No register has it, and no folder of the run has it directly. */
  const deepUnknown = join(cwd, 'as/deep');
  mkdirSync(dirname(deepUnknown));
  cpSync(own, deepUnknown, { recursive: true });
  return { root, home, cwd, env, own, others: [usual, elsewhere, inWorkspace, unknown], deepUnknown, open };
}

type Argv = readonly string[];

async function run([program = '', ...args]: Argv): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)(program, args, { cwd: '/' }).catch(
    (error: { stdout: string; stderr: string }) => error,
  );
  return stdout + stderr;
}

const bwrapOf = (env: Readonly<Record<string, string>>): Promise<Sandbox> =>
  probeSandbox({ kinds: ['bwrap'], places: findPlaces(env) });

describe.runIf(works)('in bubblewrap', () => {
  test('a command sees no data folder of its user, wherever it lies, and cannot put another in its place', async () => {
    const { cwd, env, own, others } = userWithFolders();
    const sandbox = await bwrapOf(env);
    const held = (command: string): Promise<string> =>
      run(unfiltered(sandbox.wrap(['/bin/bash', '-c', command], { cwd, dataDir: own })));
    const all = [own, ...others];
    expect(await held(`ls -A ${all.join(' ')}; cat ${all.map((path) => `${path}/page.json`).join(' ')}`)).not.toMatch(
      /token|payload-keys|members/,
    );
    await held(
      `mv ${cwd}/deep ${cwd}/moved; mv ${cwd}/unknown ${cwd}/moved; rm -rf ${cwd}/unknown; echo x > ${cwd}/unknown/data.json`,
    );
    expect(existsSync(join(cwd, 'moved'))).toBe(false);
    for (const path of all) expect([path, readFileSync(join(path, 'page.json'), 'utf8')]).toEqual([path, SECRET]);
    expect(await held(`echo mine > ${cwd}/mine && cat ${cwd}/mine`)).toBe('mine\n');
  });

  test('an MCP server or any other program that is held sees none of them', async () => {
    const { env, own, others } = userWithFolders();
    const sandbox = await bwrapOf(env);
    // Held programs may write anywhere else, and look into no workspace of a session.
    for (const path of [own, ...others.slice(0, 3)])
      expect(await run(unfiltered(sandbox.hold(['/bin/cat', join(path, 'page.json')], own)))).toMatch(/No such file/);
  });

  test('a data folder that was renamed, or copied beside one, is seen by no command and no MCP server', async () => {
    const { root, home, cwd, env, own } = userWithFolders();
    const elsewhere = join(root, 'some/where/data');
    const [renamed, copied, besideOwn] = [`${elsewhere}.old`, join(home, '.local/share/perdure.bak'), `${own}-2`];
    renameSync(elsewhere, renamed);
    cpSync(join(home, '.local/share/perdure'), copied, { recursive: true });
    cpSync(own, besideOwn, { recursive: true });
    const sandbox = await bwrapOf(env);
    for (const path of [renamed, copied, besideOwn]) {
      const argv = ['/bin/cat', join(path, 'page.json')];
      expect(await run(unfiltered(sandbox.wrap(argv, { cwd, dataDir: own })))).toMatch(/No such file/);
      expect(await run(unfiltered(sandbox.hold(argv, own)))).toMatch(/No such file/);
    }
  });

  test('the data folder that a command makes for itself, to try a program with, stays in its view', async () => {
    const { cwd, env, own } = userWithFolders();
    const sandbox = await bwrapOf(env);
    const dist = new URL('../../dist/connection/data-folder.js', import.meta.url).href;
    const code = `import('${dist}').then((all) => all.openDataFolder({ HOME: '${env.HOME}', PERDURE_DATA: '${cwd}/mine' }))`;
    const held = (argv: Argv): Promise<string> => run(unfiltered(sandbox.wrap(argv, { cwd, dataDir: own })));
    expect(await held([process.execPath, '-e', code])).toBe('');
    expect(await held(['/bin/ls', join(cwd, 'mine')])).toMatch(/data\.json/);
    // Once the user has opened it, it is the user's.
    openDataFolder({ ...env, PERDURE_DATA: join(cwd, 'mine') });
    expect(await held(['/bin/ls', join(cwd, 'mine')])).toBe('');
  });
});

test('file tools refuse every data folder in the workspace, and searches leave it out', async () => {
  const { cwd, env, own, others, deepUnknown } = userWithFolders();
  const sandbox = await probeSandbox({ kinds: ['group'], places: findPlaces(env) });
  const tools = createBuiltinTools({ sandbox, dataDir: own });
  const call = async (name: string, input: Readonly<Record<string, unknown>>): Promise<string> => {
    const tool = tools.find((one) => one.name === name);
    if (tool === undefined) throw new Error(`no tool ${name}`);
    return (await tool.call(inputFor(tool, input), toolContext(cwd))).content;
  };
  for (const folder of [...others, deepUnknown].filter((path) => path.startsWith(`${cwd}/`))) {
    const path = join(folder, 'page.json');
    for (const [name, input] of [
      ['read', { path }],
      ['grep', { pattern: 'token', path: folder }],
      ['glob', { pattern: '*', path: folder }],
      ['edit', { path, old_string: 'token', new_string: 'x' }],
      ['write', { path: join(folder, 'new'), content: 'x' }],
    ] as const)
      await expect(call(name, input), `${name} ${folder}`).rejects.toThrow(/part of Perdure's own data/);
  }
  writeFileSync(join(cwd, 'notes.txt'), 'the token of mine');
  for (const mode of ['content', 'files', 'count'])
    expect(await call('grep', { pattern: 'token of', output_mode: mode })).not.toMatch(/page\.json/);
  expect(await call('glob', { pattern: '**/*.json' })).not.toMatch(/page\.json/);
});

test('no run works in a data folder, whichever it is', async () => {
  const { cwd, env, own, others } = userWithFolders();
  for (const folder of [own, ...others]) {
    const inside = join(folder, 'live');
    expect((await findWorkspace(inside, own)).problem).toMatch(/data folder/);
    const extra = await findExtraFolders([inside], { cwd }, { dataDir: own, places: findPlaces(env) });
    expect(extra.problem).toMatch(/data folder/);
  }
  expect((await findWorkspace(cwd, own)).problem).toBeUndefined();
});

test('the register has each folder once, forgets those that are gone, and names the usual one without being asked', () => {
  const { root, home, env, own, open } = userWithFolders();
  const register = registerIn(join(home, '.cache/perdure'));
  const [one, two] = [open(join(root, 'one')), open(join(root, 'two'))];
  open(one);
  const before = readdirSync(register).length;
  renameSync(one, join(root, 'three'));
  open(join(root, 'three'));
  expect(readdirSync(register).length).toBe(before);
  const listed = listDataFolders(findPlaces(env));
  expect(listed).toEqual(expect.arrayContaining([two, join(root, 'three'), join(home, '.local/share/perdure')]));
  expect(listed).not.toContain(one);
  expect(isDataFolder(own)).toBe(true);
});
