// What a file has besides its text stays when edit or write change it, and what a person wrote
// meanwhile stays as well. Mounts, owners and other users need root; access lists and attributes a
// file system that has them.
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, linkSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { createWriteTool } from '../../../../tools/builtin/write.ts';
import { callTool } from '../../../../activities/calls/call-tool.ts';
import { probeSandbox } from '../../../../tools/sandbox.ts';
import type { SeenFile } from '../../../../workflows/contract/activities.ts';
import { fileTools } from './support.ts';
import { inputFor, tempFolder, toolContext } from '../../support.ts';

const sandbox = await probeSandbox({ kinds: ['group'] });

const isRoot = process.getuid?.() === 0;

const SET_ATTRIBUTES = `
import os, struct, sys
p = struct.pack
acl = p("<I", 2) + p("<HHI", 1, 6, 0xffffffff) + p("<HHI", 2, 6, 1001) + p("<HHI", 4, 6, 0xffffffff) + p("<HHI", 16, 6, 0xffffffff) + p("<HHI", 32, 4, 0xffffffff)
os.setxattr(sys.argv[1], "user.note", b"keep")
os.setxattr(sys.argv[1], "system.posix_acl_access", acl)
`;
const attributes = (path: string): string =>
  execFileSync('python3', [
    '-c',
    'import os, sys\nprint([(n, os.getxattr(sys.argv[1], n)) for n in sorted(os.listxattr(sys.argv[1]))])',
    path,
  ]).toString();

test.runIf(isRoot)('a file of another user keeps owner, group, mode, access list and attributes', async () => {
  const cwd = tempFolder();
  const path = join(cwd, 'a.txt');
  writeFileSync(path, 'port 80\n');
  chownSync(path, 1000, 1000);
  chmodSync(path, 0o4754);
  const hasAttributes = spawnSync('python3', ['-c', SET_ATTRIBUTES, path]).status === 0;
  const look = (): unknown => {
    const { uid, gid, mode } = statSync(path);
    return { uid, gid, mode: (mode & 0o7777).toString(8), ...(hasAttributes && { attributes: attributes(path) }) };
  };
  const before = look();
  const { edit, write } = fileTools(cwd);
  expect(await edit('a.txt', '80', '81')).toContain('edited');
  expect(look()).toEqual(before);
  expect(await write('a.txt', 'port 82\n')).toContain('updated');
  expect(look()).toEqual(before);
  expect(readFileSync(path, 'utf8')).toBe('port 82\n');
});

test('the other names of a file keep what it said, and the outcome says so', async () => {
  const cwd = tempFolder();
  writeFileSync(join(cwd, 'a'), 'one\n');
  linkSync(join(cwd, 'a'), join(cwd, 'b'));
  expect(await fileTools(cwd).edit('a', 'one', 'two')).toBe(
    'edited a (1 replacement, line 1); 1 other name of the file (a hard link) keeps what it said before',
  );
  expect([readFileSync(join(cwd, 'a'), 'utf8'), readFileSync(join(cwd, 'b'), 'utf8')]).toEqual(['two\n', 'one\n']);
});

test.runIf(isRoot)('a file that is a mount is written in place', async () => {
  const cwd = tempFolder();
  for (const name of ['mounted', 'outside']) writeFileSync(join(cwd, name), 'old long text\n');
  const mounted = spawnSync('mount', ['--bind', join(cwd, 'outside'), join(cwd, 'mounted')]).status === 0;
  if (mounted) onTestFinished(() => void execFileSync('umount', [join(cwd, 'mounted')]));
  const { edit, write } = fileTools(cwd);
  expect(await edit('mounted', 'old', 'new')).toContain('edited');
  expect(await write('mounted', 'short\n')).toContain('updated');
  if (mounted) expect(readFileSync(join(cwd, 'outside'), 'utf8')).toBe('short\n');
  expect(readdirSync(cwd)).toEqual(['mounted', 'outside']);
});

test('a file that may be written in a folder that may not is written in place', async () => {
  const cwd = tempFolder();
  mkdirSync(join(cwd, 'd'));
  writeFileSync(join(cwd, 'd/a'), 'old\n');
  chmodSync(join(cwd, 'd'), 0o555);
  onTestFinished(() => chmodSync(join(cwd, 'd'), 0o755));
  expect(await fileTools(cwd).write('d/a', 'new\n')).toContain('updated');
  expect(readFileSync(join(cwd, 'd/a'), 'utf8')).toBe('new\n');
  expect(readdirSync(join(cwd, 'd'))).toEqual(['a']);
});

const state = (path: string): SeenFile => {
  const { mtimeMs, size } = statSync(path);
  return { path, mtimeMs, size };
};

test('write does not go over what somebody changed since a tool last saw the file', async () => {
  const cwd = tempFolder();
  const path = join(cwd, 'a');
  writeFileSync(path, 'first\n');
  const seen = state(path);
  writeFileSync(path, 'person, with care\n');
  const { write } = fileTools(cwd, { lastSeen: async () => [seen] });
  expect(await write('a', 'agent\n')).toBe(
    'failed: "a" was changed by something else since you last saw it: read it again before you write it.',
  );
  const told = fileTools(cwd, { lastSeen: async () => [{ ...state(path), told: true }] });
  expect(await told.write('a', 'agent\n')).toContain('failed: "a" was changed');
  expect(readFileSync(path, 'utf8')).toBe('person, with care\n');
  const knows = fileTools(cwd, { lastSeen: async () => [seen, state(path)] });
  expect(await knows.write('a', 'agent\n')).toBe('updated a (1 line, 6 bytes)');
});

test('write says of a file that nobody had read that it was there', async () => {
  const cwd = tempFolder();
  writeFileSync(join(cwd, 'a'), 'first\n');
  const { write } = fileTools(cwd, { lastSeen: async () => [] });
  expect(await write('a', 'agent\n')).toBe('updated a (1 line, 6 bytes); what it said before had not been read');
  expect(await write('new', 'agent\n')).toBe('created new (1 line, 6 bytes)');
});

test('a write that runs again after a crash leaves what a person wrote meanwhile (L40)', async () => {
  const cwd = tempFolder();
  const path = join(cwd, 'a');
  const again = fileTools(cwd, { lastSeen: async () => [], mayHaveBegun: true });
  expect(await again.write('a', 'agent\n')).toBe('created a (1 line, 6 bytes)');
  // It had been done, and only its result was lost.
  const done = state(path);
  expect(await again.write('a', 'agent\n')).toBe('updated a (1 line, 6 bytes)');
  expect(state(path)).toEqual(done);
  writeFileSync(path, 'person, an hour later\n');
  expect(await again.write('a', 'agent\n')).toMatch(/^failed: This call was begun before/);
  expect(readFileSync(path, 'utf8')).toBe('person, an hour later\n');
});

const SAVES_AT_ONCE = `
const { existsSync, statSync, writeFileSync } = require('node:fs');
const { workerData: { path, rounds }, parentPort } = require('node:worker_threads');
parentPort.postMessage('ready');
for (let round = 0; round < rounds; round++) {
  const file = path + round;
  while (!existsSync(file) || statSync(file).size === 0) {}
  writeFileSync(file, 'person\\n');
}
`;

test('what a person saves the moment a file is there is not taken for what was written', async () => {
  const cwd = tempFolder();
  const rounds = 40;
  const person = new Worker(SAVES_AT_ONCE, { eval: true, workerData: { path: join(cwd, 'a'), rounds } });
  await once(person, 'message');
  const ended = once(person, 'exit');
  const tool = createWriteTool({ sandbox });
  for (let round = 0; round < rounds; round++) {
    const input = inputFor(tool, { path: `a${round}`, content: 'agent\n' });
    const ran = await callTool(tool, input, toolContext(cwd));
    expect(ran).toMatchObject({ output: { seen: [{ path: join(cwd, `a${round}`), size: 6 }] } });
  }
  await ended;
});
