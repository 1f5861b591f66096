// Folders of a run besides its workspace, as the built-in tools use them: what is reached there,
// what is not, and what a link does.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createBuiltinTools } from '../../../tools/builtin/builtin-tools.ts';
import { callTool } from '../../../activities/calls/call-tool.ts';
import { prepareCall } from '../../../activities/calls/prepare.ts';
import { findPlaces } from '../../../system/process/places.ts';
import { createRegistry } from '../../../tools/registry.ts';
import { probeSandbox, type Sandbox } from '../../../tools/sandbox.ts';
import type { PermissionMode } from '../../../workflows/contract/session.ts';
import { workingSandboxes } from '../sandboxes.ts';
import { inputFor, tempFolder, toolContext } from '../support.ts';

const sandboxes = await workingSandboxes();
const bwraps = sandboxes.filter(({ kind }) => kind === 'bwrap');
const group = await probeSandbox({ kinds: ['group'], unconfined: true });

/**
 * The workspace `ws` beside the run's folders `lib`, `ws/own` and `more`, and `outside`, which is
 * none.
 */
function machine(sandbox: Sandbox = group, ...more: readonly string[]) {
  const root = tempFolder();
  for (const folder of ['ws/own', 'lib/src', 'lib/.git', 'outside']) mkdirSync(join(root, folder), { recursive: true });
  writeFileSync(join(root, 'lib/src/a.ts'), 'alpha in lib\n');
  writeFileSync(join(root, 'outside/secret'), 'canary\n');
  const [cwd, lib] = [join(root, 'ws'), join(root, 'lib')];
  const run = { cwd, dir: cwd, folders: [lib, join(cwd, 'own'), ...more] };
  const tools = createRegistry(createBuiltinTools({ sandbox, dataDir: join(root, 'data') }));
  const call = async (name: string, input: object): Promise<string> => {
    const tool = tools.get(name);
    if (tool === undefined) throw new Error(`no tool ${name}`);
    const ran = await callTool(tool, inputFor(tool, input), toolContext(cwd, run));
    return ran.kind === 'output' ? ran.output.content : `${ran.kind}: ${ran.kind === 'failed' ? ran.text : ''}`;
  };
  const judged = (name: string, input: object, mode: PermissionMode = 'default'): string => {
    const prepared = prepareCall(tools, { ...run, mode }, { name, input });
    return prepared.kind === 'ready' ? `${prepared.risk} ${prepared.permission.kind}` : prepared.text;
  };
  return { root, cwd, lib, call, judged };
}

test('file tools read, write, edit and search another folder of the run, and name what is there absolutely (Q7)', async () => {
  const { lib, cwd, call } = machine();
  const file = join(lib, 'src/a.ts');
  expect(await call('read', { path: file })).toContain('alpha in lib');
  expect(await call('write', { path: join(lib, 'new/b.ts'), content: 'beta\n' })).toContain(`created ${lib}/new/b.ts`);
  expect(await call('edit', { path: file, old_string: 'alpha', new_string: 'ALPHA' })).toContain(`edited ${file}`);
  expect(readFileSync(file, 'utf8')).toBe('ALPHA in lib\n');
  expect(await call('grep', { path: lib, pattern: 'ALPHA' })).toContain(`${file}:1:ALPHA in lib`);
  expect(await call('grep', { path: lib, pattern: 'lib', glob: 'src/*.ts', output_mode: 'files' })).toContain(file);
  expect(await call('glob', { path: lib, pattern: '**/*.ts' })).toBe(`${lib}/new/b.ts\n${file}\n(2 files)`);
  expect(await call('glob', { path: join(lib, 'src'), pattern: `${lib}/src/*.ts` })).toBe(`${file}\n(1 file)`);
  // In the workspace all is as it was, also in a folder that is named twice.
  expect(await call('write', { path: join(cwd, 'own/c.ts'), content: '' })).toContain('created own/c.ts');
  expect(await call('glob', { pattern: '**/*.ts' })).toBe('own/c.ts\n(1 file)');
});

test.each([
  ['up and out', 'read', '$LIB/../outside/secret'],
  ['through a link', 'read', '$LIB/out/secret'],
  ['through a link to a file', 'read', '$LIB/src/secret'],
  ['through a link, to write', 'write', '$LIB/out/new'],
  ['through a link, to search', 'grep', '$LIB/out'],
  ['through a link in the workspace', 'read', 'out/secret'],
  ['beside it, with its name as a beginning', 'read', '$LIBrary/secret'],
])('another folder of the run is left by no path: %s (Q7)', async (_, name, path) => {
  const { root, lib, cwd, call } = machine();
  symlinkSync(join(root, 'outside'), join(lib, 'out'));
  symlinkSync(join(root, 'outside'), join(cwd, 'out'));
  symlinkSync(join(root, 'outside/secret'), join(lib, 'src/secret'));
  renameSync(join(root, 'outside'), join(root, 'library'));
  symlinkSync('library', join(root, 'outside'));
  const more = { read: {}, write: { content: 'x' } }[name] ?? { pattern: 'canary' };
  const said = await call(name, { path: path.replace('$LIB', lib), ...more });
  expect(said).toMatch(/is outside the workspace .*\/ws and the other folders of this run \(.*\/lib, .*\/ws\/own\)/);
  expect(said).not.toContain('canary\n');
  expect(existsSync(join(root, 'library/new'))).toBe(false);
});

test('a folder of the run that is gone, or a link now, is said to be so, and the others go on (Q7)', async () => {
  const { root, lib, call } = machine();
  for (const become of [() => undefined, () => symlinkSync('outside', lib)]) {
    rmSync(lib, { recursive: true, force: true });
    become();
    const sentence = `the folder ${lib} is gone, or a link is in its place; go on without it`;
    expect(await call('read', { path: join(lib, 'secret') })).toContain(sentence);
    expect(await call('write', { path: join(lib, 'secret'), content: 'x' })).toContain(sentence);
    expect(await call('bash', { command: 'echo on > here; cat here' })).toBe(`on\n(${sentence})`);
    expect(await call('grep', { pattern: 'on' })).toContain('here:1:on');
  }
  expect(readFileSync(join(root, 'outside/secret'), 'utf8')).toBe('canary\n');
});

test('its root is no file to write, and git’s folder in it is a command’s affair (Q7 L55)', async () => {
  const { lib, call, judged } = machine();
  expect(await call('write', { path: lib, content: 'x' })).toContain(`"${lib}" is a folder, not a file`);
  expect(judged('write', { path: join(lib, '.git/config'), content: '' })).toBe('execute ask');
  expect(judged('write', { path: join(lib, 'a'), content: '' })).toBe('write ask');
});

test('a command that only reads there runs unasked, not one that leaves by a link or asks a git it may have written (Q7 L55)', () => {
  const { root, lib, judged } = machine();
  symlinkSync(join(root, 'outside'), join(lib, 'out'));
  expect(judged('bash', { command: `cat ${lib}/src/a.ts` })).toBe('read allow');
  expect(judged('bash', { command: `cat ${lib}/out/secret` })).toBe('read ask');
  expect(judged('bash', { command: `cat ${root}/outside/secret` })).toBe('execute ask');
  writeFileSync(join(lib, '.git/config'), '[diff]\n\texternal = touch owned\n');
  expect(judged('bash', { command: `cd ${lib} && git status` })).toBe('execute ask');
});

test('a program that such a folder brings is not run by a command that only reads (Q7 L55)', async () => {
  const { lib, call } = machine();
  writeFileSync(join(lib, 'ls'), '#!/bin/sh\ntouch ran\n', { mode: 0o755 });
  vi.stubEnv('PATH', `${lib}:${process.env['PATH']}`);
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(await call('bash', { command: 'ls' })).toBe('own');
});

test('what runs outside the sandbox later is guarded in such a folder as in the workspace (Q7 L55)', async () => {
  const plain = machine();
  expect(plain.judged('write', { path: join(plain.lib, '.bashrc'), content: '' }, 'acceptEdits')).toBe('write allow');
  const home = tempFolder();
  const guarded = machine({ ...group, places: findPlaces({ HOME: home }) }, home);
  expect(guarded.judged('write', { path: join(home, '.bashrc'), content: '' }, 'acceptEdits')).toBe('write ask');
  expect(guarded.judged('write', { path: join(home, 'bin/ls'), content: '' }, 'bypass')).toBe('write deny');
  symlinkSync(join(home, '.bashrc'), join(guarded.cwd, 'plain'));
  writeFileSync(join(home, '.bashrc'), 'theirs');
  expect(await guarded.call('write', { path: 'plain', content: 'x' })).toContain('leads through a link to a file');
});

test.each(bwraps)('$kind: a command changes nothing of such a folder that runs outside later (Q7)', async () => {
  const home = tempFolder();
  writeFileSync(join(home, '.bashrc'), 'theirs');
  const held = await probeSandbox({ kinds: ['bwrap'], places: findPlaces({ HOME: home }) });
  const { call } = machine(held, home);
  const tries = `cd ${home}; mkdir -p sub; for f in .bashrc .profile sub/x; do echo 1 > $f && echo $f; done 2>/dev/null; true`;
  mkdirSync(join(home, 'sub'));
  expect(await call('bash', { command: tries })).toBe('sub/x');
  expect(readFileSync(join(home, '.bashrc'), 'utf8')).toBe('theirs');
});

/** In a place that commands cannot write, unlike the temporary folder. */
function farFolder(): string {
  const folder = realpathSync(mkdtempSync('/var/tmp/perdure-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test.each(bwraps)('$kind: a command writes another folder of the run, and nothing beside it (Q7)', async (bwrap) => {
  const [far, beside, gone] = [farFolder(), farFolder(), farFolder()];
  writeFileSync(join(far, 'a.ts'), 'alpha\n');
  const { cwd, call } = machine(bwrap, far, join(far, 'deep'), gone);
  mkdirSync(join(far, 'deep'));
  rmSync(gone, { recursive: true });
  symlinkSync(beside, gone);
  const files = [`${far}/x`, `${far}/deep/y`, `${cwd}/own/z`, `${beside}/x`, `${gone}/x`];
  const tries = `for f in ${files.join(' ')}; do echo 1 > $f && echo $f; done 2>/dev/null; true`;
  const note = `(the folder ${gone} is gone, or a link is in its place; go on without it)`;
  expect(await call('bash', { command: tries })).toBe([...files.slice(0, 3), note].join('\n'));
  // Held as a command that only reads, and not kept from it by the folder that is gone.
  expect(await call('grep', { path: far, pattern: 'alpha' })).toContain(`${far}/a.ts:1:alpha`);
});
