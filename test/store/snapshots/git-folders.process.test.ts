// Git's own folder by another name than `.git`.
import { expect, test } from 'vitest';
import { previewRestore } from '../../../store/snapshots/preview-restore.ts';
import { shadowed } from './support.ts';

const GIT = 'git -c user.name=a -c user.email=b';
const BARE = (folder: string): string =>
  `git init -q --bare ${folder}
  C=$(${GIT} --git-dir=${folder} commit-tree "$(git --git-dir=${folder} hash-object -t tree -w /dev/null)" -m one)
  git --git-dir=${folder} update-ref "$(git --git-dir=${folder} symbolic-ref HEAD)" "$C"`;

test.each([
  ['a separate git folder', 'git init -q --separate-git-dir=store . && git add f', ['f'], 'git store/'],
  [
    'a bare repository beside its work tree',
    `${BARE('.bare')}; git --git-dir=.bare worktree add -q wt; echo 1 > wt/f`,
    ['f', 'wt/f'],
    'git .bare/',
  ],
  [
    'a bare repository around its work tree',
    `${BARE('.')}; git worktree add -q wt; echo 1 > wt/f`,
    ['f', 'wt/f'],
    'git HEAD',
  ],
  [
    'one with a work tree in a nested folder',
    `mkdir in; ${BARE('in/bare')}; git --git-dir=in/bare worktree add -q in/bare/wt; echo 1 > in/bare/wt/f`,
    ['f', 'in/bare/wt/f'],
    'git in/bare/HEAD',
  ],
])("git's own is not captured, whatever it is called: %s (T2 T7)", async (_, script, expected, omitted) => {
  const { sh, take, files, content } = shadowed();
  sh(`echo 1 > f; ${script}`);
  const { id, leftOutCount } = await take();
  expect((await files(id)).map((line) => line.slice(7))).toEqual(expected);
  expect((await content(id, 'omitted')).split('\0')).toContain(omitted);
  expect(leftOutCount).toBe(0);
});

test("a rewind leaves git's own alone, also where it was made or has moved on since (T7)", async () => {
  const { sh, take, means } = shadowed();
  sh(`${BARE('.bare')}; git --git-dir=.bare worktree add -q wt`);
  const { id: to } = await take();
  sh(`cd wt; echo 2 > f; git add f; ${GIT} commit -qm two`);
  await take(to, true);
  sh(BARE('new'));
  const { id: now } = await take(to, true);
  const { changes, untaken } = await previewRestore(means, { known: now, now, to, force: false });
  expect(changes.map(({ kind, path }) => `${kind} ${path}`)).toEqual(['deleted wt/f']);
  expect(untaken).toEqual([{ path: 'new', why: 'git_made' }]);
});

test('a repository in which another one tracks files is captured as these (T2)', async () => {
  const { sh, take, files } = shadowed();
  sh(`git init -q; ${BARE('test.git')}; git add test.git/HEAD`);
  expect(await files((await take()).id)).toContain('100644 test.git/HEAD');
});
