// Context modifiers (L38): what a tool may change for the calls after it, and what the working
// directory means to the built-in tools.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createBuiltinTools } from '../../tools/builtin/builtin-tools.ts';
import { prepareCall } from '../../activities/calls/prepare.ts';
import { createRegistry } from '../../tools/registry.ts';
import type { ContextModifier } from '../../tools/tool.ts';
import type { CallEnvironment } from '../../activities/calls/call-context.ts';
import type { CallKey } from '../../workflows/contract/ids.ts';
import { workingSandboxes } from './sandboxes.ts';
import { executeCall, bench, callRun, done, request, simpleTool, tempFolder } from './support.ts';

const sandboxes = await workingSandboxes();

/** `outer/ws` is the workspace, with `sub/deep/`, `file` and a link to outside. */
function place(): { root: string; sub: string; outside: string } {
  const outer = tempFolder();
  const [root, outside] = [join(outer, 'ws'), join(outer, 'outside')];
  for (const folder of [join(root, 'sub/deep'), outside, join(outer, 'ws-sibling')])
    mkdirSync(folder, { recursive: true });
  writeFileSync(join(root, 'file'), 'at the root\n');
  writeFileSync(join(root, 'sub/file'), 'below\n');
  symlinkSync(outside, join(root, 'out'));
  symlinkSync(join(root, 'sub/deep'), join(root, 'in'));
  return { root, sub: join(root, 'sub'), outside };
}

async function modified(modify: unknown, more: Partial<CallEnvironment> = {}) {
  const { root } = place();
  const tool = simpleTool({ call: async () => ({ content: 'done', modify: modify as ContextModifier }) });
  const ran = done(await executeCall(bench([tool], { cwd: root, ...more }), request('simple'), callRun()));
  return { root, outcome: ran.outcome, facts: ran.facts };
}

test('a modifier becomes a fact of the outcome: the folder by its real path, links followed (L38)', async () => {
  const { root, facts } = await modified({ cwd: 'in', allowedTools: ['read', 'grep'] });
  expect(facts).toMatchObject({ modify: { cwd: join(root, 'sub/deep'), allowedTools: ['read', 'grep'] } });
  expect((await modified({ cwd: '.' })).facts.modify).toMatchObject({ cwd: expect.stringMatching(/ws$/) as string });
});

test.each<[string, unknown]>([
  ['a folder outside', { cwd: '..' }],
  ['a sibling with the same prefix', { cwd: '../ws-sibling' }],
  ['a link outside', { cwd: 'out' }],
  ['a file', { cwd: 'file' }],
  ['nothing there', { cwd: 'absent' }],
  ['a NUL', { cwd: 'a\0b' }],
  ['a path that is none', { cwd: 7 }],
  ['a path too long', { cwd: 'x/'.repeat(3_000) }],
  ['101 tools', { allowedTools: Array.from({ length: 101 }, (_, n) => `tool${n}`) }],
  ['a name the API refuses', { allowedTools: ['my tool'] }],
  ['no list', { allowedTools: 'read' }],
])('a modifier with %s makes the outcome an error, and modifies nothing (L38)', async (_, modify) => {
  const { outcome, facts } = await modified(modify);
  expect(outcome).toMatchObject({ isError: true, content: expect.stringMatching(/^done\n\(what it wanted/) as string });
  expect(facts).toMatchObject({ error: true });
});

/** One call of a built-in tool in `dir`. */
async function inDir(
  root: string,
  dir: string,
  name: string,
  input: unknown,
  sandbox = sandboxes.at(-1),
): Promise<string> {
  if (sandbox === undefined) throw new Error('no sandbox');
  const shared = bench(createBuiltinTools({ sandbox }), { cwd: root, dir });
  const { outcome } = done(
    await executeCall(shared, request(name, input), callRun({ key: crypto.randomUUID() as CallKey })),
  );
  return outcome.content;
}

test.each(sandboxes)('$kind: bash begins in the working directory (L38)', async (sandbox) => {
  const { root, sub } = place();
  expect(await inDir(root, sub, 'bash', { command: 'pwd; echo $PWD; touch made; cat file' }, sandbox)).toBe(
    `${sub}\n${sub}\nbelow`,
  );
  expect(await inDir(root, sub, 'bash', { command: 'ls ..' }, sandbox)).toContain('file');
  expect(readFileSync(join(sub, 'made'), 'utf8')).toBe('');
});

test('file tools take relative paths from the working directory, and stay in the workspace (L38)', async () => {
  const { root, sub } = place();
  expect(await inDir(root, sub, 'read', { path: 'file' })).toContain('below');
  expect(await inDir(root, sub, 'read', { path: '../file' })).toContain('at the root');
  expect(await inDir(root, sub, 'read', { path: '../../outside' })).toContain('is outside the workspace');
  await inDir(root, sub, 'write', { path: 'new/one', content: 'x' });
  await inDir(root, sub, 'edit', { path: 'new/one', old_string: 'x', new_string: 'y' });
  expect(readFileSync(join(sub, 'new/one'), 'utf8')).toBe('y');
});

test('searches begin in the working directory, and name what they find so that it can be read (L38)', async () => {
  const { root, sub } = place();
  expect(await inDir(root, sub, 'glob', { pattern: '**' })).toBe('file\n(1 file)');
  expect(await inDir(root, sub, 'glob', { pattern: 'f*', path: '..' })).toBe('../file\n(1 file)');
  expect(await inDir(root, sub, 'grep', { pattern: 'e' })).toBe('file:1:below\n(1 match in 1 file)');
  expect(await inDir(root, sub, 'grep', { pattern: 'root', path: '..', output_mode: 'files' })).toBe(
    '../file\n(1 file)',
  );
});

test('rules are about paths from the workspace, wherever the working directory is (L55)', () => {
  const { root, sub } = place();
  const [sandbox] = sandboxes;
  const registry = createRegistry(createBuiltinTools({ sandbox: sandbox as never }));
  const decided = (name: string, input: unknown): string => {
    const permissions = { allow: ['write(sub/**)'], deny: ['read(sub/secret)'] };
    const prepared = prepareCall(registry, { mode: 'default', cwd: root, dir: sub, permissions }, { name, input });
    return prepared.kind === 'ready' ? prepared.permission.kind : prepared.kind;
  };
  expect(decided('write', { path: 'x', content: '' })).toBe('allow');
  expect(decided('write', { path: '../x', content: '' })).toBe('ask');
  expect(decided('read', { path: 'secret' })).toBe('deny');
  expect(decided('read', { path: 'sub/secret' })).toBe('allow');
  expect(decided('bash', { command: 'cat deep/x' })).toBe('allow');
  expect(decided('bash', { command: 'cat ../../x' })).toBe('ask');
});

test.each<[string, (root: string, sub: string, outside: string) => void]>([
  ['is gone', (_, sub) => rmSync(sub, { recursive: true })],
  ['became a link outside', (_, sub, outside) => (rmSync(sub, { recursive: true }), symlinkSync(outside, sub))],
  ['became a file', (_, sub) => (rmSync(sub, { recursive: true }), writeFileSync(sub, ''))],
])('when the working directory %s, nothing runs and it is the workspace again (L38)', async (_, change) => {
  const { root, sub, outside } = place();
  change(root, sub, outside);
  let ran = false;
  const tool = simpleTool({ call: async () => ((ran = true), { content: '' }) });
  const { outcome, facts } = done(
    await executeCall(bench([tool], { cwd: root, dir: sub }), request('simple'), callRun()),
  );
  expect(outcome).toMatchObject({ isError: true, log: { decision: 'not_run' } });
  expect(facts.modify).toEqual({ cwd: root });
  expect(ran).toBe(false);
});

test('write in the .git folder that is the working directory is as much as running a command (L55)', () => {
  const { root } = place();
  execFileSync('git', ['init', '-q', root]);
  const registry = createRegistry(createBuiltinTools({ sandbox: sandboxes[0] as never }));
  const settings = { mode: 'acceptEdits', cwd: root, dir: join(root, '.git') } as const;
  expect(prepareCall(registry, settings, { name: 'write', input: { path: 'config', content: '' } })).toMatchObject({
    risk: 'execute',
    permission: { kind: 'ask' },
  });
});
