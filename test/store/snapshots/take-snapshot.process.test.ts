// Snapshots of folders as they lie on disks of people.
import { dirname } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { showPath } from '../../../store/snapshots/listing.ts';
import { FolderCapture } from '../../../store/snapshots/capture-folder.ts';
import { placeOfRoot } from '../../../store/snapshots/shadow.ts';
import { takeSnapshot } from '../../../store/snapshots/take-snapshot.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import { checkOut } from '../../../store/snapshots/restore.ts';
import { shadowed } from './support.ts';

test('a snapshot has all files that are not ignored, as they lie: links, modes, line ends, nested repositories, any name (T2)', async () => {
  const { sh, take, files, content } = shadowed();
  sh(`
    git init -q . && printf '* text=auto eol=crlf\\n*.bin filter=gone\\n' > .gitattributes && printf 'out/\\n*.log\\n' > .gitignore
    mkdir -p a/b out nested/sub && echo x > a/b/f && printf 'x\\r\\ny\\n' > crlf && echo o > out/o && echo l > a/x.log
    echo b > a.bin && ln -s /etc/passwd link && mkfifo pipe && printf '#!/bin/sh\\n' > run && chmod +x run
    printf z > "$(printf 'od\\377d')"
    (cd nested && git init -q . && echo n > sub/n && echo skip > .gitignore && touch skip)
  `);
  const { id, files: count } = await take();
  const held = await files(id);
  expect(held).toEqual([
    '100644 .gitattributes',
    '100644 .gitignore',
    '100644 a.bin',
    '100644 a/b/f',
    '100644 crlf',
    '120000 link',
    '100644 nested/.gitignore',
    '100644 nested/sub/n',
    '100644 od\xffd',
    '100755 run',
  ]);
  expect(count).toBe(held.length);
  expect(await content(id, 'files/crlf')).toBe('x\r\ny\n');
  expect(await content(id, 'files/a.bin')).toBe('b\n');
  expect(showPath('od\xffd')).toBe('od\\xffd');
  expect(sh('git status --porcelain -uno; git rev-list --all | wc -l').trim()).toBe('0');
});

test('the next snapshot tells what has changed, and one without changes is the same (T1)', async () => {
  const { sh, take, content } = shadowed();
  sh('mkdir -p a && echo one > a/one && echo two > two && echo three > three');
  const first = await take();
  expect((await take(first.id)).id).toBe(first.id);
  sh('echo more >> a/one && rm two && echo new > new && mkdir -p empty/deep && chmod +x three');
  const second = await take(first.id);
  expect(second.changes).toEqual([
    { path: 'a/one', kind: 'changed', insertions: 1, deletions: 0 },
    { path: 'new', kind: 'added', insertions: 1, deletions: 0 },
    { path: 'three', kind: 'changed', insertions: 0, deletions: 0 },
    { path: 'two', kind: 'deleted', insertions: 0, deletions: 1 },
  ]);
  expect(second.files).toBe(3);
  expect(await content(second.id, 'folders')).toBe('empty/\0empty/deep/');
  // A folder takes the place of a file, and a file that of a folder.
  sh('rm -r a new; echo file > a; mkdir new; echo x > new/x');
  const third = await take(second.id).catch((error: unknown) => error);
  expect(third).toMatchObject({ files: 3 });
});

test('files over the bounds, pipes and what cannot be read are left out, and the rest is captured (T2)', async () => {
  const { sh, take, files } = shadowed({ files: 3, fileBytes: 1000 });
  sh('echo 1 > one; echo 2 > two; head -c 2000 /dev/zero > large');
  const first = await take();
  expect(await files(first.id)).toEqual(['100644 one', '100644 two']);
  expect(first.leftOut).toEqual([{ path: 'large', why: 'large' }]);
  sh('head -c 2000 /dev/zero > two; echo 3 > three; echo 4 > four; echo 5 > five');
  const second = await take(first.id);
  expect(await files(second.id)).toHaveLength(3);
  expect(second.leftOut.map(({ why }) => why).toSorted()).toEqual(['files', 'large', 'large']);
  sh('rm large two');
  const third = await take(second.id);
  expect(third.leftOut).toEqual([expect.objectContaining({ why: 'files' })]);
});

test('what was damaged of the shadow repository is made anew (T1)', async () => {
  const { sh, take, files, place } = shadowed();
  sh('echo 1 > one; echo 2 > two');
  const first = await take();
  sh(`printf damaged > ${place.own}/index; echo 3 > three`);
  const second = await take(first.id);
  expect(await files(second.id)).toEqual(['100644 one', '100644 three', '100644 two']);
  sh(`rm -r ${place.gitDir}/objects/[0-9a-f]*; echo 4 > four; touch ${place.own}/index.lock`);
  const third = await take();
  expect(await files(third.id)).toHaveLength(4);
});

test('ignored files that are included by name are captured, and those beside them are not (T2)', async () => {
  const { sh, means, files } = shadowed();
  sh(`
    printf '.env*\\nout/\\nlogs/\\n' > .gitignore && mkdir -p a out/deep logs && echo 1 > .env && echo 2 > a/.env && echo 3 > .env.local
    echo 4 > out/report.json && echo 5 > out/deep/x.json && echo 6 > out/other && echo 7 > logs/l
  `);
  const include = ['.env', '/out/*.json'];
  const { id } = await takeSnapshot({ ...means, include }, null);
  const names = ['.env', '.gitignore', 'a/.env', 'out/report.json'];
  expect(await files(id)).toEqual(names.map((name) => `100644 ${name}`));
  sh('rm out/report.json && echo more >> .env');
  const second = await takeSnapshot({ ...means, include }, id);
  expect(second.changes.map(({ kind, path }) => `${kind} ${path}`)).toEqual([
    'changed .env',
    'deleted out/report.json',
  ]);
});

test('a file that was captured stays so when a rule ignores it later, also in a fork, as git keeps what it tracks (T2 T10)', async () => {
  const { root, place, means, sh, take } = shadowed();
  sh('mkdir out; echo 1 > out/built; echo 1 > note');
  const first = await take();
  sh(`printf 'out/\\nnote\\nnew\\n' > .gitignore; echo 2 > out/built; echo 2 > note; echo 2 > new; echo 2 > out/new`);
  const second = await take(first.id);
  expect(second.changes.map(({ kind, path }) => `${kind} ${path}`)).toEqual([
    'added .gitignore',
    'changed note',
    'changed out/built',
  ]);
  const copy = `${root}-fork`;
  sh(`mkdir '${copy}'`);
  await checkOut(means, second.id, copy);
  const forked = placeOfRoot(dirname(place.gitDir), 's-2' as SessionId, copy);
  const folder = new FolderCapture({ place: forked, git: 'git' });
  onTestFinished(() => folder.close());
  const request = { place: forked, git: 'git', caps: means.caps, include: [], before: second.id };
  expect(await folder.capture(request)).toMatchObject({ id: second.id, changes: [], files: 3 });
  sh(`rm '${copy}/note'`);
  expect((await folder.capture(request)).changes.map(({ kind, path }) => `${kind} ${path}`)).toEqual(['deleted note']);
});

test('a file that changed within the same moment, with its size and times, is captured (T1)', async () => {
  const { sh, take, content } = shadowed();
  sh('echo aaaa > one && touch -d @1700000000 one');
  const first = await take();
  sh('echo bbbb > one && touch -d @1700000000 one');
  const second = await take(first.id);
  expect(second.changes.map(({ path }) => path)).toEqual(['one']);
  expect(await content(second.id, 'files/one')).toBe('bbbb\n');
});

test('what an earlier process knew is used again, and what of it is damaged or missing is captured anew (T1)', async () => {
  const { sh, take, files, place, means } = shadowed();
  sh('echo 1 > one && echo 2 > two && mkdir empty');
  const first = await take();
  const request = { ...means, include: [], before: first.id };
  const again = async () => {
    const folder = new FolderCapture({ place, git: 'git' });
    try {
      return await folder.capture(request);
    } finally {
      folder.save();
      folder.close();
    }
  };
  expect(await again()).toMatchObject({ id: first.id, changes: [] });
  sh('echo 3 > three');
  const second = await again();
  expect(second.changes.map(({ path }) => path)).toEqual(['three']);
  sh(`find ${place.gitDir}/objects -type f -delete`);
  const third = await again();
  expect(third).toMatchObject({ id: second.id, before: null });
  expect(await files(third.id)).toEqual(['100644 one', '100644 three', '100644 two']);
  sh(`printf damaged >> ${place.own}/stats`);
  expect(await again()).toMatchObject({ id: second.id });
});
