// Snapshots that look at what the system has told, held against those of a process that looks at
// everything.
import { readFileSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { FolderIndex, OutOfBounds } from '../../../store/snapshots/folder-index.ts';
import { shadowed } from './support.ts';

const isLinux = process.platform === 'linux';

/** Counts looks at everything. */
function countLooks() {
  const looks = vi.spyOn(FolderIndex.prototype, 'look').mockClear();
  return { count: () => looks.mock.calls.length, forget: () => looks.mockClear() };
}

const CHANGES: readonly (readonly [what: string, script: string, looks: 'changes' | 'all'])[] = [
  ['a file is written in place', 'echo more >> a/one', 'changes'],
  ['a file has another content of the same size and time', 'echo eno > a/one; touch -d @1700000000 a/one', 'changes'],
  ['a file is replaced by a rename', 'echo new > .tmp; mv .tmp a/one', 'changes'],
  ['a file becomes executable', 'chmod +x a/one', 'changes'],
  ['a file becomes a link, and a folder a file', 'rm -r b a/one; ln -s two a/one; echo b > b', 'changes'],
  ['a file becomes a folder', 'rm a/one; mkdir -p a/one/deep; echo 1 > a/one/deep/er', 'changes'],
  ['folders are made, filled and emptied', 'mkdir -p c/d/e; echo 1 > c/d/e/f; rm a/one a/two', 'changes'],
  ['a folder moves with all that it has', 'mv a c; echo 1 > c/new', 'changes'],
  [
    'a folder takes the place of another',
    'mkdir c; echo other > c/other; rm -r a; mv c a; echo 2 > a/after',
    'changes',
  ],
  ['a folder is removed and made anew', 'rm -r b; mkdir -p b/deep; echo again > b/deep/two', 'changes'],
  ['ignored files and those of git change', 'echo 1 > x.log; mkdir out; echo 1 > out/x; echo 1 > .git/x', 'changes'],
  [
    'names are odd',
    `printf 1 > "$(printf 'od\\377d')"; printf 2 > 'new
line'`,
    'changes',
  ],
  ['rules change', `echo '*.txt' >> .gitignore; echo 1 > new.txt`, 'all'],
  ['rules outside of the folder change', `echo 'a-*' >> .git/info/exclude; echo 1 > a-new`, 'all'],
  ['a folder becomes a repository', `git init -q b; echo skip > b/.gitignore; echo 1 > b/skip`, 'all'],
  ['more changes than the system keeps', 'i=0; while [ $i -lt 3000 ]; do : > a/$i; i=$((i+1)); done', 'all'],
  [
    'the folder itself is another one',
    'cp -r "$PWD" "$PWD-2"; rm -rf "$PWD"; mv "$PWD-2" "$PWD"; echo 3 > "$PWD/three"',
    'all',
  ],
];

test.each(CHANGES)(
  'a snapshot by what the system tells has all that has changed when %s (T1)',
  async (_, script, looks) => {
    const { sh, take, takeAnew } = shadowed();
    sh(
      `git init -q . && printf '*.log\\nout/\\n' > .gitignore && mkdir -p a b/deep empty && echo one > a/one && echo two > a/two && echo 1 > b/deep/1`,
    );
    sh('touch -d @1700000000 a/one');
    const first = await take();
    const all = countLooks();
    for (const more of [script, 'mkdir -p last/deep; echo 1 > last/deep/file', 'rm -r last; echo 2 > a-last']) {
      sh(more);
      const { id, files } = await take(first.id, true);
      if (more === script && isLinux) expect(all.count()).toBe(looks === 'all' ? 1 : 0);
      expect(await takeAnew()).toMatchObject({ id, files });
      all.forget();
    }
  },
);

test('a change of a file by another name of it is found without a look at everything (T1)', async () => {
  const { sh, take, takeAnew } = shadowed({ fileBytes: 1_000 });
  sh('mkdir a b; echo 1 > a/one; ln a/one "$PWD-outside"; ln a/one b/same; echo 1 > plain; echo 2 > two');
  sh('head -c 2000 /dev/zero > a/large; ln a/large "$PWD-large"');
  const first = await take();
  const all = countLooks();
  const changes = [
    ['echo 2 >> "$PWD-outside"', ['a/one', 'b/same']],
    ['echo 3 >> b/same', ['a/one', 'b/same']],
    // It was too large before, and is told by the snapshot alone.
    ['truncate -s 10 "$PWD-large"', []],
    ['chmod 700 a/one', ['a/one', 'b/same']],
    ['mv b/same a/; mv a c; echo 4 >> "$PWD-outside"', null],
    // A name that has come since, in a folder or outside of it.
    ['ln plain c/plain; echo 5 >> c/plain', ['c/plain', 'plain']],
    ['echo 6 >> plain', ['c/plain', 'plain']],
    ['rm c/plain; echo 7 >> plain', ['c/plain', 'plain']],
  ] as const;
  const counts: number[] = [];
  let before = first.id;
  for (const [script, paths] of changes) {
    sh(script);
    const later = await take(before, true);
    if (paths) expect(later.changes.map(({ path }) => path).toSorted()).toEqual(paths);
    expect((await takeAnew(before)).id).toBe(later.id);
    counts.push(all.count() - 1);
    all.forget();
    before = later.id;
  }
  // The one more is that of the other process.
  if (isLinux) expect(counts).toEqual([0, 0, 0, 0, 1, 1, 0, 0]);
});

test('a look at everything finds what the system did not tell of (T1)', async () => {
  const { root, sh, take, takeAnew } = shadowed();
  sh('mkdir a && echo 1 > a/one');
  const first = await take();
  // The system tells of a name where it was made alone, and of what changes by it.
  sh('ln a/one "$PWD-linked"; echo 2 > "$PWD-linked"');
  expect(readFileSync(`${root}/a/one`, 'utf8')).toBe('2\n');
  const all = countLooks();
  const later = await take(first.id);
  expect(all.count()).toBe(1);
  expect(later.changes.map(({ path }) => path)).toEqual(['a/one']);
  expect((await takeAnew()).id).toBe(later.id);
});

test('at the bound on the number of files, one that was found twice counts once (T2)', async () => {
  const { sh, take } = shadowed({ files: 3 });
  sh('mkdir a; echo 1 > a/one; echo 2 > a/two');
  const first = await take();
  sh('echo 3 > a/three; chmod 700 a');
  expect(await take(first.id, true)).toMatchObject({
    files: 3,
    leftOut: [],
    changes: [{ path: 'a/three' }, { path: 'a/' }],
  });
});

test('where there are too many files or bytes, every look is at everything (T2)', async () => {
  const { sh, take, takeAnew } = shadowed({ bytes: 1_000 });
  sh('head -c 2000 /dev/zero > large; echo 1 > one');
  const first = await take();
  const all = countLooks();
  sh('echo 2 > two');
  const second = await take(first.id, true);
  expect(second.leftOut).toMatchObject([{ path: 'large', why: 'bytes' }]);
  expect(all.count()).toBe(1);
  sh('rm large');
  await take(second.id, true);
  sh('echo 3 > three');
  await take(second.id, true);
  all.forget();
  sh('echo 4 > four');
  const last = await take(second.id, true);
  if (isLinux) expect(all.count()).toBe(0);
  expect((await takeAnew()).id).toBe(last.id);
});

test('rules of a repository below change what a snapshot has (T2)', async () => {
  const { sh, take, takeAnew } = shadowed();
  sh('git init -q below/one; echo 1 > below/one/kept');
  const first = await take();
  sh("echo 'left-*' >> below/one/.git/info/exclude; echo 1 > below/one/left-out");
  const second = await take(first.id, true);
  // The rules in force are a part of it.
  expect(second.id).not.toBe(first.id);
  expect(second.changes).toEqual([]);
  sh('git init -q below/two; echo 1 > below/two/left');
  const third = await take(second.id, true);
  sh('echo left > below/two/.git/info/exclude; echo 2 > below/two/kept');
  const last = await take(third.id, true);
  // A file that was captured once stays, as one that git tracks does.
  expect(last.changes.map(({ path }) => path)).toEqual(['below/two/kept']);
  expect((await takeAnew(third.id)).id).toBe(last.id);
});

test('a burst in one folder may have cost the changes of another: all of it is looked at (T1)', async () => {
  const [one, other] = [shadowed(), shadowed()];
  one.sh('echo 1 > one');
  const first = await one.take();
  await other.take();
  other.sh('i=0; while [ $i -lt 3000 ]; do : > $i; i=$((i+1)); done');
  await other.take(null, true);
  one.sh('echo 2 > two');
  const all = countLooks();
  const second = await one.take(first.id, true);
  expect(all.count()).toBe(1);
  expect(second.changes.map(({ path }) => path)).toEqual(['two']);
  all.forget();
  one.sh('echo 3 > three');
  await one.take(second.id, true);
  if (isLinux) expect(all.count()).toBe(0);
});

test('after a capture that failed, changes that it was told of are found (T1)', async () => {
  const { sh, take } = shadowed();
  sh('echo 1 > one');
  const first = await take();
  const { lookAtChanges } = FolderIndex.prototype;
  vi.spyOn(FolderIndex.prototype, 'lookAtChanges').mockImplementationOnce(async function (this: FolderIndex, bounds) {
    return await lookAtChanges.call(this, { ...bounds, until: 0 });
  });
  sh('echo 2 > two');
  await expect(take(first.id, true)).rejects.toThrow(OutOfBounds);
  const second = await take(first.id, true);
  expect(second).toMatchObject({ changes: [{ path: 'two' }], bytes: 2 });
});

test('a file that the system tells of twice counts once (T2)', async () => {
  const { sh, take } = shadowed();
  sh('mkdir a; echo 1 > a/one');
  const first = await take();
  sh('echo two > a/one; chmod 700 a');
  expect(await take(first.id, true)).toMatchObject({ changes: [{ path: 'a/one' }, { path: 'a/' }], bytes: 4 });
});
