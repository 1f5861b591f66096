// Folders that no snapshot should stumble over.
import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { OutOfBounds, takeSnapshot, type RunHeld } from '../../../store/snapshots/take-snapshot.ts';
import { placeOfRoot } from '../../../store/snapshots/shadow.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';
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
  expect(leftOut).toEqual([{ path: 'closed', why: 'unreadable' }]);
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

/** Runs something before the script whose number it is: a listing comes first, then the writing. */
function disturbed(number: number, disturb: () => void): RunHeld {
  let count = 0;
  return (argv, options) => {
    count += 1;
    if (count === number) disturb();
    return runHere(argv, options);
  };
}

test('files that become folders, vanish or change while a snapshot is taken do not end it (T2)', async () => {
  const { root, sh, means, take, files } = shadowed();
  sh('echo 1 > one && echo 2 > two && echo 3 > three && mkdir d && echo 4 > d/four');
  const first = await take();
  sh('echo more >> one && echo more >> two && echo more >> three && echo more >> d/four');
  const swap = (): void => void sh('rm -r one two d && mkdir one && echo in > one/in && echo d > d && echo 5 > five');
  const second = await takeSnapshot({ ...means, run: disturbed(2, swap) }, first.id);
  const third = await take(second.id);
  expect(await files(third.id)).toEqual(['d', 'five', 'one/in', 'three'].map((name) => `100644 ${name}`));
  expect(third.files).toBe(4);
  rmSync(join(root, 'one'), { recursive: true });
  writeFileSync(join(root, 'one'), 'a file again');
  expect((await take(third.id)).changes.map(({ kind, path }) => `${kind} ${path}`)).toEqual([
    'added one',
    'deleted one/in',
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
  expect(first).toMatchObject({ files: 50, leftOut: { length: 2950 } });
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

test("a folder that holds Perdure's own data is captured without it (T2)", async () => {
  const { root, sh, means } = shadowed();
  const dataDir = join(root, 'own [data]');
  mkdirSync(dataDir);
  sh(`echo 1 > one && echo secret > 'own [data]/secret' && printf '!*\\n' > .gitignore`);
  const place = placeOfRoot(dataDir, 's-1' as SessionId, root);
  const { id } = await takeSnapshot({ ...means, place }, null);
  const argv = ['git', `--git-dir=${place.gitDir}`, 'ls-tree', '-r', '--name-only', `${id}:files`];
  expect((await runHere(argv, { env: {}, cwd: root })).split('\n').filter(Boolean)).toEqual(['.gitignore', 'one']);
});

test('a listing has a bound of its own, and a folder beyond it is not looked through once more (T2)', async () => {
  const { means } = shadowed();
  const bounds: (number | undefined)[] = [];
  const run: RunHeld = (_, { timeoutMs }) => {
    bounds.push(timeoutMs);
    return Promise.reject(new OutOfBounds('it took longer than 20 s'));
  };
  await expect(takeSnapshot({ ...means, run }, null)).rejects.toThrow('it took longer than 20 s');
  expect(bounds).toEqual([20_000]);
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

test('a snapshot without changes starts one script of git, and one with changes two (T3)', async () => {
  const { sh, means } = shadowed();
  const started: string[] = [];
  const run: RunHeld = (argv, options) => {
    started.push(argv.join(' ').includes('ls-files') ? 'list' : 'write');
    return runHere(argv, options);
  };
  const take = async (before: string | null) => (await takeSnapshot({ ...means, run }, before)).id;
  sh('seq 1 200 | split -l 1 - file-');
  const first = await take(null);
  await take(first);
  sh('echo x >> file-aa');
  await take(first);
  expect(started).toEqual(['list', 'write', 'list', 'list', 'write']);
});
