// Going back to a snapshot of a folder.
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { previewRestore } from '../../../store/snapshots/preview-restore.ts';
import { restore } from '../../../store/snapshots/restore.ts';
import { shadowed } from './support.ts';

type Shadowed = ReturnType<typeof shadowed>;

async function goBack({ means, take }: Shadowed, to: string, known?: string, force = false) {
  const { id: now } = await take();
  const { changes } = await previewRestore(means, { known: known ?? now, now, to, force });
  await restore(means, to, changes);
  return changes;
}

/** All that lies in a folder: type, mode, content, but not what `.git` holds. */
function look(root: string): string {
  const script = `find . -path ./.git -prune -o -printf '%y %m %p %l\\n' | sort; find . -path ./.git -prune -o -type f -print0 | sort -z | xargs -0 -r sha256sum`;
  return spawnSync('bash', ['-c', script], { cwd: root, encoding: 'latin1', env: { ...process.env, LC_ALL: 'C' } })
    .stdout;
}

test('a folder goes back byte for byte, and what is ignored or in .git stays (T7)', async () => {
  const folder = shadowed();
  const { sh, take, root } = folder;
  sh(`
    git init -q . && printf 'out/\\n' > .gitignore && mkdir -p a/b out empty && echo one > a/one && echo two > 'a/b/-two'
    printf 'x\\r\\n' > crlf && ln -s a/one link && echo run > run && chmod +x run && echo o > out/o && printf z > "$(printf 'od\\377d')"
    git add -A && git -c user.name=a -c user.email=b commit -qm one
  `);
  const { id } = await take();
  const before = look(root);
  const head = sh('git rev-parse HEAD; git status --porcelain');
  sh(`
    echo more >> a/one; rm -r a/b; mkdir new new/deep; echo n > new/deep/n; rm link; mkdir link; echo in > link/in; chmod -x run
    rm crlf; ln -s nowhere crlf; echo file > a.txt; rm "$(printf 'od\\377d')"; rmdir empty
  `);
  const { id: after } = await take();
  const later = look(root);
  await goBack(folder, id);
  expect(look(root)).toBe(before);
  expect(sh('git rev-parse HEAD; git status --porcelain')).toBe(head);
  await goBack(folder, after);
  expect(look(root)).toBe(later);
});

test('a file that someone else has changed stops it with its name, and force overwrites it (T7)', async () => {
  const folder = shadowed();
  const { sh, take, content } = folder;
  sh('echo 1 > one; echo 1 > two');
  const first = await take();
  sh('echo 2 > one');
  const known = await take();
  sh('echo mine >> one; echo mine >> two; echo mine > other');
  await expect(goBack(folder, first.id, known.id)).rejects.toThrow(
    'one was changed by someone else since the last step',
  );
  const { id: safety } = await take();
  await goBack(folder, first.id, known.id, true);
  expect(sh('cat one two other 2>&1 || :')).toBe('1\n1\ncat: other: No such file or directory\n');
  expect(await content(safety, 'files/one')).toBe('2\nmine\n');
});

test('what no snapshot holds is never overwritten (T7)', async () => {
  const folder = shadowed({ fileBytes: 100 });
  const { sh, take } = folder;
  sh('echo 1 > one; mkdir two; echo x > two/x; printf "ignored\\n" > .gitignore');
  const first = await take();
  sh('head -c 1000 /dev/zero > one');
  await take();
  await expect(goBack(folder, first.id)).rejects.toThrow('one is in the way, and no snapshot holds it');
  sh('rm one; echo 1 > one; rm -r two; echo file > two');
  const { id } = await take();
  sh('rm two; mkdir two; echo i > two/ignored');
  await expect(goBack(folder, id)).rejects.toThrow('two/ignored is in the way, and no snapshot holds it');
  expect(sh('cat two/ignored')).toBe('i\n');
  sh('rm -r two; mkdir deep; echo d > deep/d');
  const deep = await take();
  sh('rm -r deep; ln -s . deep; echo deep >> .gitignore');
  await expect(goBack(folder, deep.id)).rejects.toThrow('deep is in the way, and no snapshot holds it');
  expect(sh('readlink deep')).toBe('.\n');
});

test('a link in whose place a folder is to be goes, and what lies where it leads is not in the way (T7)', async () => {
  const folder = shadowed();
  const { sh, take } = folder;
  sh('mkdir a b; echo a > a/inside; echo b > b/inside');
  const { id } = await take();
  sh('rm -r b; ln -s a b');
  await goBack(folder, id);
  expect(sh('cat a/inside b/inside')).toBe('a\nb\n');
});

test('folders in empty folders come back, and go again, each of them (T7)', async () => {
  const folder = shadowed();
  const { sh, take, root } = folder;
  sh('echo 1 > one; mkdir -p outer/inner/deep outer/beside');
  const { id } = await take();
  const before = look(root);
  sh('rm -r outer; mkdir -p other/below/it');
  const { id: after } = await take();
  const later = look(root);
  await goBack(folder, id);
  expect(look(root)).toBe(before);
  await goBack(folder, after);
  expect(look(root)).toBe(later);
});
