// Snapshots and ids that came with a transcript from elsewhere.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { hasSnapshot, listChanges, makePatch } from '../../../store/snapshots/compare.ts';
import { previewRestore } from '../../../store/snapshots/preview-restore.ts';
import { checkOut, restore } from '../../../store/snapshots/restore.ts';
import { compareSnapshots } from '../../../store/snapshots/take-snapshot.ts';
import { tempFolder } from '../../tools/support.ts';
import { runHere, shadowed } from './support.ts';

type Shadowed = ReturnType<typeof shadowed>;

/** Writes a snapshot with the files of another one, and any list of empty folders. */
function forge({ place }: Shadowed, id: string, folders: string): string {
  const git = (args: readonly string[], input: string) =>
    spawnSync('git', [`--git-dir=${place.gitDir}`, ...args], { input, encoding: 'latin1' }).stdout.trim();
  const blob = git(['hash-object', '-w', '--stdin'], folders);
  const files = git(['rev-parse', `${id}:files`], '');
  return git(['mktree'], `040000 tree ${files}\tfiles\n100644 blob ${blob}\tfolders\n`);
}

test('empty folders that lead out of the folder, into .git or over a link are not made (T7)', async () => {
  const folder = shadowed({}, 'root');
  const { sh, take, means, root } = folder;
  const outside = realpathSync(tempFolder());
  sh(`echo 1 > one; ln -s '${outside}' link; mkdir real`);
  const { id } = await take();
  const bad = [
    '../escaped/',
    `${outside}/absolute/`,
    '.git/hooks/',
    'real/.GIT/x/',
    'link/',
    'link/in/',
    './a/',
    'b//c/',
  ];
  const good = ['real/deep/', '-rf/', 'o d\n/*/', '..fine/', 'k\xff/'];
  const evil = forge(folder, id, [...bad, ...good].join('\0'));
  const expectMade = (at: string): void => {
    const made = readdirSync(at, { encoding: 'latin1' }).toSorted();
    expect(made).toEqual(['-rf', '..fine', 'k\xff', 'link', 'o d\n', 'one', 'real']);
    expect(readdirSync(join(at, 'real'))).toEqual(['deep']);
    expect(readdirSync(join(at, 'o d\n'))).toEqual(['*']);
    expect(readdirSync(outside)).toEqual([]);
    expect(existsSync(join(at, '..', 'escaped'))).toBe(false);
  };
  const copy = join(realpathSync(tempFolder()), 'copy');
  mkdirSync(copy);
  await checkOut(means, evil, copy);
  expectMade(copy);
  const { id: now } = await take();
  const { changes } = await previewRestore(means, { known: now, now, to: evil, force: false });
  await restore(means, { now, known: now, to: evil, changes });
  expectMade(root);
});

test('an id that is an option of git, or names a revision, is refused and writes nothing (T11)', async () => {
  const folder = shadowed();
  const { sh, take, means, place } = folder;
  sh('echo 1 > one');
  const { id } = await take();
  const reading = { gitDir: place.gitDir, git: means.git, run: runHere };
  const outside = tempFolder();
  const { ref } = place;
  for (const other of [`--output=${outside}/x`, '-h', ref, `${ref}^{tree}`, id.slice(0, 39), `${id}\n`, '']) {
    expect(await hasSnapshot(reading, other)).toBe(false);
    const pairs = [[other, id] as const, [id, other] as const];
    for (const [from, to] of pairs) {
      await expect(listChanges(reading, { from, to, paths: [] })).rejects.toThrow('is no id of a snapshot');
      const patch = makePatch(reading, { from, to, paths: [] }, { prefix: '', binary: true });
      await expect(patch).rejects.toThrow('is no id of a snapshot');
      await expect(compareSnapshots(means, from, to)).rejects.toThrow('is no id of a snapshot');
    }
    await expect(checkOut(means, other, tempFolder())).rejects.toThrow('is no id of a snapshot');
    await expect(restore(means, { now: id, known: id, to: other, changes: [] })).rejects.toThrow(
      'is no id of a snapshot',
    );
    expect(await take(other)).toMatchObject({ id, before: null, changes: [] });
  }
  expect(readdirSync(outside)).toEqual([]);
});
