// Files and folders that another process swaps for links, again and again, while the file tools use
// them.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
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
import { expect, onTestFinished, test } from 'vitest';
import { createBuiltinTools } from '../../tools/builtin/builtin-tools.ts';
import { probeSandbox } from '../../tools/sandbox.ts';
import type { PermissionRules } from '../../workflows/contract/session.ts';
import { executeCall, bench, callRun, request, tempFolder } from '../tools/support.ts';

const tools = createBuiltinTools({ sandbox: await probeSandbox({ kinds: ['group'] }) });

/**
 * In another process: each path of `pairs` is now the one, now the other, for ever, or until it is
 * killed.
 */
const SWAP = `
  const { renameSync, symlinkSync, rmSync } = require('node:fs');
  const [kind, at, other] = process.argv.slice(1);
  const wait = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  const tries = (deed) => { try { deed(); } catch {} };
  console.log('swapping');
  for (let n = 0; ; n++) {
    if (kind === 'link') {
      const next = at + '.next';
      tries(() => symlinkSync(n % 2 === 0 ? other : 'plain', next));
      tries(() => renameSync(next, at));
    } else {
      tries(() => renameSync(at, at + '.kept'));
      tries(() => symlinkSync(other, at));
      wait(n % 4);
      tries(() => rmSync(at));
      tries(() => renameSync(at + '.kept', at));
      wait((n % 5) * 15);
    }
  }`;

async function swapping(kind: 'link' | 'folder', at: string, other: string): Promise<void> {
  const child = spawn(process.execPath, ['-e', SWAP, kind, at, other], { stdio: ['ignore', 'pipe', 'ignore'] });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  await once(child.stdout, 'data');
}

/** `sub` leads to `plain`, or is a folder; `secrets` and `outside` hold the same names. */
function place(kind: 'link' | 'folder'): { readonly cwd: string; readonly outside: string } {
  const outer = tempFolder();
  const [cwd, outside] = [join(outer, 'ws'), join(outer, 'outside')];
  for (const folder of [join(cwd, 'plain'), join(cwd, 'secrets'), outside]) {
    mkdirSync(folder, { recursive: true });
    const text = folder.endsWith('plain') ? 'plain' : 'canary';
    for (const name of ['file', 'other']) writeFileSync(join(folder, name), `${text}\n`);
  }
  if (kind === 'link') symlinkSync('plain', join(cwd, 'sub'));
  else {
    mkdirSync(join(cwd, 'sub'));
    for (const name of ['file', 'other']) writeFileSync(join(cwd, 'sub', name), 'plain\n');
  }
  return { cwd, outside };
}

function contents(folder: string): readonly string[] {
  return readdirSync(folder).map((name) => `${name}: ${readFileSync(join(folder, name), 'utf8')}`);
}

const untouched = ['file: canary\n', 'other: canary\n'];

test.each([
  ['a link that leads outside at times', 'link', 'outside'],
  ['a link that leads to what is denied at times', 'link', 'secrets'],
  ['a folder that is a link outside at times', 'folder', 'outside'],
  ['a folder that is a link to what is denied at times', 'folder', 'secrets'],
] as const)('through %s, nothing is read or written that the rules or the workspace keep away', async (_, kind, to) => {
  const { cwd, outside } = place(kind);
  const secrets = ['read', 'write', 'edit'].map((tool) => `${tool}(secrets/**)`);
  const permissions: PermissionRules = { deny: secrets, allow: ['write(plain/**)', 'write(sub/**)', 'edit'] };
  const worker = bench(tools, { cwd, mode: 'default', permissions });
  const came = new Map<string, number>();
  let n = 0;
  const call = async (name: string, input: object): Promise<void> => {
    const run = callRun({ key: `chain.${'0'.repeat(64)}.${n++}` as never });
    const executed = await executeCall(worker, request(name, input), run);
    const outcome = executed.kind === 'done' ? executed.outcome : { content: executed.kind, isError: true };
    expect(outcome.content).not.toContain('canary');
    const what = `${name} ${outcome.isError ? 'refused' : 'done'}`;
    came.set(what, (came.get(what) ?? 0) + 1);
  };
  await swapping(kind, join(cwd, 'sub'), to === 'outside' ? outside : 'secrets');
  // Until neither is by chance.
  const wanted = ['read done', 'read refused', 'write done', 'write refused'];
  for (let round = 0; round < 100 || !wanted.every((what) => came.has(what)); round++) {
    await call('read', { path: 'sub/file' });
    await call('write', { path: `sub/new${round % 7}/deep`, content: 'mine' });
    await call('write', { path: 'sub/other', content: 'plain' });
    await call('edit', { path: 'sub/other', old_string: 'plain', new_string: 'plain ' });
  }
  expect(contents(outside)).toEqual(untouched);
  expect(contents(join(cwd, 'secrets'))).toEqual(untouched);
});

test('another folder of the run that is a link outside at times has nothing read or written there (Q7 L55)', async () => {
  const { cwd, outside } = place('folder');
  const lib = join(cwd, '../lib');
  mkdirSync(lib);
  for (const name of ['file', 'other']) writeFileSync(join(lib, name), 'plain\n');
  const worker = bench(tools, { cwd, folders: [lib], mode: 'bypass' });
  const came = new Set<string>();
  let n = 0;
  const call = async (name: string, input: object): Promise<void> => {
    const executed = await executeCall(
      worker,
      request(name, input),
      callRun({ key: `chain.${'0'.repeat(64)}.${n++}` as never }),
    );
    if (executed.kind !== 'done') throw new Error(executed.kind);
    expect(executed.outcome.content).not.toContain('canary');
    came.add(`${name} ${executed.outcome.isError ? 'refused' : 'done'}`);
  };
  await swapping('folder', lib, outside);
  const wanted = ['read done', 'read refused', 'write done', 'write refused'];
  for (let round = 0; round < 100 || !wanted.every((what) => came.has(what)); round++) {
    await call('read', { path: join(lib, 'file') });
    await call('write', { path: join(lib, `new${round % 7}/deep`), content: 'mine' });
    await call('write', { path: join(lib, 'other'), content: 'plain' });
  }
  expect(contents(outside)).toEqual(untouched);
});

/**
 * In another process: what a file tool puts beside a file is a link to `other`, or a pipe, as soon
 * as it is seen.
 */
const PLANT = `
  const { readdirSync, renameSync, symlinkSync } = require('node:fs');
  const { execFileSync } = require('node:child_process');
  const { join } = require('node:path');
  const [kind, folder, other] = process.argv.slice(1);
  const tries = (deed) => { try { deed(); } catch {} };
  console.log('watching');
  for (const done = new Set(); ;) {
    for (const name of readdirSync(folder)) {
      if (!/^\\.perdure-.*\\.tmp$/.test(name) || done.has(name)) continue;
      done.add(name);
      tries(() => {
        renameSync(join(folder, name), join(folder, 'taken'));
        if (kind === 'a link') symlinkSync(other, join(folder, name));
        else execFileSync('mkfifo', [join(folder, name)]);
      });
    }
  }`;

async function planting(kind: string, folder: string, other: string): Promise<void> {
  const child = spawn(process.execPath, ['-e', PLANT, kind, folder, other], { stdio: ['ignore', 'pipe', 'ignore'] });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  await once(child.stdout, 'data');
}

test.each(['a link', 'a pipe'])(
  '%s in place of what is put beside a file gives nothing outside its mode',
  async (kind) => {
    const { cwd, outside } = place('folder');
    const [folder, secret] = [join(cwd, 'plain'), join(outside, 'file')];
    chmodSync(secret, 0o600);
    const worker = bench(tools, { cwd, mode: 'bypass' });
    await planting(kind, folder, secret);
    let taken = 0;
    for (let n = 0; taken < 20; n++) {
      rmSync(join(folder, 'file'), { force: true });
      writeFileSync(join(folder, 'file'), 'plain\n');
      chmodSync(join(folder, 'file'), 0o4777);
      const run = callRun({ key: `chain.${'0'.repeat(64)}.${n}` as never });
      await executeCall(worker, request('edit', { path: 'plain/file', old_string: 'plain', new_string: 'new' }), run);
      if (existsSync(join(folder, 'taken'))) taken++;
      rmSync(join(folder, 'taken'), { force: true });
      expect((statSync(secret).mode & 0o7777).toString(8)).toBe('600');
    }
    expect(contents(outside)).toEqual(untouched);
  },
);
