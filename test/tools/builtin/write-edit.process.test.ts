import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createEditTool } from '../../../tools/builtin/edit.ts';
import { createWriteTool } from '../../../tools/builtin/write.ts';
import { prepareCall } from '../../../activities/calls/prepare.ts';
import { createRegistry } from '../../../tools/registry.ts';
import { callTool } from '../../../activities/calls/call-tool.ts';
import { probeSandbox } from '../../../tools/sandbox.ts';
import type { ToolContext } from '../../../tools/tool.ts';
import { inputFor, tempFolder, toolContext } from '../support.ts';

const sandbox = await probeSandbox({ kinds: ['group'] });
const tools = { write: createWriteTool({ sandbox }), edit: createEditTool({ sandbox }) };

async function call(name: keyof typeof tools, input: object, context: ToolContext): Promise<string> {
  const ran = await callTool(tools[name], inputFor(tools[name], input), context);
  return ran.kind === 'output' ? ran.output.content : `${ran.kind}: ${ran.kind === 'failed' ? ran.text : ran.partial}`;
}

const write = (cwd: string, path: string, content: string): Promise<string> =>
  call('write', { path, content }, toolContext(cwd));

function edit(cwd: string, path: string, before: string, after: string, all?: boolean): Promise<string> {
  const replace = all === undefined ? {} : { replace_all: all };
  return call('edit', { path, old_string: before, new_string: after, ...replace }, toolContext(cwd));
}

test('write creates a file and the folders above it, then updates it', async () => {
  const cwd = tempFolder();
  expect(await write(cwd, 'a/b/new.txt', 'one\ntwo\n')).toBe('created a/b/new.txt (2 lines, 8 bytes)');
  expect(await write(cwd, 'a/b/new.txt', 'é')).toBe('updated a/b/new.txt (1 line, 2 bytes)');
  expect(readFileSync(join(cwd, 'a/b/new.txt'), 'utf8')).toBe('é');
  expect(readdirSync(join(cwd, 'a/b'))).toEqual(['new.txt']);
});

test('a file keeps its mode, and a new one gets the usual one', async () => {
  const cwd = tempFolder();
  writeFileSync(join(cwd, 'script'), '');
  chmodSync(join(cwd, 'script'), 0o750);
  await write(cwd, 'script', '#!/bin/sh');
  await write(cwd, 'new', '');
  const mode = (name: string): number => statSync(join(cwd, name)).mode & 0o777;
  expect([mode('script'), mode('new')]).toEqual([0o750, 0o666 & ~process.umask()]);
});

test('a link inside the workspace is written through and stays a link; a hard link from outside keeps its content', async () => {
  const outer = tempFolder();
  const cwd = join(outer, 'ws');
  mkdirSync(cwd);
  writeFileSync(join(cwd, 'target'), 'old');
  symlinkSync('target', join(cwd, 'link'));
  writeFileSync(join(outer, 'secret'), 'secret');
  linkSync(join(outer, 'secret'), join(cwd, 'hard'));
  expect(await write(cwd, 'link', 'new')).toBe('updated target (1 line, 3 bytes)');
  expect(readFileSync(join(cwd, 'link'), 'utf8')).toBe('new');
  await write(cwd, 'hard', 'overwritten');
  expect(readFileSync(join(outer, 'secret'), 'utf8')).toBe('secret');
});

test.each([
  ['a folder', 'folder', 'is a folder, not a file'],
  ['the workspace', '.', 'is a folder, not a file'],
  ['outside', '../x', 'is outside the workspace'],
  ['below a file', 'file/x', 'is a file, not a folder'],
  ['a link to nothing', 'dangling', 'is a link to nothing'],
])('write refuses %s and leaves everything as it was', async (_, path, sentence) => {
  const cwd = join(tempFolder(), 'ws');
  mkdirSync(join(cwd, 'folder'), { recursive: true });
  writeFileSync(join(cwd, 'file'), 'content');
  symlinkSync('../elsewhere', join(cwd, 'dangling'));
  expect(await write(cwd, path, 'x')).toContain(sentence);
  expect(readdirSync(cwd).sort()).toEqual(['dangling', 'file', 'folder']);
  expect(existsSync(join(cwd, '../elsewhere'))).toBe(false);
});

test('a call that was stopped writes nothing (L48)', async () => {
  const cwd = tempFolder();
  writeFileSync(join(cwd, 'file'), 'old');
  const context = toolContext(cwd, { signal: AbortSignal.abort('interrupt') });
  expect(await call('write', { path: 'file', content: 'new' }, context)).toBe(
    'stopped: Stopped before anything was written.',
  );
  expect(readFileSync(join(cwd, 'file'), 'utf8')).toBe('old');
  expect(readdirSync(cwd)).toEqual(['file']);
});

test('edit replaces exact text once, and says where', async () => {
  const cwd = tempFolder();
  writeFileSync(join(cwd, 'f.ts'), 'a\nb\nc\nb2\n');
  expect(await edit(cwd, 'f.ts', 'b\nc', 'B\nC\nD')).toBe('edited f.ts (1 replacement, line 2)');
  expect(readFileSync(join(cwd, 'f.ts'), 'utf8')).toBe('a\nB\nC\nD\nb2\n');
  expect(await edit(cwd, 'f.ts', 'D\n', '')).toBe('edited f.ts (1 replacement, line 4)');
});

test('edit refuses text that is absent or not unique, and changes nothing', async () => {
  const cwd = tempFolder();
  writeFileSync(join(cwd, 'f'), 'x\ny\nx\n');
  expect(await edit(cwd, 'f', 'z', 'w')).toBe(
    'failed: old_string was not found in "f". It must match exactly: read the file and copy the text.',
  );
  expect(await edit(cwd, 'f', 'x', 'w')).toBe(
    'failed: old_string was found 2 times in "f" (lines 1, 3). Add text around it until it is unique, or set replace_all.',
  );
  expect(await edit(cwd, 'f', 'x', 'x')).toBe('failed: old_string and new_string are the same: nothing to change.');
  expect(await edit(cwd, 'missing', 'x', 'y')).toBe('failed: "missing" cannot be read: it does not exist.');
  expect(readFileSync(join(cwd, 'f'), 'utf8')).toBe('x\ny\nx\n');
  expect(await edit(cwd, 'f', 'x', 'xx', true)).toBe('edited f (2 replacements, lines 1, 3)');
  expect(readFileSync(join(cwd, 'f'), 'utf8')).toBe('xx\ny\nxx\n');
});

test('edit takes $& and the like as they are, and leaves other bytes alone', async () => {
  const cwd = tempFolder();
  const bytes = Buffer.concat([Buffer.from('\ufeffhead '), Buffer.from([0xff, 0xfe]), Buffer.from(' tail')]);
  writeFileSync(join(cwd, 'f'), bytes);
  await edit(cwd, 'f', 'head', "$&$1$'");
  expect(readFileSync(join(cwd, 'f'))).toEqual(
    Buffer.from(
      bytes.toString('latin1').replace('head', () => "$&$1$'"),
      'latin1',
    ),
  );
});

test.each(['write', 'edit'] as const)('%s in a .git folder is as much as running a command (L55)', (name) => {
  const registry = createRegistry([tools[name]]);
  const riskOf = (path: string): unknown => {
    const input = name === 'write' ? { path, content: '' } : { path, old_string: 'a', new_string: 'b' };
    const prepared = prepareCall(registry, { mode: 'acceptEdits', cwd: '/workspace' }, { name, input });
    return prepared.kind === 'ready' ? [prepared.risk, prepared.permission.kind, prepared.safe] : prepared.text;
  };
  expect(riskOf('src/a.ts')).toEqual(['write', 'allow', false]);
  for (const path of ['.git/config', 'sub/.GIT/hooks/x', '.git'])
    expect(riskOf(path)).toEqual(['execute', 'ask', false]);
});

test('a link cannot hide that a path leads into a .git folder', async () => {
  const cwd = tempFolder();
  mkdirSync(join(cwd, '.git'));
  writeFileSync(join(cwd, '.git/config'), 'a');
  symlinkSync('.git', join(cwd, 'docs'));
  expect(await write(cwd, 'docs/config', 'evil')).toContain('leads into a .git folder through a link');
  expect(await edit(cwd, 'docs/config', 'a', 'evil')).toContain('leads into a .git folder through a link');
  expect(readFileSync(join(cwd, '.git/config'), 'utf8')).toBe('a');
});

test('write may run again, edit may not (L40)', () => {
  expect([tools.write.recovery, tools.edit.recovery]).toEqual(['rerun', 'report']);
});
