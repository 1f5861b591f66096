// Permissions of files and folders in snapshots, and how they go back.
import { expect, test } from 'vitest';
import { previewRestore } from '../../../store/snapshots/preview-restore.ts';
import { checkOut, restore } from '../../../store/snapshots/restore.ts';
import { compareSnapshots, takeSnapshot } from '../../../store/snapshots/take-snapshot.ts';
import { tempFolder } from '../../tools/support.ts';
import { runHere, shadowed } from './support.ts';

type Shadowed = ReturnType<typeof shadowed>;

/** Returns the paths that differed. */
async function goBack({ means, take }: Shadowed, to: string, known?: string, force = false) {
  const { id: now } = await take();
  const { changes } = await previewRestore(means, { known: known ?? now, now, to, force });
  await restore(means, { now, known: known ?? now, to, changes });
  return changes.map(({ path }) => path).toSorted();
}

/** Captures as a worker under that umask does. */
const takeUnder = ({ means }: Shadowed, umask: string, before: string | null = null) =>
  takeSnapshot(
    {
      ...means,
      capture: undefined,
      run: (argv, options) => runHere(['sh', '-c', `umask ${umask}; exec "$@"`, 'sh', ...argv], options),
    },
    before,
  );

const modesOf = ({ sh }: Shadowed, names: string) => sh(`stat -c "%a %n" ${names}`);

test('permissions of folders that stay go back, those of the workspace too, and an undo brings them again (T2 T7)', async () => {
  const folder = shadowed();
  folder.sh('umask 022; chmod 755 .; mkdir -m 700 d; echo 1 > d/f; mkdir -m 755 e empty; echo 1 > e/f; echo 1 > n');
  const { id } = await folder.take();
  folder.sh('chmod 700 .; chmod 777 d; chmod 700 e; chmod 770 empty; echo 2 > n');
  const { id: later, changes } = await folder.take(id);
  expect(changes.map(({ path }) => path).toSorted()).toEqual(['./', 'd/', 'e/', 'empty/', 'n']);
  expect(await goBack(folder, id)).toEqual(['./', 'd/', 'e/', 'empty/', 'n']);
  expect(modesOf(folder, '. d e empty')).toBe('755 .\n700 d\n755 e\n755 empty\n');
  expect((await folder.take()).id).toBe(id);
  await goBack(folder, later);
  expect(modesOf(folder, '. d e empty')).toBe('700 .\n777 d\n700 e\n770 empty\n');
});

test('a folder that someone else has closed stops it with its name, and one that came or went is no such change (T7)', async () => {
  const folder = shadowed();
  folder.sh('umask 022; mkdir -m 700 gone; echo 1 > gone/f; mkdir d; echo 1 > d/f');
  const { id } = await folder.take();
  folder.sh('umask 022; rm -r gone; mkdir -m 700 new; echo 1 > new/f; mkdir -m 750 hollow');
  const { id: known, changes } = await folder.take(id);
  expect(changes.map(({ path }) => path).toSorted()).toEqual(['gone/f', 'new/f']);
  folder.sh('chmod 700 d');
  await expect(goBack(folder, id, known)).rejects.toThrow('d/ was changed by someone else since the last step');
  expect(await goBack(folder, id, known, true)).toEqual(['d/', 'gone/f', 'new/f']);
  expect(modesOf(folder, 'd gone')).toBe('755 d\n700 gone\n');
});

test('what is captured of permissions does not depend on the umask of a worker (T2)', async () => {
  for (const usual of ['022', '002', '077', '027']) {
    const folder = shadowed();
    folder.sh(`umask ${usual}; for n in 1 2 3; do echo $n > $n; done; mkdir d; echo 1 > d/f; chmod 640 1; chmod 755 2`);
    const first = await takeUnder(folder, '022');
    expect((await takeUnder(folder, '077')).id).toBe(first.id);
    const note = await folder.content(first.id, 'modes');
    expect(note.split('\0')[0]).toBe(`usual ${Number(usual)}`);
    folder.sh('chmod 604 1; chmod 700 2 d');
    const { changes } = await takeUnder(folder, '077', first.id);
    expect(changes.map(({ path }) => path)).toEqual(expect.arrayContaining(['1', '2']));
    await goBack(folder, first.id);
    expect((await takeUnder(folder, '002')).id).toBe(first.id);
  }
});

test('permissions are compared also where most files got others meanwhile (T2 T7)', async () => {
  const folder = shadowed();
  folder.sh('umask 022; for n in 1 2 3 4; do echo $n > $n; done; mkdir d; echo 1 > d/f; chmod 600 1');
  const { id } = await folder.take();
  folder.sh('umask 022; chmod 600 2 3 4 d/f; echo 5 > 5; chmod 755 5; chmod 700 d');
  const { id: later, changes } = await folder.take(id);
  expect(changes.map(({ path }) => path).toSorted()).toEqual(['2', '3', '4', '5', 'd/', 'd/f']);
  expect((await compareSnapshots(folder.means, later, id)).map(({ path }) => path).toSorted()).toEqual(
    changes.map(({ path }) => path).toSorted(),
  );
  await goBack(folder, id);
  expect(modesOf(folder, '1 2 3 4 d d/f')).toBe('600 1\n644 2\n644 3\n644 4\n755 d\n644 d/f\n');
});

test('what may only be read, sticky folders and those of a group come back as they were, but no set-user-ID (T2 T7)', async () => {
  const folder = shadowed();
  folder.sh(`
    umask 022; mkdir -p ro/deep all group; echo 1 > ro/x; echo 1 > ro/deep/y; chmod 444 ro/x; chmod 555 ro/deep ro; echo 1 > all/f; echo 1 > group/f
    chmod 1777 all; chmod 2775 group; echo su > su; chmod 4755 su; mkdir stays; echo 1 > stays/f; chmod 555 stays
  `);
  const { id } = await folder.take();
  folder.sh('chmod -R u+w ro stays; rm -r ro all group su; echo 2 > stays/f; chmod 555 stays');
  await goBack(folder, id);
  const modes = '555 ro\n444 ro/x\n555 ro/deep\n1777 all\n2775 group\n755 su\n555 stays\n';
  expect(modesOf(folder, 'ro ro/x ro/deep all group su stays')).toBe(modes);
  expect((await folder.take()).id).toBe(id);
  const copy = tempFolder();
  await checkOut(folder.means, id, copy);
  expect(modesOf(folder, 'ro ro/x ro/deep all group su stays')).toBe(modes);
});

test('a program that runs as its owner does not when it gets another content back (T7)', async () => {
  const folder = shadowed();
  folder.sh('echo old > su; chmod 755 su; echo same > same; chmod 755 same');
  const { id } = await folder.take();
  folder.sh('echo new > su; chmod 6755 su; chmod 4750 same');
  await goBack(folder, id);
  expect(modesOf(folder, 'su same')).toBe('755 su\n4755 same\n');
});

test('empty folders that someone has made since the last step stay, in this rewind and in the next (T7)', async () => {
  const folder = shadowed();
  const { sh, take } = folder;
  sh('echo 1 > f');
  const first = await take();
  sh('mkdir -p early/of/agent; echo 2 > f');
  const second = await take();
  sh('mkdir -p made/by/agent; echo 3 > f');
  const known = await take();
  sh('mkdir -p uploads/new made/mine');
  await goBack(folder, second.id, known.id);
  expect(sh('find . -mindepth 1 | sort')).toBe(
    './early\n./early/of\n./early/of/agent\n./f\n./made\n./made/mine\n./uploads\n./uploads/new\n',
  );
  const after = await take();
  await goBack(folder, first.id, after.id);
  expect(sh('find . -mindepth 1 | sort')).toBe('./f\n./made\n./made/mine\n./uploads\n./uploads/new\n');
});
