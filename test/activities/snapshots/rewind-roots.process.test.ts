// A rewind of files that is killed at any moment of it, and attempted again.
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { rewindRoots } from '../../../activities/snapshots/rewind-roots.ts';
import { openRoot } from '../../../activities/snapshots/rewind-means.ts';
import { fetchPacks } from '../../../store/snapshots/packs.ts';
import type { Entry } from '../../../store/log/entries.ts';
import { fileStore } from '../../../store/values/file-store.ts';
import type { LogLevel } from '../../../system/log.ts';
import { runGitHeld } from '../../../activities/snapshots/run-git-held.ts';
import type { Attempt } from '../../../activities/attempt.ts';
import { placeOfRoot } from '../../../store/snapshots/shadow.ts';
import { DEFAULT_CAPS, takeSnapshot } from '../../../store/snapshots/take-snapshot.ts';
import { probeSandbox, type Sandbox } from '../../../tools/sandbox.ts';
import type { Hash, SessionId } from '../../../workflows/contract/ids.ts';
import { runHere } from '../../store/snapshots/support.ts';
import { tempFolder } from '../../tools/support.ts';

const session = 's-1' as SessionId;
const signal = new AbortController().signal;
const attempt = { session, signal, fence: () => Promise.resolve(true) } as unknown as Attempt;

/** Kills what restores files after so many seconds. */
function killing(sandbox: Sandbox, seconds: number): Sandbox {
  return {
    ...sandbox,
    wrap: (argv, confinement) => {
      const isRestore = argv.join(' ').includes('"do":"restore"');
      return sandbox.wrap(isRestore ? ['timeout', '-s', 'KILL', String(seconds), ...argv] : argv, confinement);
    },
  };
}

/** A folder of a session with two snapshots: its files say `old` in `to`, and `new` in `known`. */
async function openRewound(sandbox: Sandbox, names: readonly string[], dataDir = join(tempFolder(), 'data')) {
  const root = tempFolder();
  mkdirSync(dataDir, { recursive: true });
  const options = { sandbox, dataDir, caps: DEFAULT_CAPS };
  const place = placeOfRoot(dataDir, session, root);
  const means = { place, git: 'git', run: runGitHeld(options, signal), caps: DEFAULT_CAPS };
  const write = (name: string, text: string) => writeFileSync(join(root, name), text);
  const read = (name: string) => readFileSync(join(root, name), 'utf8');
  for (const name of names) write(name, `old ${name}\n`);
  const { id: to } = await takeSnapshot(means, null);
  for (const name of names) write(name, `new ${name}\n`);
  const { id: known } = await takeSnapshot(means, null);
  return { root, options, place, means, to, write, read, asked: { root, known, to } };
}

/** Puts a script in the place of what restores files, which it gets as its arguments. */
function restoringBy(sandbox: Sandbox, script: string): Sandbox {
  return {
    ...sandbox,
    wrap: (argv, confinement) => {
      const isRestore = argv.join(' ').includes('"do":"restore"');
      return sandbox.wrap(isRestore ? ['sh', '-c', script, 'sh', ...argv] : argv, confinement);
    },
  };
}

/** Restores all files, and then fails with an error of git's, on the way to one snapshot. */
const failsTo = (to: string) =>
  `case "$*" in *'"to":"${to}"'*) "$@"; echo 'error: unable to write file b' >&2; exit 1;; esac; exec "$@"`;

test('a rewind that git cannot end is refused with its sentence, and takes back what it has written (T7)', async () => {
  const sandbox = await probeSandbox({ kinds: ['group'] });
  const { options, asked, to, read } = await openRewound(sandbox, ['a', 'b']);
  const failing = { ...options, sandbox: restoringBy(sandbox, failsTo(to)) };
  const done = await rewindRoots(failing, { step: 3, roots: [asked], attempt });
  expect(done).toEqual({ kind: 'refused', problem: 'error: unable to write file b' });
  expect([read('a'), read('b')]).toEqual(['new a\n', 'new b\n']);
});

test('each snapshot of a rewind names its session, its step and the folder in the history (T2 T7)', async () => {
  const sandbox = await probeSandbox({ kinds: ['group'] });
  const { options, asked, root, place, write } = await openRewound(sandbox, ['a', 'b']);
  write('b', 'later b\n');
  write('.gitignore', 'b\n');
  await rewindRoots(options, { step: 3, roots: [asked], attempt, force: true });
  const args = [`--git-dir=${place.gitDir}`, 'log', '--format=%B%x00', place.ref];
  const commits = spawnSync('git', args, { encoding: 'utf8' })
    .stdout.split('\0')
    .map((each) => each.trim());
  const named = `snapshot of ${root}\n\nSession: ${session}\nRewind: step 3`;
  expect(commits.filter((each) => each === named)).toHaveLength(2);
});

test('what a refused rewind has brought back goes again, also where a rule ignores it by now (T7)', async () => {
  const sandbox = await probeSandbox({ kinds: ['group'] });
  const { options, asked, to, root, means, write } = await openRewound(sandbox, ['a', 'c']);
  rmSync(join(root, 'c'));
  write('.gitignore', 'c\n');
  const { id: known } = await takeSnapshot(means, null);
  const failing = { ...options, sandbox: restoringBy(sandbox, failsTo(to)) };
  const done = await rewindRoots(failing, { step: 3, roots: [{ ...asked, known }], attempt });
  expect(done).toEqual({ kind: 'refused', problem: 'error: unable to write file b' });
  expect(readdirSync(root).toSorted()).toEqual(['.gitignore', 'a']);
});

test('what stayed or was brought back goes on being captured, so that an undo and another rewind know it (T2 T7)', async () => {
  const sandbox = await probeSandbox({ kinds: ['group'] });
  const { options, means, root, write, read } = await openRewound(sandbox, ['a', 'tracked']);
  write('.gitignore', 'tracked\nstays\n');
  const { id: to } = await takeSnapshot(means, null);
  rmSync(join(root, 'tracked'));
  rmSync(join(root, '.gitignore'));
  const { id: known } = await takeSnapshot(means, null);
  // A person's file, which was ignored then.
  write('stays', 'stays\n');
  let step = 3;
  const go = async (asked: { readonly known: string; readonly to: string }) => {
    const done = await rewindRoots(options, { step: (step += 1), roots: [{ root, ...asked }], attempt });
    if (done.kind === 'refused') throw new Error(done.problem);
    const { before, after = asked.to } = done.roots[0] as (typeof done.roots)[0];
    return { before, after };
  };
  const list = () => readdirSync(root).toSorted();
  const back = await go({ known, to });
  expect(list()).toEqual(['.gitignore', 'a', 'stays', 'tracked']);
  const undone = await go({ known: back.after, to: back.before });
  expect(list()).toEqual(['a', 'stays']);
  await go({ known: undone.after, to });
  expect(list()).toEqual(['.gitignore', 'a', 'stays', 'tracked']);
  expect([read('tracked'), read('stays')]).toEqual(['new tracked\n', 'stays\n']);
});

test('a rewind whose files cannot be taken back names their folder, and is not attempted again (T7)', async () => {
  const sandbox = await probeSandbox({ kinds: ['group'] });
  const { options, asked, root } = await openRewound(sandbox, ['a']);
  const failing = { ...options, sandbox: restoringBy(sandbox, '"$@"; echo full >&2; exit 1') };
  const done = await rewindRoots(failing, { step: 3, roots: [asked], attempt });
  expect(done).toEqual({ kind: 'refused', problem: `full; ${root} is not as it was before: full` });
});

test('a rewind to contents that are damaged or missing is refused before anything is written (T7)', async () => {
  const sandbox = await probeSandbox({ kinds: ['group'] });
  const { options, asked, place, read } = await openRewound(sandbox, ['a', 'b']);
  const { stdout: hash } = spawnSync('git', ['hash-object', '--stdin'], { input: 'old b\n', encoding: 'utf8' });
  const object = join(place.gitDir, 'objects', hash.slice(0, 2), hash.slice(2).trim());
  const noRestore = { ...options, sandbox: restoringBy(sandbox, 'echo restored >&2; exit 1') };
  const rewind = () => rewindRoots(noRestore, { step: 3, roots: [asked], attempt });
  rmSync(object);
  writeFileSync(object, 'damaged');
  const refused = { kind: 'refused', problem: expect.stringContaining(hash.trim()) as string };
  expect(await rewind()).toMatchObject(refused);
  rmSync(object);
  expect(await rewind()).toMatchObject(refused);
  expect([read('a'), read('b')]).toEqual(['new a\n', 'new b\n']);
});

test('a rewind attempted again stops at what someone has changed meanwhile, and leaves it alone (T7 T9)', async () => {
  const sandbox = await probeSandbox({ kinds: ['group'] });
  const { options, asked, place, write, read } = await openRewound(sandbox, ['a', 'b', 'c', 'd']);
  // An attempt was killed while it wrote c, and b is a person's since.
  writeFileSync(join(place.own, 'rewind.json'), JSON.stringify({ step: 3, before: asked.known }));
  const leave = () => {
    write('a', 'old a\n');
    write('b', 'of a person\n');
    write('c', 'old');
  };
  const look = () => ['a', 'b', 'c', 'd'].map(read);
  leave();
  const refused = await rewindRoots(options, { step: 3, roots: [asked], attempt });
  const problem = 'b was changed by someone else since the last step: use force to overwrite it';
  expect(refused).toEqual({ kind: 'refused', problem });
  expect(look()).toEqual(['new a\n', 'of a person\n', 'new c\n', 'new d\n']);
  leave();
  const forced = await rewindRoots(options, { step: 3, roots: [asked], attempt, force: true });
  expect(forced).toMatchObject({ kind: 'done' });
  expect(look()).toEqual(['old a\n', 'old b\n', 'old c\n', 'old d\n']);
});

test('what someone has deleted meanwhile stays so when a rewind is refused or attempted again, but for force (T7 T9)', async () => {
  const sandbox = await probeSandbox({ kinds: ['group'] });
  const { options, asked, means, place, root, to, write, read } = await openRewound(sandbox, ['a', 'b', 'same']);
  write('same', 'old same\n');
  const { id: known } = await takeSnapshot(means, null);
  const roots = [{ ...asked, known }];
  const begin = (step: number) =>
    writeFileSync(join(place.own, 'rewind.json'), JSON.stringify({ step, before: known }));
  const names = () => readdirSync(root).toSorted();
  // An attempt was killed after it had written a.
  begin(3);
  write('a', 'old a\n');
  rmSync(join(root, 'b'));
  const refused = await rewindRoots(options, { step: 3, roots, attempt });
  const problem = 'b was changed by someone else since the last step: use force to overwrite it';
  expect(refused).toEqual({ kind: 'refused', problem });
  expect([read('a'), ...names()]).toEqual(['new a\n', 'a', 'same']);
  // One that fails takes the rest back alone.
  write('b', 'new b\n');
  const deletes = `case "$*" in *'"to":"${to}"'*) "$@"; rm '${root}/same'; echo full >&2; exit 1;; esac; exec "$@"`;
  const failing = { ...options, sandbox: restoringBy(sandbox, deletes) };
  expect(await rewindRoots(failing, { step: 4, roots, attempt })).toEqual({ kind: 'refused', problem: 'full' });
  expect([read('a'), read('b'), ...names()]).toEqual(['new a\n', 'new b\n', 'a', 'b']);
  begin(5);
  expect(await rewindRoots(options, { step: 5, roots, attempt, force: true })).toMatchObject({ kind: 'done' });
  expect([read('a'), read('b'), read('same')]).toEqual(['old a\n', 'old b\n', 'old same\n']);
});

test('what someone changes in a folder while another one is written stops a rewind, and force captures it (T7)', async () => {
  const sandbox = await probeSandbox({ kinds: ['group'] });
  const { options, ...one } = await openRewound(sandbox, ['a']);
  const two = await openRewound(sandbox, ['b', 'c'], options.dataDir);
  const edits = `case "$*" in *'"root":"${one.root}"'*) echo 'of a person' > ${two.root}/b;; esac; exec "$@"`;
  const edited = { ...options, sandbox: restoringBy(sandbox, edits) };
  const roots = [one.asked, two.asked];
  const problem = 'b was changed by someone else since the last step: use force to overwrite it';
  expect(await rewindRoots(edited, { step: 3, roots, attempt })).toEqual({ kind: 'refused', problem });
  expect([one.read('a'), two.read('b'), two.read('c')]).toEqual(['new a\n', 'of a person\n', 'new c\n']);
  two.write('b', 'new b\n');
  const forced = await rewindRoots(edited, { step: 4, roots, attempt, force: true });
  expect([one.read('a'), two.read('b'), two.read('c')]).toEqual(['old a\n', 'old b\n', 'old c\n']);
  const { before = '' } = forced.kind === 'done' ? (forced.roots[1] ?? {}) : {};
  const held = spawnSync('git', [`--git-dir=${two.place.gitDir}`, 'cat-file', 'blob', `${before}:files/b`]);
  expect(String(held.stdout)).toBe('of a person\n');
});

test('a file that has outgrown a bound refuses a rewind with the name of the bound, and force does not help (T7)', async () => {
  const sandbox = await probeSandbox({ kinds: ['group'] });
  const { options, asked, write, read } = await openRewound(sandbox, ['a', 'b']);
  write('b', 'x'.repeat(200));
  const bounded = { ...options, caps: { ...DEFAULT_CAPS, fileBytes: 100 } };
  const problem = 'b is in the way, and no snapshot holds it, for it is beyond the bound snapshots.fileBytes';
  for (const force of [{}, { force: true }] as const) {
    const refused = await rewindRoots(bounded, { step: 3, roots: [asked], attempt, ...force });
    expect(refused).toEqual({ kind: 'refused', problem: `${problem}: move it away first` });
  }
  expect([read('a'), read('b').length]).toEqual(['new a\n', 200]);
});

test("what is beyond a bound and already as it is to be is in nobody's way, and stays untouched by its undo (T7)", async () => {
  const sandbox = await probeSandbox({ kinds: ['group'] });
  const names = ['a', 'run', 'x1', 'x2', 'x3'];
  const { options, asked, root, means, write, read } = await openRewound(sandbox, names);
  chmodSync(join(root, 'run'), 0o755);
  symlinkSync('a', join(root, 'x-link'));
  const { id: to } = await takeSnapshot(means, null);
  for (const name of ['x1', 'x2', 'x3', 'x-link']) rmSync(join(root, name));
  write('a', 'newer a\n');
  const { id: known } = await takeSnapshot(means, to);
  // Beyond the bound someone makes them again: two files alike, one not, and a link.
  const put = (third: string) => {
    write('x1', 'new x1\n');
    write('x2', 'new x2\n');
    write('x3', third);
    symlinkSync('a', join(root, 'x-link'));
  };
  const bounded = { ...options, caps: { ...DEFAULT_CAPS, files: 2 } };
  const rewind = (step: number, from: string, back: string) =>
    rewindRoots(bounded, { step, roots: [{ ...asked, known: from, to: back }], attempt });
  put('of a person\n');
  const refused = {
    kind: 'refused',
    problem: expect.stringMatching(/^x3 is in the way, .* bound snapshots.files/) as string,
  };
  expect(await rewind(3, known, to)).toMatchObject(refused);
  write('x3', 'new x3\n');
  chmodSync(join(root, 'x3'), 0o755);
  expect(await rewind(4, known, to)).toMatchObject(refused);
  chmodSync(join(root, 'x3'), 0o644);
  const before = statSync(join(root, 'x1'));
  const done = await rewind(5, known, to);
  expect(done).toMatchObject({ kind: 'done', roots: [{ files: 1 }] });
  const { after = to, before: found = '' } = done.kind === 'done' ? (done.roots[0] ?? {}) : {};
  expect([...names.map(read), readlinkSync(join(root, 'x-link'))]).toEqual([
    ...names.map((name) => `new ${name}\n`),
    'a',
  ]);
  expect(await rewind(6, after, found)).toMatchObject({ kind: 'done' });
  expect([read('a'), ...['x1', 'x2', 'x3'].map(read)]).toEqual(['newer a\n', 'new x1\n', 'new x2\n', 'new x3\n']);
  expect(statSync(join(root, 'x1'))).toMatchObject({ ino: before.ino, mtimeMs: before.mtimeMs });
});

test('the folder of a session that someone has removed is there again before files go back (T7)', async () => {
  const sandbox = await probeSandbox({ kinds: ['group'] });
  const { options, place, asked, read } = await openRewound(sandbox, ['a']);
  rmSync(place.own, { recursive: true });
  const about = { step: 3, roots: [asked], attempt };
  expect((await openRoot(options, about, asked)).place).toEqual(place);
  expect(await rewindRoots(options, about)).toMatchObject({ kind: 'done' });
  expect(read('a')).toBe('old a\n');
});

test('what a rewind found and left is stored for other hosts, what it leaves waiting is sent once (T4 T7)', async () => {
  const sandbox = await probeSandbox({ kinds: ['group'] });
  const { options, asked, write } = await openRewound(sandbox, ['a', 'b']);
  const [files, puts] = [fileStore({ dir: tempFolder() }), [] as Hash[]];
  const store = {
    ...files,
    put: async (bytes: Uint8Array) => {
      const hash = await files.put(bytes);
      puts.push(hash);
      return hash;
    },
  };
  const shared = { ...options, store, packs: true };
  write('a', 'of a person\n');
  const done = await rewindRoots(shared, { step: 3, roots: [asked], attempt, force: true });
  const { before = '', packs = [] } = done.kind === 'done' ? (done.roots[0] ?? {}) : {};
  expect(packs).toEqual(puts);
  const entry: Entry = {
    kind: 'steered',
    steered: { rewound: { from: packs[0] as Hash, ...(done.kind === 'done' && { files: done.roots }) } },
  } as unknown as Entry;
  const there = { gitDir: join(tempFolder(), 'snapshots'), git: 'git', run: runHere };
  await fetchPacks(there, store, [entry]);
  const read = (id: string, name: string) =>
    String(spawnSync('git', [`--git-dir=${there.gitDir}`, 'cat-file', 'blob', `${id}:files/${name}`]).stdout);
  expect([read(before, 'a'), read(before, 'b')]).toEqual(['of a person\n', 'new b\n']);
  // A store that is away keeps no rewind from being done: what is left is named by the next.
  const said: string[] = [];
  const away = {
    ...shared,
    store: { ...files, put: () => Promise.reject(new Error('the store is away')) },
    log: (_: LogLevel, line: string) => void said.push(line),
  };
  const undone = await rewindRoots(away, { step: 4, roots: [{ ...asked, known: asked.to, to: before }], attempt });
  expect(undone).toMatchObject({ kind: 'done', roots: [{ before: asked.to, to: before }] });
  expect(undone.kind === 'done' && undone.roots[0]).not.toHaveProperty('packs');
  expect(said).toEqual([expect.stringMatching(/are on this host alone until the next: the store is away$/)]);
});

test('a rewind of files that was killed at any moment is finished by the next attempt, and its undo is whole (T9)', async () => {
  const sandbox = await probeSandbox({ kinds: ['group'] });
  const [root, dataDir] = [tempFolder(), join(tempFolder(), 'data')];
  mkdirSync(dataDir);
  const options = { sandbox, dataDir, caps: DEFAULT_CAPS };
  const means = {
    place: placeOfRoot(dataDir, session, root),
    git: 'git',
    run: runGitHeld(options, signal),
    caps: DEFAULT_CAPS,
  };
  const sh = (script: string): string => spawnSync('bash', ['-ec', script], { cwd: root, encoding: 'utf8' }).stdout;
  const look = (): string => sh('find . -type f -print0 | sort -z | xargs -0 sha256sum; find . -type d | sort');
  sh('mkdir -p a b; for n in $(seq 150); do echo $n > a/$n; echo $n > b/$n; done');
  const { id: to } = await takeSnapshot(means, null);
  const target = look();
  sh(
    'rm -r b; for n in $(seq 150); do echo changed >> a/$n; done; mkdir c; for n in $(seq 150); do echo $n > c/$n; done',
  );
  const { id: known } = await takeSnapshot(means, null);
  const start = look();
  let step = 1;
  for (const seconds of [0.002, 0.01, 0.02, 0.04, 0.08, 0.16]) {
    const asked = { step: (step += 1), roots: [{ root, known, to }], attempt };
    await rewindRoots({ ...options, sandbox: killing(sandbox, seconds) }, asked).catch((error: unknown) => error);
    const done = await rewindRoots(options, asked);
    expect(done).toMatchObject({ kind: 'done', roots: [{ before: known, to, files: 450 }] });
    expect(look()).toBe(target);
    await rewindRoots(options, { step: (step += 1), roots: [{ root, known: to, to: known }], attempt });
    expect(look()).toBe(start);
  }
});

test('a rewind that is refused at its second attempt leaves nothing of the first, and a foreign folder is refused (T7 T9)', async () => {
  const sandbox = await probeSandbox({ kinds: ['group'] });
  const [root, dataDir] = [tempFolder(), join(tempFolder(), 'data')];
  mkdirSync(dataDir);
  const options = { sandbox, dataDir, caps: DEFAULT_CAPS };
  const place = placeOfRoot(dataDir, session, root);
  const means = { place, git: 'git', run: runGitHeld(options, signal), caps: DEFAULT_CAPS };
  const write = (name: string, text: string) => writeFileSync(join(root, name), text);
  write('x', 'old\n');
  write('z', 'a\n');
  const { id: to } = await takeSnapshot(means, null);
  rmSync(join(root, 'x'));
  write('.gitignore', 'x\n');
  write('z', 'b\n');
  const { id: known } = await takeSnapshot(means, null);
  // An attempt was killed after it had written z; then someone made what is in the way.
  writeFileSync(join(place.own, 'rewind.json'), JSON.stringify({ step: 5, before: known }));
  write('z', 'a\n');
  write('x', 'of someone else\n');
  const done = await rewindRoots(options, { step: 5, roots: [{ root, known, to }], attempt });
  expect(done).toMatchObject({
    kind: 'refused',
    problem: expect.stringContaining('x was changed by someone else') as string,
  });
  expect([readFileSync(join(root, 'z'), 'utf8'), readFileSync(join(root, 'x'), 'utf8')]).toEqual([
    'b\n',
    'of someone else\n',
  ]);
  const foreign = tempFolder();
  const refused = await rewindRoots(options, { step: 6, roots: [{ root: foreign, known, to }], attempt });
  expect(refused).toEqual({ kind: 'refused', problem: `${foreign} was never captured on this machine` });
});
