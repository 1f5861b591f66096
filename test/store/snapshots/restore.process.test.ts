// Going back to a snapshot of a folder.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { previewRestore } from '../../../store/snapshots/preview-restore.ts';
import { checkOut, restore } from '../../../store/snapshots/restore.ts';
import { tempFolder } from '../../tools/support.ts';
import { shadowed } from './support.ts';

type Shadowed = ReturnType<typeof shadowed>;

async function goBack({ means, take }: Shadowed, to: string, known?: string, force = false) {
  const { id: now } = await take();
  const { changes } = await previewRestore(means, { known: known ?? now, now, to, force });
  await restore(means, { now, known: known ?? now, to, changes });
  return changes;
}

/** All that lies in a folder: type, mode, content, but not what `.git` holds. */
function look(root: string): string {
  const script = `find . -path ./.git -prune -o -printf '%y %m %p %l\\n' | sort; find . -path ./.git -prune -o -type f -print0 | sort -z | xargs -0 -r sha256sum`;
  return spawnSync('bash', ['-c', script], { cwd: root, encoding: 'latin1', env: { ...process.env, LC_ALL: 'C' } })
    .stdout;
}

/** Extended attributes, by what is there to set them: nothing where none can be. */
function trySet(cwd: string, name: string, value: string, path: string): boolean {
  const script = 'import os,sys; os.setxattr(sys.argv[3], sys.argv[1], sys.argv[2].encode())';
  const done = spawnSync('python3', ['-c', script, name, value, path], { cwd });
  return done.status === 0;
}

function readAttribute(cwd: string, name: string, path: string): string {
  const script = 'import os,sys; print(os.getxattr(sys.argv[2], sys.argv[1]).decode(), end="")';
  return String(spawnSync('python3', ['-c', script, name, path], { cwd }).stdout);
}

/** Reads files again and again until its input ends, and prints what was neither old nor new. */
const READER = `
  const { readFileSync, writeSync } = require('node:fs');
  const whole = new Set(['old\\n', 'new\\n'].map((line) => line.repeat(50_000)));
  const wrong = new Set();
  let isOver = false;
  process.stdin.on('end', () => (isOver = true)).resume();
  writeSync(1, '{"began":true,');
  const look = () => {
    for (const name of process.argv.slice(1))
      try {
        if (!whole.has(readFileSync(name, 'latin1'))) wrong.add(name);
      } catch (error) {
        wrong.add(error.code);
      }
    if (isOver) console.log('"wrong":' + JSON.stringify([...wrong]) + '}');
    else setImmediate(look);
  };
  look();
`;

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

test('of a file that the last step could not capture nothing says that someone else has changed it (T7)', async () => {
  const folder = shadowed({ bytes: 1_000 });
  const { sh, take } = folder;
  sh('echo 1 > a');
  const first = await take();
  sh('head -c 700 /dev/zero > big; mkdir b; head -c 700 /dev/zero > b/more');
  const known = await take();
  sh('rm -r b');
  const problem = 'big was not captured at the last step, and someone else may have changed it since';
  await expect(goBack(folder, first.id, known.id)).rejects.toThrow(problem);
  await goBack(folder, first.id, known.id, true);
  expect(sh('ls')).toBe('a\n');
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

test('folders that only the agent made go, and an empty one that someone has stays as it is (T7)', async () => {
  const folder = shadowed();
  const { sh, take, root } = folder;
  sh('echo 1 > one; mkdir -m 700 theirs; mkdir kept; echo i > kept/ignored; echo ignored > .gitignore');
  const { id } = await take();
  const before = look(root);
  const times = sh('stat -c "%Y %Z %i" theirs');
  sh('mkdir -p nd/e/deep nd/other; echo x > nd/f; echo y > nd/e/deep/y; echo z > kept/z');
  await goBack(folder, id);
  expect(look(root)).toBe(before);
  expect(sh('stat -c "%Y %Z %i" theirs')).toBe(times);
});

test('an empty folder that was ignored stays where it no longer is, and one where a file was goes (T7)', async () => {
  const folder = shadowed();
  const { sh, take } = folder;
  sh('git init -q .; echo build/ > .gitignore; mkdir -p build/deep; echo a > taken');
  const { id } = await take();
  sh(': > .gitignore; rm taken; mkdir -p taken more/deep');
  const { id: known } = await take();
  await goBack(folder, id, known);
  expect(sh('cat .gitignore taken; find . -path ./.git -prune -o -type d -print | sort')).toBe(
    'build/\na\n.\n./build\n./build/deep\n',
  );
});

test('folders that an attempt has emptied before it was killed go with the next one (T7 T9)', async () => {
  const folder = shadowed();
  const { sh, take } = folder;
  sh('echo file > b');
  const { id } = await take();
  sh('rm b; mkdir -p b/deep c/deep; echo 1 > b/deep/one; echo 2 > c/deep/two');
  const { id: known } = await take();
  sh('rm b/deep/one c/deep/two; mkdir mine');
  await goBack(folder, id, known);
  expect(sh('cat b; ls -d */')).toBe('file\nmine/\n');
});

test('names that git refuses to check out come back, links and files (T7)', async () => {
  const folder = shadowed();
  const { sh, take, root, means } = folder;
  sh(`
    echo a > a; ln -s a .gitmodules; ln -s a .gitattributes; echo 1 > 'git~1'; mkdir 'GIT~1'; echo 2 > 'GIT~1/x'
    echo 3 > 'back\\slash'; mkdir '..\\x'; echo 4 > '..\\x/y'; echo 5 > aux; echo 6 > 'c:stream'; mkdir .GIT; echo mine > .GIT/x
    printf '[submodule "../../x"]\\n\\tpath = -x\\n\\turl = -u\\n' > sub; mkdir d; mv sub d/.gitmodules
  `);
  const { id } = await take();
  const before = look(root);
  sh(`rm -r .gitmodules .gitattributes 'git~1' 'GIT~1' 'back\\slash' '..\\x' aux d; echo other > 'c:stream'`);
  const { id: after } = await take();
  const later = look(root);
  await goBack(folder, id);
  expect(look(root)).toBe(before);
  await goBack(folder, after);
  expect(look(root)).toBe(later);
  const copy = realpathSync(tempFolder());
  await checkOut(means, id, copy);
  sh('rm -r .GIT');
  await goBack(folder, id);
  expect(look(copy)).toBe(look(root));
});

test('a file that goes back keeps its owner, mode and attributes, and one with its content is not touched (T7)', async () => {
  const folder = shadowed();
  const { sh, take, root, means } = folder;
  sh(
    'for name in private shared same run gone; do echo old > $name; chmod 640 $name; done; chmod 600 private; chmod 604 gone',
  );
  const { id } = await take();
  const hasAttributes = trySet(root, 'user.perdure', 'kept', 'shared');
  if (process.getuid?.() === 0) sh('chown 12:34 shared');
  sh('for name in private shared same gone; do echo changed > $name; done; chmod 4750 run; rm gone');
  const { id: now } = await take();
  const { changes } = await previewRestore(means, { known: now, now, to: id, force: false });
  sh('echo old > same; touch -d 2001-02-03 same run');
  const inode = sh('stat -c %i same run');
  await restore(means, { now, known: now, to: id, changes });
  expect(sh('cat private shared same run gone')).toBe('old\n'.repeat(5));
  expect(sh('stat -c "%a %n" private shared same run gone')).toBe(
    '600 private\n640 shared\n640 same\n4640 run\n604 gone\n',
  );
  expect(sh('stat -c %i same run; stat -c %Y same')).toBe(`${inode}981158400\n`);
  if (process.getuid?.() === 0) expect(sh('stat -c %u:%g shared')).toBe('12:34\n');
  if (hasAttributes) expect(readAttribute(root, 'user.perdure', 'shared')).toBe('kept');
});

test('permissions that a snapshot had come back, of files that went and of those that only changed theirs (T2 T7)', async () => {
  const folder = shadowed();
  const { sh, take } = folder;
  sh('umask 022; echo 1 > key; echo 2 > open; mkdir -m 700 inner; echo 3 > inner/file; chmod 600 key inner/file');
  const { id } = await take();
  sh('rm -r inner; chmod 644 key; chmod 606 open');
  const { changes } = await take(id);
  expect(changes.map(({ kind, path }) => `${kind} ${path}`).toSorted()).toEqual([
    'changed key',
    'changed open',
    'deleted inner/file',
  ]);
  await goBack(folder, id);
  expect(sh('stat -c "%a %n" inner inner/file key open')).toBe('700 inner\n600 inner/file\n600 key\n644 open\n');
  expect((await take()).id).toBe(id);
});

test('folders get the permissions that they had, and are closed to others before files go back into them (T7)', async () => {
  const folder = shadowed();
  const { sh, take } = folder;
  sh('umask 022; mkdir -m 700 keys; mkdir -m 750 team team/sub; mkdir open stays; chmod 700 stays');
  sh('umask 022; for at in keys team/sub open stays; do echo old > $at/file; done');
  const { id } = await take();
  sh(
    'umask 022; rm -r keys; mkdir keys; echo other > keys/other; chmod 755 team stays; chmod 777 team/sub; chmod 775 open',
  );
  sh('for at in team/sub open; do echo new > $at/file; done');
  await goBack(folder, id);
  expect(sh('cat keys/file team/sub/file open/file')).toBe('old\n'.repeat(3));
  expect(sh('stat -c "%a %n" keys team team/sub open stays')).toBe(
    '700 keys\n750 team\n750 team/sub\n755 open\n700 stays\n',
  );
});

test('other names of files that go back keep content and permissions, and files that did not differ their names (T7)', async () => {
  const folder = shadowed();
  const { sh, take } = folder;
  sh(
    'for name in a b c; do echo old > $name; done; chmod 600 b; chmod 644 a c; ln a "$PWD-a"; ln b "$PWD-b"; ln c "$PWD-c"',
  );
  const { id } = await take();
  sh('echo new > "$PWD-a"; chmod 640 b');
  await goBack(folder, id);
  const outside = '"$PWD-a" "$PWD-b" "$PWD-c"';
  expect(sh(`cat a b c ${outside}`)).toBe('old\nold\nold\nnew\nold\nold\n');
  expect(sh(`stat -c %a:%h a b c ${outside}`)).toBe('644:1\n600:1\n644:2\n644:1\n640:1\n644:2\n');
});

test('a pipe where an empty folder is to be refuses it before anything is written (T7)', async () => {
  const folder = shadowed();
  const { sh, take } = folder;
  sh('mkdir -p empty/deep; echo old > a; echo b > b');
  const { id } = await take();
  sh('rm -r empty b; mkfifo empty; echo new > a');
  await expect(goBack(folder, id)).rejects.toThrow('empty is in the way, and no snapshot holds it');
  expect(sh('cat a; ls')).toBe('new\na\nempty\n');
});

test('whoever reads a file while it goes back has the old or the new one, whole (T7)', async () => {
  const folder = shadowed();
  const { sh, take, root } = folder;
  const names = Array.from({ length: 60 }, (_, at) => `f${at}`);
  for (const name of names) writeFileSync(join(root, name), 'old\n'.repeat(50_000));
  const { id } = await take();
  for (const name of names) writeFileSync(join(root, name), 'new\n'.repeat(50_000));
  const reader = spawn('node', ['-e', READER, ...names], { cwd: root, stdio: ['pipe', 'pipe', 'inherit'] });
  const found = text(reader.stdout);
  await once(reader.stdout, 'readable');
  await goBack(folder, id);
  reader.stdin.end();
  expect(JSON.parse(await found)).toEqual({ began: true, wrong: [] });
  expect(sh('cat f* | sort -u')).toBe('old\n');
});

test('what others save after the capture stays, and nothing says that it went back (T7)', async () => {
  const shadow = shadowed();
  const { means, root, sh, take } = shadow;
  sh('echo one > notes; ln -s a link; echo gone > gone; echo made > other');
  const { id: to } = await take();
  sh('echo two > notes; ln -sfn b link; rm gone; echo later > later; echo changed > other');
  const { id: now } = await take();
  const { changes } = await previewRestore(means, { known: now, now, to, force: true });
  const saved: readonly (readonly [path: string, script: string])[] = [
    ['notes', 'echo saved >> notes'],
    ['link', 'ln -sfn saved link'],
    ['gone', 'echo saved > gone'],
    ['later', 'echo saved >> later'],
  ];
  for (const [path, script] of saved) {
    sh(script);
    const before = sh(`cat ${path} 2> /dev/null || readlink ${path} || :`);
    await expect(restore(means, { now, known: now, to, changes })).rejects.toThrow(
      `${path} was changed while files went back`,
    );
    expect(sh(`cat ${path} 2> /dev/null || readlink ${path} || :`)).toBe(before);
    expect(readdirSync(root).filter((name) => name.startsWith('.perdure'))).toEqual([]);
    sh('echo two > notes; ln -sfn b link; rm -f gone; echo later > later; echo changed > other');
  }
  await restore(means, { now, known: now, to, changes });
  expect(sh('cat notes gone other; readlink link; ls')).toBe('one\ngone\nmade\na\ngone\nlink\nnotes\nother\n');
});
