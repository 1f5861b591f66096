// What applying changes keeps of the files that it changes, and what it leaves alone.
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { describeApplied } from '../../../cli/commands/diff.ts';
import { applyChanges } from '../../../client/sessions/files/apply-changes.ts';
import { CheckoutFolder, type Look } from '../../../client/sessions/files/checkout-folder.ts';
import { findGit, openShadowReading } from '../../../client/sessions/files/read-shadow.ts';
import { findPrograms } from '../../../system/process/programs.ts';
import { shadowed } from '../../store/snapshots/support.ts';
import { tempDir } from '../../support/temp-dir.ts';

const isRoot = process.getuid?.() === 0;
const programs = findPrograms(process.env);

/** A checkout of what the agent found, and what applies what it did; `gits` counts its programs. */
async function changed(before: string, after: string) {
  const folder = shadowed();
  folder.sh(before);
  const from = await folder.take();
  folder.sh(after);
  const to = await folder.take(from.id);
  const root = join(folder.place.gitDir, '..');
  const other = realpathSync(tempDir());
  execFileSync('sh', ['-ec', before], { cwd: other });
  const counted = { programs: 0 };
  const { runIn } = findGit(root, process.env);
  const reading = openShadowReading(root, process.env);
  const ports = {
    root,
    programs,
    runIn: ((...args) => ((counted.programs += 1), runIn(...args))) as typeof runIn,
    reading: { ...reading, run: ((...args) => ((counted.programs += 1), reading.run(...args))) as typeof reading.run },
  };
  const pair = { from: from.id, to: to.id, paths: [] };
  return { other, counted, apply: (dryRun = false) => applyChanges(ports, pair, other, { dryRun }) };
}

const attributesOf = (path: string): string =>
  execFileSync('python3', [
    '-c',
    'import os, sys\nprint([(n, os.getxattr(sys.argv[1], n)) for n in sorted(os.listxattr(sys.argv[1]))])',
    path,
  ]).toString();

test.runIf(isRoot)('a file keeps owner, group, mode and attributes when changes are applied to it (T11)', async () => {
  const { other, apply } = await changed('echo 1 > a && echo 1 > run', 'echo 2 > a && chmod +x run');
  const [a, run] = [join(other, 'a'), join(other, 'run')];
  for (const path of [a, run]) {
    chownSync(path, 1000, 1001);
    chmodSync(path, 0o640);
  }
  const set = 'import os, sys\nos.setxattr(sys.argv[1], "user.note", b"keep")';
  const hasAttributes = spawnSync('python3', ['-c', set, a]).status === 0;
  const before = hasAttributes && attributesOf(a);
  expect((await apply()).written).toEqual(['a', 'run']);
  const look = (path: string) => {
    const { uid, gid, mode } = statSync(path);
    return [uid, gid, (mode & 0o7777).toString(8)];
  };
  expect(readFileSync(a, 'utf8')).toBe('2\n');
  expect(look(a)).toEqual([1000, 1001, '640']);
  expect(hasAttributes && attributesOf(a)).toBe(before);
  // Who may read it may run it.
  expect(look(run)).toEqual([1000, 1001, '750']);
});

test('a new file is no more open than the one of the session, and neither is its folder (T11)', async () => {
  const { other, apply } = await changed(
    'umask 022; echo 1 > a; mkdir -m 755 d; echo 1 > d/a',
    'umask 022; echo key > id_rsa; chmod 600 id_rsa; mkdir -m 700 keys; echo k > keys/k; echo run > d/run; chmod 700 d/run; echo 2 > b; chmod 444 b',
  );
  expect((await apply()).written).toEqual(['b', 'd/run', 'id_rsa', 'keys/k']);
  const modeOf = (name: string) => (statSync(join(other, name)).mode & 0o777).toString(8);
  expect(['id_rsa', 'keys', 'keys/k', 'd/run', 'b'].map(modeOf)).toEqual(['600', '700', '644', '700', '444']);
});

test.runIf(isRoot)('a file that is a mount is written in place when changes are applied to it (T11)', async () => {
  const { other, apply } = await changed('echo a long text > a', 'echo new > a');
  const [path, outside] = [join(other, 'a'), join(tempDir(), 'a')];
  writeFileSync(outside, 'a long text\n');
  const isMounted = spawnSync('mount', ['--bind', outside, path]).status === 0;
  if (isMounted) onTestFinished(() => void execFileSync('umount', [path]));
  expect(await apply()).toMatchObject({ written: ['a'], conflicts: [] });
  if (isMounted) expect(readFileSync(outside, 'utf8')).toBe('new\n');
  expect(readdirSync(other)).toEqual(['a']);
});

test('a dry run of apply says what would be done, and does nothing (T11)', async () => {
  const before = 'mkdir d && seq 9 > both && echo old > d/gone && echo 1 > bin';
  const { other, apply } = await changed(
    before,
    `sed -i s/2/agent/ both && rm d/gone && printf '\\0' > bin && echo > new`,
  );
  execFileSync('sh', ['-ec', 'sed -i s/2/mine/ both && echo mine > bin'], { cwd: other });
  const planned = await apply(true);
  expect(describeApplied(planned, true)).toBe(
    [
      'would write new',
      'would delete d/gone',
      'conflict: bin: left alone: it is not text, and differs here',
      'conflict: both: both versions stand in it, between markers\n',
    ].join('\n'),
  );
  expect(execFileSync('sh', ['-c', 'ls; cat d/gone both'], { cwd: other, encoding: 'utf8' })).toBe(
    'bin\nboth\nd\nold\n1\nmine\n3\n4\n5\n6\n7\n8\n9\n',
  );
  expect(await apply()).toEqual(planned);
  expect(existsSync(join(other, 'd'))).toBe(false);
});

test('hundreds of files are applied, merged ones too, by a handful of programs (T11)', async () => {
  const each = (end: string) => `for n in $(seq 300); do (seq 9; echo ${end}) > f$n; done`;
  const { other, counted, apply } = await changed(each('old'), each('agent'));
  execFileSync('sh', ['-ec', 'for n in $(seq 40); do sed -i s/^1$/mine/ f$n; done'], { cwd: other });
  const { written, conflicts } = await apply();
  expect([written.length, conflicts.length]).toEqual([300, 0]);
  expect(readFileSync(join(other, 'f7'), 'utf8')).toBe('mine\n2\n3\n4\n5\n6\n7\n8\n9\nagent\n');
  expect(readFileSync(join(other, 'f77'), 'utf8')).toBe('1\n2\n3\n4\n5\n6\n7\n8\n9\nagent\n');
  expect(counted.programs).toBeLessThan(10);
});

const statsOf = (look: Look) => {
  if (look === null || look === 'blocked') throw new Error('it is not there');
  return look.stats;
};

test('a folder that became a link after it was looked at leads no write and no deletion outside (T11)', async () => {
  const [root, outside] = [realpathSync(tempDir()), realpathSync(tempDir())];
  for (const folder of [join(root, 'd'), outside]) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'a'), 'same');
  }
  const checkout = new CheckoutFolder(root, programs);
  const before = statsOf(await checkout.look('d/a', new Set()));
  renameSync(join(root, 'd'), join(root, 'was'));
  symlinkSync(outside, join(root, 'd'));
  const file = { path: 'd/a', mode: '100644', content: Buffer.from('new'), before };
  expect(await checkout.write(file)).toBe('blocked');
  expect(await checkout.write({ ...file, path: 'd/deep/new', before: null })).toBe('blocked');
  expect(await checkout.remove('d/a', before)).toBe('blocked');
  expect(await checkout.read('d/a')).toBeNull();
  expect(readdirSync(outside)).toEqual(['a']);
  expect(readFileSync(join(outside, 'a'), 'utf8')).toBe('same');
});

test('a file that someone changes after it was looked at is left as it is (T11)', async () => {
  const root = realpathSync(tempDir());
  writeFileSync(join(root, 'a'), 'old');
  const checkout = new CheckoutFolder(root, programs);
  const before = statsOf(await checkout.look('a', new Set()));
  writeFileSync(join(root, 'a'), 'theirs');
  const file = { path: 'a', mode: '100644', content: Buffer.from('new'), before };
  expect(await checkout.write(file)).toBe('changed_here');
  expect(await checkout.remove('a', before)).toBe('changed_here');
  expect(await checkout.write({ ...file, before: null })).toBe('changed_here');
  expect(readFileSync(join(root, 'a'), 'utf8')).toBe('theirs');
  expect(readdirSync(root)).toEqual(['a']);
});

test('what a killed apply was writing is removed by the next, and what a living one writes is not (T11)', async () => {
  const { other, apply } = await changed('mkdir d && echo 1 > d/a', 'echo 2 > d/a');
  const dead = spawnSync('true').pid;
  const [left, living] = [`.perdure-apply-${dead}-0123abcd.tmp`, `.perdure-apply-${process.pid}-0123abcd.tmp`];
  for (const name of [left, living]) writeFileSync(join(other, 'd', name), 'half');
  expect((await apply()).written).toEqual(['d/a']);
  expect(readdirSync(join(other, 'd')).toSorted()).toEqual([living, 'a']);
});
