// Folders that a run is given besides its workspace: which will do, and what the run keeps and the
// model is told of them.
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openRun } from '../../activities/run/open-run.ts';
import { findPlaces } from '../../system/process/places.ts';
import type { Deps } from '../../activities/deps.ts';
import type { RunOptions } from '../../workflows/contract/session.ts';
import { benchDeps, fakeAttempt } from '../support/bench-deps.ts';
import { tempDir } from '../support/temp-dir.ts';

/** `home/u` is the home folder, `data` Perdure's own, `link` leads to `lib`. */
async function machine() {
  const root = tempDir();
  for (const folder of [
    'ws/sub',
    'lib/deep',
    'data/in',
    'home/u/.config/app',
    'home/u/.cache/perdure/x',
    'home/u/lib',
  ]) {
    mkdirSync(join(root, folder), { recursive: true });
  }
  symlinkSync('lib', join(root, 'link'));
  writeFileSync(join(root, 'file'), '');
  const places = findPlaces({ HOME: join(root, 'home/u') });
  const { deps } = await benchDeps({ script: [] });
  return { root, cwd: join(root, 'ws'), deps: { ...deps, dataDir: join(root, 'data'), places } };
}

async function open(deps: Deps, options: RunOptions, more: { onHost?: true } = {}, number = 1) {
  const attempt = { ...fakeAttempt(), number };
  const result = await openRun(deps)(attempt, { chain: 'c', run: 2, step: 9, options, ...more });
  return { result, config: result.kind === 'opened' ? await deps.config(result.config) : undefined };
}

test.each([
  ['missing', 'missing', /is not there on this worker: make it, or give the folders without it$/],
  ['a file', 'file', /is not a directory: give the folder it lies in/],
  ['a link', 'link', /leads through a link to .*\/lib: if that is meant, give this path/],
  ['below a link', 'link/deep', /leads through a link to .*\/lib\/deep: if/],
  ['above the workspace', '', /holds the workspace .*\/ws: give it as the workspace, or folders beside/],
  ['Perdure’s data', 'data', /lies in Perdure's data folder/],
  ['in Perdure’s data', 'data/in', /lies in Perdure's data folder/],
  ['where programs are configured', 'home/u/.config/app', /lies where what is written runs outside the sandbox later/],
  ['where Perdure runs from', 'home/u/.cache/perdure/x', /lies where Perdure itself runs from: use one outside/],
])('a folder that is %s is refused with a sentence (Q7 L57)', async (_, name, sentence) => {
  const { root, cwd, deps } = await machine();
  const path = join(root, name);
  const { result } = await open(deps, { cwd, additionalDirectories: [join(root, 'lib'), path] });
  expect(result).toMatchObject({ kind: 'refused', detail: expect.stringMatching(sentence) });
  expect(result).toMatchObject({
    detail: expect.stringMatching(`^the additional directory ${path.replace(/\/$/, '')} `),
  });
});

test('a folder above Perdure’s data is refused (Q7 L57)', async () => {
  const { root, deps } = await machine();
  const cwd = tempDir();
  const { result } = await open(deps, { cwd, additionalDirectories: [root] });
  expect(result).toMatchObject({ detail: expect.stringContaining("holds Perdure's data folder") });
});

test('a run keeps the folders it was opened with, once each, and the model is told of them in a line (Q7 L57 L58)', async () => {
  const { root, cwd, deps } = await machine();
  const [lib, sub] = [join(root, 'lib'), join(cwd, 'sub')];
  const { config } = await open(deps, { cwd, additionalDirectories: [lib, `${lib}/`, cwd, sub] });
  expect(config?.folders).toEqual([lib, sub]);
  expect(config?.system).toContain(`\nOther folders you may work in, by absolute path: ${lib}, ${sub}\n`);
  const none = await open(deps, { cwd });
  expect(none.config).not.toHaveProperty('folders');
  expect(none.config?.system).not.toContain('Other folders');
});

test('a caller’s folders, also none, stand in place of the worker’s own (Q7 L57)', async () => {
  const { root, cwd, deps } = await machine();
  const [lib, home] = [join(root, 'lib'), join(root, 'home/u/lib')];
  const worker = { ...deps, defaults: { ...deps.defaults, additionalDirectories: [lib] } };
  expect((await open(worker, { cwd })).config?.folders).toEqual([lib]);
  expect((await open(worker, { cwd, additionalDirectories: [home] })).config?.folders).toEqual([home]);
  expect((await open(worker, { cwd, additionalDirectories: [] })).config).not.toHaveProperty('folders');
});

test('where machines share a store, a run is left to a host that has its folders, and refused once it worked here (Q7 W5)', async () => {
  const { root, cwd, deps } = await machine();
  const lib = join(root, 'lib');
  rmSync(lib, { recursive: true });
  const host = { ...deps, host: { id: 'h1', name: 'one' } };
  const options = { cwd, additionalDirectories: [lib] };
  await expect(open(host, options)).rejects.toThrow(`host one has no folder ${lib}`);
  const sentence = expect.stringContaining(`the additional directory ${lib} is not there on this worker`);
  expect((await open(host, options, { onHost: true })).result).toMatchObject({ kind: 'refused', detail: sentence });
  expect((await open(host, options, {}, 41)).result).toMatchObject({ kind: 'refused', detail: sentence });
});
