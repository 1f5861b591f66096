// Where things lie: what runs later, what belongs to whom, and where a workspace may be.
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { fileLive } from '../../store/live/file-live.ts';
import { createBuiltinTools } from '../../tools/builtin/builtin-tools.ts';
import { createRegistry } from '../../tools/registry.ts';
import { prepareCall } from '../../activities/calls/prepare.ts';
import { findPlaces } from '../../system/process/places.ts';
import { probeSandbox } from '../../tools/sandbox.ts';
import { fileStore } from '../../store/values/file-store.ts';
import { openDataFolder } from '../../connection/data-folder.ts';
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import type { PermissionMode } from '../../workflows/contract/session.ts';
import { tempFolder, toolContext } from '../tools/support.ts';

async function homeAsWorkspace() {
  const home = tempFolder();
  const places = findPlaces({ HOME: home });
  const sandbox = await probeSandbox({ kinds: ['group'], places });
  const tools = createBuiltinTools({ sandbox });
  const decided = (mode: PermissionMode, path: string, permissions = {}): string => {
    for (const folder of ['.ssh', '.cache/perdure/bin', 'project']) mkdirSync(join(home, folder), { recursive: true });
    const call = { name: 'write', input: { path, content: 'theirs' } };
    const prepared = prepareCall(createRegistry(tools), { mode, cwd: home, permissions }, call);
    return prepared.kind === 'ready' ? prepared.permission.kind : prepared.text;
  };
  const write = (path: string): Promise<unknown> =>
    tools.find(({ name }) => name === 'write')?.call({ path, content: 'theirs' }, toolContext(home)) ??
    Promise.reject();
  return { home, decided, write };
}

const STARTS = [
  '.bashrc',
  './.zshenv',
  '.ssh/authorized_keys',
  '.gitconfig',
  '.config/perdure/perdure.config.mjs',
  'bin/ls',
];

test('a file that shells and programs start from is asked about in acceptEdits, also where a rule allows it (L55)', async () => {
  const { home, decided } = await homeAsWorkspace();
  for (const path of [...STARTS, join(home, '.PROFILE'), 'project/../.profile']) {
    expect(decided('acceptEdits', path), path).toBe('ask');
    expect(decided('acceptEdits', path, { allow: ['write'] }), path).toBe('ask');
    expect(decided('dontAsk', path), path).toBe('deny');
    expect(decided('bypass', path), path).toBe('deny');
  }
  for (const path of ['notes.txt', 'project/.env', 'project/.bashrc', 'new/file'])
    expect(decided('acceptEdits', path), path).toBe('allow');
});

test('what Perdure itself runs from is not written by a tool in any mode (L55)', async () => {
  const { decided } = await homeAsWorkspace();
  for (const mode of ['default', 'acceptEdits', 'bypass'] as const)
    expect(decided(mode, '.cache/perdure/bin/temporal')).toBe('deny');
});

test('a link does not lead to such a file unseen', async () => {
  const { home, decided, write } = await homeAsWorkspace();
  expect(decided('acceptEdits', 'project/link')).toBe('allow');
  symlinkSync(join(home, '.ssh'), join(home, 'project/link'));
  await expect(write('project/link/authorized_keys')).rejects.toThrow(/name the file itself/);
  expect(existsSync(join(home, '.ssh/authorized_keys'))).toBe(false);
});

test('a workspace that lies in such a place is the choice of the user', async () => {
  const home = tempFolder();
  const cwd = join(home, '.config/nvim');
  mkdirSync(cwd, { recursive: true });
  const sandbox = await probeSandbox({ kinds: ['group'], places: findPlaces({ HOME: home }) });
  const registry = createRegistry(createBuiltinTools({ sandbox }));
  const call = { name: 'write', input: { path: 'init.lua', content: '' } };
  expect(prepareCall(registry, { mode: 'acceptEdits', cwd }, call)).toMatchObject({ permission: { kind: 'allow' } });
});

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

test('a data folder that others can enter is closed to them, with a sentence', () => {
  const root = join(tempFolder(), 'data');
  mkdirSync(root);
  chmodSync(root, 0o755);
  const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    openDataFolder({ PERDURE_DATA: root });
    openDataFolder({ PERDURE_DATA: root });
    expect(said.mock.calls).toEqual([
      [`the data folder ${root} was open to other users of this machine: it no longer is (mode 0700)\n`],
    ]);
  } finally {
    said.mockRestore();
  }
  expect(modeOf(root)).toBe('700');
});

test.runIf(process.getuid?.() === 0)('a data folder of another user is refused', () => {
  const root = join(tempFolder(), 'data');
  mkdirSync(root, { mode: 0o700 });
  chownSync(root, 12_345, 12_345);
  expect(() => openDataFolder({ PERDURE_DATA: root })).toThrow(
    `the data folder ${root} belongs to another user (12345, and this process is 0): run as that user, or set PERDURE_DATA`,
  );
});

test('what is stored and what is shown live is readable for its owner alone, whatever the umask', async () => {
  const root = tempFolder();
  const before = process.umask(0);
  try {
    const hash: Hash = await fileStore({ dir: join(root, 'store') }).put(Buffer.from('secret'));
    const channel = fileLive({ dir: join(root, 'live'), log: () => undefined });
    const live = channel.open({ session: 's-1' as SessionId, step: 1, attempt: 1, activity: 'commit' });
    await live.end({ type: 'fate', fate: 'done' });
    expect(hash).toHaveLength(64);
  } finally {
    process.umask(before);
  }
  const open = execFileSync('find', [root, '-mindepth', '1', '-perm', '/077'], { encoding: 'utf8' });
  expect(open).toBe('');
  expect(execFileSync('find', [root, '-type', 'f'], { encoding: 'utf8' })).not.toBe('');
});
