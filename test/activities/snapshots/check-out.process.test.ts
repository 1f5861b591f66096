// Files of a fork that cannot be checked out.
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import type { Attempt } from '../../../activities/attempt.ts';
import { checkOutRoot } from '../../../activities/snapshots/check-out.ts';
import { runGitHeld } from '../../../activities/snapshots/run-git-held.ts';
import type { Entry } from '../../../store/log/entries.ts';
import { sendPacks } from '../../../store/snapshots/packs.ts';
import { fileStore } from '../../../store/values/file-store.ts';
import { placeOfRoot } from '../../../store/snapshots/shadow.ts';
import { describeSnapshot, DEFAULT_CAPS, takeSnapshot } from '../../../store/snapshots/take-snapshot.ts';
import { probeSandbox, type Sandbox } from '../../../tools/sandbox.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import { stored } from '../../support/transcript.ts';
import { tempFolder } from '../../tools/support.ts';

const session = 's-1' as SessionId;
const { signal } = new AbortController();

async function openForked() {
  const sandbox = await probeSandbox({ kinds: ['group'] });
  const [root, above, dataDir] = [tempFolder(), tempFolder(), join(tempFolder(), 'data')];
  mkdirSync(dataDir);
  const options = { sandbox, dataDir };
  const place = placeOfRoot(dataDir, session, root);
  writeFileSync(join(root, 'a'), 'a\n');
  writeFileSync(join(root, 'b'), 'b\n');
  spawnSync('sh', ['-ec', 'git init -q && git -c user.name=a -c user.email=b commit -q --allow-empty -m one'], {
    cwd: root,
  });
  const means = { place, git: 'git', run: runGitHeld(options, signal), caps: DEFAULT_CAPS };
  const capture = async () => {
    const taken = await takeSnapshot({ ...means, packs: true }, null);
    return { id: taken.id, described: describeSnapshot(root, taken) };
  };
  const { id: snapshot } = await takeSnapshot(means, null);
  const { stdout } = spawnSync('git', ['hash-object', '--stdin'], { input: 'b\n', encoding: 'utf8' });
  const hash = stdout.trim();
  const damage = () => {
    const object = join(place.gitDir, 'objects', hash.slice(0, 2), hash.slice(2));
    rmSync(object);
    writeFileSync(object, 'damaged');
  };
  const attempt = { session: 's-2', signal, fence: () => Promise.resolve(true) } as unknown as Attempt;
  const about = { from: root, to: join(above, 'fork'), snapshot, step: 1, attempt, means };
  return { options, above, about, damage, hash, place, capture };
}

test('a fork whose files are damaged is refused with the sentence of git, and leaves no folder (T10)', async () => {
  const { options, above, about, damage, hash } = await openForked();
  damage();
  const refused = { kind: 'refused', problem: expect.stringContaining(hash) as string };
  expect(await checkOutRoot(options, about)).toMatchObject(refused);
  expect(readdirSync(above)).toEqual([]);
  expect(await checkOutRoot(options, { ...about, worktree: true })).toMatchObject(refused);
  expect(existsSync(about.to)).toBe(false);
  const { stdout } = spawnSync('git', ['-C', about.from, 'for-each-ref', '--format=%(refname)'], { encoding: 'utf8' });
  expect(stdout.split('\n').filter((ref) => ref.includes('perdure'))).toEqual([]);
  expect(existsSync(join(about.from, '.git', 'worktrees'))).toBe(false);
});

test('a fork of a repository without a commit is refused a work tree, and leaves no folder (T10)', async () => {
  const { options, above, about } = await openForked();
  rmSync(join(about.from, '.git'), { recursive: true });
  spawnSync('git', ['init', '-q'], { cwd: about.from });
  const problem = expect.stringContaining('has no commit yet') as string;
  expect(await checkOutRoot(options, { ...about, worktree: true })).toEqual({ kind: 'refused', problem });
  expect(readdirSync(above)).toEqual([]);
});

test('a fork is refused a work tree whose branch is someone else’s, and leaves that as it is (T10)', async () => {
  const { options, above, about } = await openForked();
  const run = (script: string) => spawnSync('sh', ['-ec', script], { cwd: about.from, encoding: 'utf8' }).stdout;
  run('git checkout -q -b perdure/s-2 && git -c user.name=a -c user.email=b commit -q --allow-empty -m mine');
  run('git checkout -q - && git checkout -q --detach HEAD');
  const before = run('git rev-parse perdure/s-2');
  const problem = expect.stringContaining('has a branch perdure/s-2 already') as string;
  expect(await checkOutRoot(options, { ...about, worktree: true })).toEqual({ kind: 'refused', problem });
  expect(run('git rev-parse perdure/s-2')).toBe(before);
  expect(readdirSync(above)).toEqual([]);
});

test('files that someone puts into the folder of a fork before it is made are not removed (T10)', async () => {
  const { options, about } = await openForked();
  mkdirSync(about.to);
  const fence = (): Promise<boolean> => (writeFileSync(join(about.to, 'mine'), 'mine'), Promise.resolve(true));
  const late = { ...about, attempt: { ...about.attempt, fence } as unknown as Attempt };
  for (const worktree of [{ worktree: true } as const, {}]) {
    await expect(checkOutRoot(options, { ...late, ...worktree })).rejects.toThrow('ENOTEMPTY');
    expect(readdirSync(about.to)).toEqual(['mine']);
    rmSync(join(about.to, 'mine'));
  }
});

test('a fork on a host without its snapshot brings it from the store, or says where it is (T4 T10)', async () => {
  const { options, about, place, capture } = await openForked();
  const store = fileStore({ dir: tempFolder() });
  const { id, described } = await capture();
  const packs = await sendPacks(store, place, () => new Set());
  const files = (root: object): Entry => ({ kind: 'files', roots: [{ ...described, ...root }], at: 0, host: 'h-1' });
  const entry = files({ packs });
  const { head } = await stored(store, [entry]);
  const { head: without } = await stored(store, [files({})]);
  const there = { ...options, dataDir: join(tempFolder(), 'data'), store };
  mkdirSync(there.dataDir);
  const from = (at: typeof head) => ({ ...about, snapshot: id, ...(at && { origin: { session, head: at } }) });
  const problem = expect.stringContaining('in the data folder of host h-1, which captured them') as string;
  expect(await checkOutRoot(there, from(without))).toEqual({ kind: 'refused', problem });
  expect(await checkOutRoot(there, from(null))).toMatchObject({ kind: 'refused' });
  expect(await checkOutRoot(there, from(head))).toMatchObject({ kind: 'done' });
  expect(readFileSync(join(about.to, 'b'), 'utf8')).toBe('b\n');
});

test('the folder of a fork is as private as its origin, or as the folder that a person has made for it (T10)', async () => {
  const { options, about } = await openForked();
  const modeOf = (folder: string) => (statSync(folder).mode & 0o7777).toString(8);
  const forkOf = async (mode: number, given: number | null, worktree: boolean) => {
    chmodSync(about.from, mode);
    const { id } = await takeSnapshot(about.means, null);
    const to = `${about.to}-${mode}-${given}-${worktree}`;
    if (given !== null) mkdirSync(to);
    if (given !== null) chmodSync(to, given);
    const attempt = { ...about.attempt, session: `s-${mode}-${given}` as SessionId };
    const fork = { ...about, to, snapshot: id, attempt, ...(worktree && { worktree }) };
    expect(await checkOutRoot(options, fork)).toMatchObject({ kind: 'done', folder: to });
    return modeOf(to);
  };
  for (const worktree of [false, true]) {
    expect(await forkOf(0o700, null, worktree)).toBe('700');
    expect(await forkOf(0o775, null, worktree)).toBe('775');
    expect(await forkOf(0o755, 0o700, worktree)).toBe('700');
    expect(await forkOf(0o750, 0o755, worktree)).toBe('750');
  }
});

test('a git that is killed while it looks for a snapshot is no sign that it is missing (T10)', async () => {
  const { options, about } = await openForked();
  const { sandbox } = options;
  const killing = {
    ...sandbox,
    wrap: (argv: readonly string[], confinement: Parameters<Sandbox['wrap']>[1]) =>
      sandbox.wrap(argv.includes('cat-file') ? ['sh', '-c', 'kill -9 $$'] : argv, confinement),
  };
  await expect(checkOutRoot({ ...options, sandbox: killing }, about)).rejects.toThrow(/SIGKILL|137/);
});

test('a work tree of a fork does not show as deleted what git tracks and no snapshot holds (T2 T10)', async () => {
  const { options, about } = await openForked();
  const run = (cwd: string, script: string) => spawnSync('sh', ['-ec', script], { cwd, encoding: 'utf8' }).stdout;
  const as = 'git -c user.name=a -c user.email=b';
  const submodule = `git init -q vendor/mod; cd vendor/mod; ${as} commit -q --allow-empty -m m`;
  run(
    about.from,
    `echo vendor/ > .gitignore; mkdir vendor; (${submodule}); seq 999 > big; git add -A; git add -f vendor/mod; ${as} commit -qm two; rm a`,
  );
  const { id } = await takeSnapshot({ ...about.means, caps: { ...DEFAULT_CAPS, fileBytes: 100 } }, null);
  expect(await checkOutRoot(options, { ...about, snapshot: id, worktree: true })).toMatchObject({ kind: 'done' });
  expect(run(about.to, `git status --porcelain; ${as} commit -qam three; git show --name-status --format= HEAD`)).toBe(
    ' D a\nD\ta\n',
  );
});

/** Ends an attempt as a death of its worker does, right before the program with that number. */
function dyingAt(sandbox: Sandbox, count: number): { readonly sandbox: Sandbox; readonly signal: AbortSignal } {
  let programs = 0;
  const death = new AbortController();
  const wrap: Sandbox['wrap'] = (argv, confinement) => {
    programs += 1;
    if (programs > count) death.abort(new Error('the worker died'));
    death.signal.throwIfAborted();
    return sandbox.wrap(argv, confinement);
  };
  return { sandbox: { ...sandbox, wrap }, signal: death.signal };
}

test('a work tree whose worker dies before any of its steps is made by the next attempt (T10)', async () => {
  const { options, above, about } = await openForked();
  const run = (script: string) => spawnSync('sh', ['-ec', script], { cwd: above, encoding: 'utf8' }).stdout;
  run(`git -C ${about.from} add -A && git -C ${about.from} -c user.name=a -c user.email=b commit -qm two`);
  let isOver = false;
  for (let count = 0; !isOver; count += 1) {
    const to = join(above, `fork-${count}`);
    const own = {
      ...about,
      to,
      worktree: true,
      attempt: { ...about.attempt, session: `s-k${count}` as SessionId },
    } as const;
    const { sandbox, signal: death } = dyingAt(options.sandbox, count);
    const dying = { ...own, attempt: { ...own.attempt, signal: death } };
    const first = await checkOutRoot({ ...options, sandbox }, dying).catch((error: unknown) => error);
    isOver = !(first instanceof Error);
    const branch = `perdure/s-k${count}`;
    expect(await checkOutRoot(options, own)).toEqual({ kind: 'done', folder: to, branch });
    expect(run(`git -C ${to} status --porcelain; git -C ${to} branch --show-current; cat ${to}/a`)).toBe(
      `${branch}\na\n`,
    );
  }
  const { length } = readdirSync(above);
  expect(length).toBeGreaterThan(6);
  expect(readdirSync(join(about.from, '.git', 'worktrees'))).toHaveLength(length);
});

test('what a git that was killed has left of a work tree does not keep a fork from it (T10)', async () => {
  const { options, about } = await openForked();
  const { sandbox, signal: death } = dyingAt(options.sandbox, 3);
  const dying = { ...about, worktree: true, attempt: { ...about.attempt, signal: death } } as const;
  await expect(checkOutRoot({ ...options, sandbox }, dying)).rejects.toThrow('the worker died');
  const entry = join(about.from, '.git', 'worktrees', 'fork');
  for (const name of [entry, `${entry}-other`]) mkdirSync(name, { recursive: true });
  for (const name of [entry, `${entry}-other`]) writeFileSync(join(name, 'locked'), 'initializing');
  writeFileSync(join(entry, 'gitdir'), `${join(about.to, '.git')}\n`);
  writeFileSync(join(entry, 'HEAD'), 'ref: refs/heads/perdure/s-2\n');
  writeFileSync(join(entry, 'commondir'), '../..\n');
  const heads = join(about.from, '.git', 'refs', 'heads', 'perdure');
  mkdirSync(heads, { recursive: true });
  spawnSync('git', ['branch', 'perdure/s-2'], { cwd: about.from });
  writeFileSync(join(heads, 's-2.lock'), '');
  expect(await checkOutRoot(options, { ...about, worktree: true })).toMatchObject({ kind: 'done' });
  expect(readFileSync(join(about.to, 'b'), 'utf8')).toBe('b\n');
  expect(readdirSync(join(entry, '..'))).toEqual(['fork', 'fork-other']);
});

test('the work tree of a sparse checkout leaves out what that one leaves out (T10)', async () => {
  const { options, about } = await openForked();
  const git = 'git -c user.name=a -c user.email=b';
  const prepare = `mkdir in out; echo i > in/i; echo o > out/o; echo s > skipped; ${git} add -A; ${git} commit -qm two; git sparse-checkout set in; echo more >> in/i`;
  const run = (cwd: string, script: string) => spawnSync('sh', ['-ec', script], { cwd, encoding: 'utf8' }).stdout;
  run(about.from, prepare);
  const { id } = await takeSnapshot(about.means, null);
  run(about.from, `git update-index --skip-worktree skipped && rm skipped`);
  const forked = { ...about, snapshot: id, worktree: true } as const;
  expect(await checkOutRoot(options, forked)).toMatchObject({ kind: 'done' });
  expect(readdirSync(about.to).toSorted()).toEqual(['.git', 'a', 'b', 'in', 'skipped']);
  expect(run(about.to, 'git status --porcelain; git ls-files -t | grep ^S; git sparse-checkout list')).toBe(
    ' M in/i\nS out/o\nin\n',
  );
});
