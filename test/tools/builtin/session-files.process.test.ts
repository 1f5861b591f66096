// Files of a session below /mnt/session, as its commands and the tools of the toolset see them.
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { callTool } from '../../../activities/calls/call-tool.ts';
import { prepareCall } from '../../../activities/calls/prepare.ts';
import { createBuiltinTools } from '../../../tools/builtin/builtin-tools.ts';
import { AttachedFiles } from '../../../tools/builtin/files/attached-files.ts';
import { createRunRegistries } from '../../../tools/builtin/run-tools.ts';
import { createRegistry } from '../../../tools/registry.ts';
import type { Sandbox } from '../../../tools/sandbox.ts';
import { type FileItem, Files } from '../../../store/values/files.ts';
import { memoryStore } from '../../support/memory-store.ts';
import { workingSandboxes } from '../sandboxes.ts';
import { inputFor, tempFolder, toolContext } from '../support.ts';

const sandboxes = await workingSandboxes();
const group = sandboxes.at(-1) as Sandbox;
const bwraps = sandboxes.filter(({ kind }) => kind === 'bwrap');

function machine(sandbox: Sandbox = group, store = memoryStore()) {
  const root = tempFolder();
  const [cwd, outputs, dataDir] = ['ws', 'ws.outputs', 'data'].map((name) => join(root, name)) as [
    string,
    string,
    string,
  ];
  for (const folder of [cwd, outputs, dataDir]) mkdirSync(folder);
  const files = new Files(store, Date.now);
  const attached = new AttachedFiles(store, dataDir);
  const options = { sandbox, dataDir, attached };
  const registry = createRunRegistries(
    createRegistry(createBuiltinTools(options)),
    options,
  )({ toolset: 'agent_toolset_20260401' });
  let at = 1_700_000_000_000;
  const run = { folders: [outputs], sessionFiles: { of: 's-1', outputs }, session: 's-1' };
  return {
    root,
    cwd,
    outputs,
    dataDir,
    attached,
    store,
    async attach(id: string, mount: string, content: string, session = 's-1') {
      const item: FileItem = {
        createdAt: (at += 1),
        filename: id,
        mimeType: 'text/plain',
        size: content.length,
        session,
        mount,
      };
      await files.keepBytes(id, Buffer.from(content));
      await files.log.append('test', () => ({ id, item }));
    },
    detach: (id: string) => files.log.append('test', () => ({ id, item: null })),
    async call(name: string, input: unknown): Promise<string> {
      const tool = registry.get(name)!;
      const ran = await callTool(tool, inputFor(tool, input), toolContext(cwd, { dir: cwd, ...run }));
      return ran.kind === 'output' ? ran.output.content : ran.kind === 'failed' ? ran.text : ran.kind;
    },
    judged(name: string, input: object, deny: readonly string[] = []): string {
      const settings = { cwd, ...run, mode: 'default' as const, permissions: { deny } };
      const prepared = prepareCall(registry, settings, { name, input });
      return prepared.kind === 'ready' ? `${prepared.risk} ${prepared.permission.kind}` : prepared.text;
    },
  };
}

const UPLOADS = '/mnt/session/uploads';
const OUTPUTS = '/mnt/session/outputs';

test('read, glob and grep find attached files by the names that commands have for them (G66)', async () => {
  const { attach, call, dataDir } = machine();
  await attach('file_a', 'data/a.csv', 'alpha,1\n');
  await attach('file_o', 'odd name [x]\\é.txt', 'alpha too\n');
  expect(await call('read', { file_path: `${UPLOADS}/data/a.csv` })).toBe('alpha,1');
  expect(await call('read', { file_path: `${UPLOADS}/odd name [x]\\é.txt` })).toBe('alpha too');
  const listed = await call('glob', { pattern: '**/*', path: UPLOADS });
  expect(listed).toContain(`${UPLOADS}/data/a.csv`);
  expect(await call('glob', { pattern: `${UPLOADS}/**/*.csv` })).toBe(`${UPLOADS}/data/a.csv\n(1 file)`);
  expect(await call('grep', { pattern: 'alpha', path: UPLOADS })).toContain(`${UPLOADS}/data/a.csv:1:alpha,1`);
  expect(await call('read', { file_path: `${UPLOADS}/none` })).toBe('"none" cannot be read: it does not exist.');
  expect(await call('grep', { pattern: 'x', path: `${UPLOADS}/none` })).not.toContain(dataDir);
});

test('attached files are written by no tool, and no path leads from them to anything else (G66)', async () => {
  const { attach, call, judged, dataDir } = machine();
  await attach('file_a', 'a.csv', 'alpha\n');
  writeFileSync(join(dataDir, 'secret'), 'canary');
  expect(await call('write', { file_path: `${UPLOADS}/a.csv`, content: 'x' })).toContain('read-only');
  const edit = { file_path: `${UPLOADS}/a.csv`, old_string: 'alpha', new_string: 'x' };
  expect(await call('edit', edit)).toContain('read-only');
  for (const path of [`${UPLOADS}/../../../etc/passwd`, `${UPLOADS}/../outputs/../uploads/../../secret`])
    expect(await call('read', { file_path: path })).toContain('outside the workspace');
  expect(await call('read', { file_path: join(dataDir, 'secret') })).not.toContain('canary');
  expect(await call('read', { file_path: `${UPLOADS}/a.csv` })).toBe('alpha');
  expect(judged('read', { file_path: `${UPLOADS}/a.csv` })).toBe('read allow');
  expect(judged('read', { file_path: `${UPLOADS}/a.csv` }, [`read(/${UPLOADS}/**)`])).toBe('read deny');
});

test('outputs are written, edited and found by their names, and a link in them leads nowhere (G66)', async () => {
  const { call, judged, outputs, root } = machine();
  expect(await call('write', { file_path: `${OUTPUTS}/sub/r.md`, content: 'one\n' })).toContain(`${OUTPUTS}/sub/r.md`);
  await call('edit', { file_path: `${OUTPUTS}/sub/r.md`, old_string: 'one', new_string: 'two' });
  expect(readFileSync(join(outputs, 'sub/r.md'), 'utf8')).toBe('two\n');
  expect(await call('grep', { pattern: 'two', path: OUTPUTS })).toContain(`${OUTPUTS}/sub/r.md:1:two`);
  writeFileSync(join(root, 'secret'), 'canary');
  symlinkSync(join(root, 'secret'), join(outputs, 'link'));
  expect(await call('read', { file_path: `${OUTPUTS}/link` })).not.toContain('canary');
  expect(judged('write', { file_path: `${OUTPUTS}/sub/r.md`, content: '' }, ['write(sub/**)'])).toBe('write deny');
});

test('files are laid once and for their session alone, and are gone once they are detached (G66)', async () => {
  const { attach, detach, attached, store, root } = machine();
  await attach('file_a', 'x/a', 'alpha');
  await attach('file_b', 'x/b', 'beta');
  await attach('file_c', 'c', 'of another', 's-2');
  const [folder, again] = await Promise.all([attached.lay('s-1'), attached.lay('s-1')]);
  expect(again).toBe(folder);
  expect(readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted()).toEqual(['x', 'x/a', 'x/b']);
  expect(await attached.lay('s-2')).not.toBe(folder);
  await detach('file_a');
  // Another file in its place has other bytes, of the same length.
  await attach('file_d', 'x/a', 'gamma');
  await detach('file_b');
  await attached.lay('s-1');
  expect(readFileSync(join(folder, 'x/a'), 'utf8')).toBe('gamma');
  expect(readdirSync(join(folder, 'x'))).toEqual(['a']);
  // A folder takes the place of a file, and a file that of a folder.
  await detach('file_d');
  await attach('file_e', 'x/a/deep', 'delta');
  await attached.lay('s-1');
  expect(readFileSync(join(folder, 'x/a/deep'), 'utf8')).toBe('delta');
  await detach('file_e');
  await attach('file_f', 'x', 'gamma');
  await attached.lay('s-1');
  expect(readFileSync(join(folder, 'x'), 'utf8')).toBe('gamma');
  const elsewhere = await new AttachedFiles(store, join(root, 'other-host')).lay('s-1');
  expect(readFileSync(join(elsewhere, 'x'), 'utf8')).toBe('gamma');
});

test('what a killed worker left half written is removed once it is a day old (G66)', async () => {
  const { attach, attached } = machine();
  await attach('file_a', 'a', 'alpha');
  const folder = await attached.lay('s-1');
  const left = join(folder, '../new-1');
  writeFileSync(left, 'alp');
  await attached.lay('s-1');
  expect(existsSync(left)).toBe(true);
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 25 * 3_600_000 });
  onTestFinished(() => void vi.useRealTimers());
  await attached.lay('s-1');
  expect(existsSync(left)).toBe(false);
  expect(readFileSync(join(folder, 'a'), 'utf8')).toBe('alpha');
});

test.skipIf(bwraps.length === 0).each(bwraps)(
  'commands see uploads, read-only, and outputs, which last; the rest of /mnt cannot be written (G66)',
  async (sandbox) => {
    const { attach, call, cwd, outputs } = machine(sandbox);
    await attach('file_a', 'a b.csv', 'alpha\n');
    expect(await call('bash', { command: `cat '${UPLOADS}/a b.csv'` })).toBe('alpha');
    expect(await call('bash', { command: `cp '${UPLOADS}/a b.csv' ${OUTPUTS}/copy.csv && ls ${OUTPUTS}` })).toBe(
      'copy.csv',
    );
    expect(readFileSync(join(outputs, 'copy.csv'), 'utf8')).toBe('alpha\n');
    for (const target of [`${UPLOADS}/new`, `'${UPLOADS}/a b.csv'`, '/mnt/new', '/mnt/session/new'])
      expect(await call('bash', { command: `echo x > ${target}` })).toMatch(/Read-only|denied/);
    expect(
      await call('bash', { command: `rm -rf ${UPLOADS} ${OUTPUTS}; ls ${OUTPUTS}; echo x > ${cwd}/w; ls` }),
    ).toContain('w');
    await attach('file_b', 'b.csv', 'beta\n');
    expect(await call('bash', { command: `cat ${UPLOADS}/*` })).toBe('alpha\nbeta');
  },
);

test.skipIf(bwraps.length === 0).each(bwraps)(
  'a folder of outputs that became a link is shown to no command (G66)',
  async (sandbox) => {
    const { call, root, outputs } = machine(sandbox);
    mkdirSync(join(root, 'private'));
    renameSync(outputs, join(root, 'moved'));
    symlinkSync(join(root, 'private'), outputs);
    await call('bash', { command: `echo x > ${OUTPUTS}/x` });
    expect(existsSync(join(root, 'private/x'))).toBe(false);
  },
);
