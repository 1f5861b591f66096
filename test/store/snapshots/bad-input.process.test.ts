// Folders that no snapshot should stumble over.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { FolderCapture } from '../../../store/snapshots/capture-folder.ts';
import { FolderIndex, OutOfBounds } from '../../../store/snapshots/folder-index.ts';
import { previewRestore } from '../../../store/snapshots/preview-restore.ts';
import { restore } from '../../../store/snapshots/restore.ts';
import { NO_PERSONAL } from '../../../store/snapshots/repository-rules.ts';
import { takeSnapshot } from '../../../store/snapshots/take-snapshot.ts';
import { placeOfRoot } from '../../../store/snapshots/shadow.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import { tempFolder } from '../../tools/support.ts';
import { runHere, shadowed } from './support.ts';

const GIT = 'git -c user.name=n -c user.email=e -c protocol.file.allow=always';

test('links in circles, to folders and to nothing are captured as links (T2)', async () => {
  const { sh, take, files } = shadowed();
  sh(
    'mkdir a && ln -s . self && ln -s ../a a/a && ln -s gone broken && ln -s / root && ln -s one two && ln -s two one',
  );
  const { id, leftOut } = await take();
  expect(await files(id)).toEqual(['a/a', 'broken', 'one', 'root', 'self', 'two'].map((name) => `120000 ${name}`));
  expect(leftOut).toEqual([]);
});

test.skipIf(process.getuid?.() === 0)('files and folders that may not be read are left out (T2)', async () => {
  const { sh, take, files } = shadowed();
  sh('echo 1 > one && echo 2 > closed && mkdir shut && echo 3 > shut/three && chmod 000 closed shut');
  const { id, leftOut } = await take();
  sh('chmod 700 shut');
  expect(await files(id)).toEqual(['100644 one']);
  expect(leftOut).toEqual(['shut/', 'closed'].map((path) => ({ path, why: 'unreadable' })));
});

test('names with line breaks, quotes, blanks and what looks like options are captured and told as changed (T2)', async () => {
  const { root, take, content } = shadowed();
  const names = ['a\nb', ' ', '-rf', '"quoted"', "it's", 'tab\tx', ':(glob)*', '*', '\\', 'ü\u{1f600}', '#x', '!y'];
  for (const name of names) writeFileSync(join(root, name), name);
  const first = await take();
  for (const name of names) writeFileSync(join(root, name), `${name}, changed`);
  const second = await take(first.id);
  expect(second.changes.map(({ path }) => Buffer.from(path, 'latin1').toString()).toSorted()).toEqual(names.toSorted());
  expect(await content(second.id, 'files/a\nb')).toBe('a\nb, changed');
});

test('a sparse checkout, a work tree, a submodule and pointers of LFS are captured as they lie (T2)', async () => {
  const { sh, take, files, content } = shadowed();
  sh(`
    mkdir sub main && (cd sub && git init -q && echo s > s && git add -A && ${GIT} commit -qm s)
    cd main && git init -q && mkdir in out && echo i > in/i && echo o > out/o
    printf '*.bin filter=lfs diff=lfs merge=lfs -text\\n' > .gitattributes
    printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:00\\nsize 12\\n' > big.bin
    ${GIT} submodule -q add ../sub mod && git add -A && ${GIT} commit -qm all
    git worktree add -q ../tree && git sparse-checkout set in
  `);
  const { id, leftOut } = await take();
  const main = ['.gitattributes', '.gitmodules', 'big.bin', 'in/i', 'mod/s'];
  const tree = ['.gitattributes', '.gitmodules', 'big.bin', 'in/i', 'out/o'];
  const names = [...main.map((name) => `main/${name}`), 'sub/s', ...tree.map((name) => `tree/${name}`)];
  expect(await files(id)).toEqual(names.map((name) => `100644 ${name}`));
  expect(await content(id, 'files/main/big.bin')).toContain('oid sha256:00');
  expect(leftOut).toEqual([]);
  expect(sh('git -C main status --porcelain && git -C tree status --porcelain')).toBe('');
});

test('files that become folders, vanish or change while snapshots are taken do not end them (T2)', async () => {
  const { root, take, files } = shadowed();
  const swap =
    'rm -rf one d; mkdir one; echo in > one/in; echo d > d; echo 5 > five; rm -rf one d five; echo 1 > one; mkdir d; echo 4 > d/four';
  const other = spawn('sh', ['-c', `echo 2 > two; while [ ! -e stop ]; do ${swap}; done`], { cwd: root });
  let before: string | null = null;
  for (let round = 0; round < 50; round += 1) before = (await take(before)).id;
  writeFileSync(join(root, 'stop'), '');
  await once(other, 'close');
  const last = await take(before);
  expect(await files(last.id)).toEqual(['d/four', 'one', 'stop', 'two'].map((name) => `100644 ${name}`));
  expect(last.files).toBe(4);
  rmSync(join(root, 'one'));
  mkdirSync(join(root, 'one'));
  writeFileSync(join(root, 'one', 'in'), 'a folder now');
  expect((await take(last.id)).changes.map(({ kind, path }) => `${kind} ${path}`)).toEqual([
    'deleted one',
    'added one/in',
  ]);
});

test('a folder that vanished is refused with a sentence, and is no snapshot without files (T2)', async () => {
  const { root, sh, take, files } = shadowed();
  sh('echo 1 > one');
  const first = await take();
  rmSync(root, { recursive: true });
  await expect(take(first.id)).rejects.toThrow(/./);
  mkdirSync(root);
  writeFileSync(join(root, 'two'), '2');
  expect(await files((await take(first.id)).id)).toEqual(['100644 two']);
});

test('of a folder with many more files than are captured the rest is counted (T2)', async () => {
  const { sh, take } = shadowed({ files: 50 });
  sh('mkdir many && cd many && seq 1 3000 | xargs touch');
  const first = await take();
  expect(first).toMatchObject({ files: 50, leftOutCount: 2950, leftOut: { length: 100 } });
  expect((await take(first.id)).id).toBe(first.id);
});

test('a file that is written again and again counts once against the bound of bytes (T2)', async () => {
  const { sh, take, files } = shadowed({ bytes: 10_000 });
  let before: string | null = null;
  for (let round = 0; round < 6; round += 1) {
    sh(`head -c 4000 /dev/urandom > same; echo ${round} > small`);
    const taken = await take(before);
    expect(taken.leftOut).toEqual([]);
    before = taken.id;
  }
  sh('head -c 9000 /dev/urandom > other');
  const last = await take(before);
  expect(last.leftOut).toEqual([{ path: 'other', why: 'bytes' }]);
  expect(await files(last.id)).toEqual(['100644 same', '100644 small']);
});

test('a file that grows beyond the bound after it was looked at is not read (T2)', async () => {
  const { root, place, take, files } = shadowed({ fileBytes: 40 * 1024 * 1024 });
  writeFileSync(join(root, 'first'), randomBytes(33 * 1024 * 1024));
  writeFileSync(join(root, 'then'), 'x');
  const taken = take();
  // The first file is put into a pack before the next is read.
  while (!existsSync(join(place.gitDir, 'incoming'))) await new Promise((resolve) => setImmediate(resolve));
  truncateSync(join(root, 'then'), 100 * 1024 * 1024);
  const { id, leftOut } = await taken;
  expect(leftOut).toEqual([{ path: 'then', why: 'large' }]);
  expect(await files(id)).toEqual(['100644 first']);
});

test("a folder that holds Perdure's own data is captured without it (T2)", async () => {
  const { root, sh, means } = shadowed();
  const dataDir = join(root, 'own [data]');
  mkdirSync(dataDir);
  sh(`echo 1 > one && echo secret > 'own [data]/secret' && printf '!*\\n' > .gitignore`);
  const place = placeOfRoot(dataDir, 's-1' as SessionId, root);
  const { id } = await takeSnapshot({ ...means, place, capture: undefined }, null);
  const argv = ['git', `--git-dir=${place.gitDir}`, 'ls-tree', '-r', '--name-only', `${id}:files`];
  expect((await runHere(argv, { env: {}, cwd: root })).split('\n').filter(Boolean)).toEqual(['.gitignore', 'one']);
});

test('a folder that takes too long to look through is given up, and is not looked through once more (T2)', () => {
  const { root, sh } = shadowed();
  sh('echo 1 > one');
  const bounds = {
    files: 10,
    until: performance.now() - 1,
    leaveOut: '',
    isTemporary: () => false,
    include: [],
    personal: NO_PERSONAL,
    isWatched: false,
  };
  expect(() => new FolderIndex(root, 'git').look(bounds)).toThrow(OutOfBounds);
});

test('the time to look through a folder ends among its files, for rules may take long to hold against each (T2)', () => {
  const { root, sh } = shadowed();
  sh('touch $(seq 50)');
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => (now += 1));
  onTestFinished(() => void vi.restoreAllMocks());
  const bounds = {
    files: 100,
    until: 25,
    leaveOut: '',
    isTemporary: () => false,
    include: [],
    personal: NO_PERSONAL,
    isWatched: false,
  };
  expect(() => new FolderIndex(root, 'git').look(bounds)).toThrow(OutOfBounds);
});

test('hooks, filters, attributes and settings of a workspace, and of its nested repositories, are never in force (T1)', async () => {
  const { sh, take, files, content, place } = shadowed();
  const evil = '"touch pwned; cat"';
  const settings = [
    `core.fsmonitor ${evil}`,
    `filter.evil.clean ${evil}`,
    `filter.evil.process ${evil}`,
    'filter.evil.required true',
  ];
  const hooks = ['post-index-change', 'reference-transaction', 'pre-commit', 'post-commit'];
  const prepare = `git init -q . && printf '* filter=evil text eol=crlf ident working-tree-encoding=UTF-16\\n' > .gitattributes
    ${settings.map((setting) => `git config ${setting}`).join('\n')}
    for hook in ${hooks.join(' ')}; do printf '#!/bin/sh\\ntouch pwned\\n' > .git/hooks/$hook; chmod +x .git/hooks/$hook; done
    printf 'x $Id$\\n' > file; mkdir -p objects refs; echo 'ref: refs/heads/x' > HEAD`;
  sh(`${prepare}\nmkdir nested && cd nested && ${prepare}`);
  const first = await take();
  sh('echo more >> file; echo more >> nested/file');
  const second = await take(first.id);
  expect(second.changes.map(({ path }) => path)).toEqual(['file', 'nested/file']);
  const held = await files(second.id);
  expect(held.filter((line) => line.includes('pwned'))).toEqual([]);
  expect(sh('find . -name pwned; git config --get core.fsmonitor')).toBe('touch pwned; cat\n');
  expect(await content(second.id, 'files/nested/file')).toBe('x $Id$\nmore\n');
  expect(statSync(place.gitDir).mode & 0o077).toBe(0);
});

test('a snapshot without changes starts no process, and the later ones share the one that compares (T3)', async () => {
  const { sh, place, means } = shadowed();
  const git = join(tempFolder(), 'git');
  const log = `${git}.log`;
  writeFileSync(git, `#!/bin/sh\necho started >> ${log}\nexec git "$@"\n`, { mode: 0o755 });
  const started = () => (existsSync(log) ? readFileSync(log, 'utf8').split('\n').length - 1 : 0);
  const folder = new FolderCapture({ place, git });
  onTestFinished(() => folder.close());
  const capture = (before: string | null) => folder.capture({ place, git, caps: means.caps, include: [], before });
  sh('seq 1 50 | split -l 1 - file-');
  let { id } = await capture(null);
  expect((await capture(id)).id).toBe(id);
  expect(started()).toBe(0);
  for (const text of ['x', 'y', 'z']) {
    sh(`echo ${text} >> file-aa`);
    ({ id } = await capture(id));
  }
  expect(started()).toBe(1);
});

test('the process that compares is started anew after it was killed (T3)', async () => {
  const { sh, place, means } = shadowed();
  const git = join(tempFolder(), 'git');
  const log = `${git}.log`;
  writeFileSync(git, `#!/bin/sh\necho $$ >> ${log}\nexec git "$@"\n`, { mode: 0o755 });
  const pids = () => readFileSync(log, 'utf8').trim().split('\n').map(Number);
  const folder = new FolderCapture({ place, git });
  onTestFinished(() => folder.close());
  const capture = (before: string | null) => folder.capture({ place, git, caps: means.caps, include: [], before });
  sh('echo 1 > one');
  let { id } = await capture(null);
  sh('echo 2 > one');
  ({ id } = await capture(id));
  const [pid = 0] = pids();
  process.kill(pid, 'SIGKILL');
  // Its parent has been told of its end when nothing has this id.
  await vi.waitUntil(() => !existsSync(`/proc/${pid}`), { timeout: 60_000 });
  await new Promise(setImmediate);
  sh('echo 3 > one');
  expect((await capture(id)).changes.map(({ path }) => path)).toEqual(['one']);
  expect(pids()).toHaveLength(2);
});

test('a sparse file of 4 GB, 20 GB of them, a pipe and a socket hold nothing up, and the rest is captured (T2)', async () => {
  const { root, sh, take, files } = shadowed();
  sh('echo 1 > one; truncate -s 4G large; for n in 1 2 3 4; do truncate -s 4G more-$n; done; mkfifo pipe');
  const server = createServer().listen(join(root, 'socket'));
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { id, leftOut } = await take();
  expect(await files(id)).toEqual(['100644 one']);
  const names = ['large', 'more-1', 'more-2', 'more-3', 'more-4'];
  expect(leftOut).toEqual(names.map((path) => ({ path, why: 'large' })));
});

test('devices, and a link to an endless one, hold nothing up, and are never overwritten (T2 T7)', async ({ skip }) => {
  const { sh, take, files, means } = shadowed();
  skip(process.getuid?.() !== 0, 'needs a user who may make devices');
  sh('echo 1 > one; echo 2 > two; mkdir d; echo 3 > d/three; ln -s /dev/zero link');
  const first = await take();
  expect(await files(first.id)).toEqual(['100644 d/three', '120000 link', '100644 one', '100644 two']);
  sh('mknod zero c 1 5; mknod disk b 7 200; rm two d/three; mknod two c 1 5; rmdir d; mknod d c 1 3');
  const { id: now, leftOut } = await take(first.id);
  expect(await files(now)).toEqual(['120000 link', '100644 one']);
  // Pipes and the like are never captured, which nobody needs to be told.
  expect(leftOut).toEqual([]);
  const back = { known: now, now, to: first.id, leftOut };
  await expect(previewRestore(means, { ...back, force: true })).rejects.toThrow(/is in the way/);
  sh('rm two');
  await expect(previewRestore(means, { ...back, force: true })).rejects.toThrow('d is in the way');
  sh('rm d');
  const { changes } = await previewRestore(means, { ...back, force: false });
  await restore(means, { now, known: now, to: first.id, changes });
  expect(sh('cat two d/three; test -c zero; test -b disk')).toBe('2\n3\n');
});

test('two sessions that capture one folder at once have each a history of their own (T1)', async () => {
  const { root, place, means, sh, files } = shadowed();
  const dataDir = join(place.gitDir, '..');
  const sessions = ['s-1', 's-2'].map((session) => {
    const own = placeOfRoot(dataDir, session as SessionId, root);
    const folder = new FolderCapture({ place: own, git: 'git' });
    onTestFinished(() => folder.close());
    return (before: string | null) => folder.capture({ place: own, git: 'git', caps: means.caps, include: [], before });
  });
  const captureAll = (before: string | null) => Promise.all(sessions.map((capture) => capture(before)));
  sh('seq 1 300 | split -l 1 - file-');
  const first = await captureAll(null);
  sh('echo more >> file-aa');
  const second = await captureAll(first[0]?.id ?? null);
  expect(new Set(second.map(({ id }) => id)).size).toBe(1);
  expect(second.map(({ changes }) => changes.map(({ path }) => path))).toEqual([['file-aa'], ['file-aa']]);
  expect(await files(second[0]?.id ?? '')).toHaveLength(300);
  const refs = sh(`git --git-dir=${place.gitDir} for-each-ref --format='%(refname)'`).trim().split('\n');
  expect(refs).toHaveLength(2);
  for (const ref of refs) expect(sh(`git --git-dir=${place.gitDir} rev-list --count ${ref}`)).toBe('2\n');
});
