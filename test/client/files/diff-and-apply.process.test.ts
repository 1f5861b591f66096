// Patches between snapshots, and the same changes in another checkout, with git as it is here.
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import type { Entry } from '../../../store/log/entries.ts';
import type { SnapshotCaps } from '../../../store/snapshots/capture-folder.ts';
import { describeSnapshot } from '../../../store/snapshots/take-snapshot.ts';
import { applyChanges } from '../../../client/sessions/files/apply-changes.ts';
import { diffSession, findPairs, type DiffOptions } from '../../../client/sessions/files/diff-session.ts';
import { findGit, openShadowReading } from '../../../client/sessions/files/read-shadow.ts';
import { colourPatch, statText } from '../../../cli/render/rewind-plan.ts';
import { createPaint } from '../../../client/paint.ts';
import { findPrograms } from '../../../system/process/programs.ts';
import { session } from '../support.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { shadowed } from '../../store/snapshots/support.ts';

type Shadowed = ReturnType<typeof shadowed>;

/** Captures the folder after each script, as entries of a transcript. */
async function captures(folder: Shadowed, ...scripts: readonly string[]): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  let before: string | null = null;
  for (const script of scripts) {
    folder.sh(script);
    const taken = await folder.take(before);
    entries.push({ kind: 'files', roots: [describeSnapshot(folder.root, taken)], at: 0 });
    before = taken.id;
  }
  return entries;
}

const dataDirOf = ({ place }: Shadowed): string => join(place.gitDir, '..');

function portsOf(folder: Shadowed) {
  const reading = openShadowReading(dataDirOf(folder), process.env);
  return { session, cwd: folder.root, reading };
}

type ApplyTo = DiffOptions & { readonly dryRun?: boolean };

async function applyTo(folder: Shadowed, entries: readonly Entry[], to: string, options: ApplyTo = {}) {
  const ports = portsOf(folder);
  const [pair] = await findPairs(ports, { entries, first: 0 }, options);
  if (!pair) throw new Error('nothing differs');
  const root = dataDirOf(folder);
  const means = { runIn: findGit(root, process.env).runIn, programs: findPrograms(process.env), root };
  return applyChanges({ ...means, reading: ports.reading }, pair, to, options);
}

const BEFORE =
  'mkdir -p a && seq 1 9 > a/list && echo old > gone && echo same > same && echo x > run && printf "\\0" > bin';
const AFTER = `sed -i s/^2$/two/ a/list && rm gone && mkdir -p new/deep && printf 'no end' > new/deep/file && chmod +x run
  ln -s same link && printf '\\0\\1' > bin && printf 'x\\n' > "$(printf 'odd\\tname')"`;

test('the difference of two points is a patch that git applies, whole or of some paths (T11)', async () => {
  const folder = shadowed();
  const entries = await captures(folder, BEFORE, 'echo more >> same', AFTER);
  const stretch = { entries, first: 0 };
  const all = await diffSession(portsOf(folder), stretch, {});
  expect(all.files.map(({ kind, path }) => `${kind} ${path}`)).toEqual([
    'changed a/list',
    'changed bin',
    'deleted gone',
    'added link',
    'added new/deep/file',
    'added odd\tname',
    'changed run',
    'changed same',
  ]);
  const other = tempDir();
  const run = (script: string, input = '') => spawnSync('sh', ['-ec', script], { cwd: other, input, encoding: 'utf8' });
  run(BEFORE);
  expect(run('git apply', all.patch ?? '').stderr).toBe('');
  expect(run(`diff -r --no-dereference . ${folder.root} && test -x run`).stdout).toBe('');
  expect(lstatSync(join(other, 'link')).isSymbolicLink()).toBe(true);
  const last = await diffSession(portsOf(folder), stretch, { from: 1, paths: ['a', join(folder.root, 'same')] });
  expect(last.files).toEqual([{ root: folder.root, path: 'a/list', kind: 'changed', insertions: 1, deletions: 1 }]);
  expect(statText(createPaint(false), last.files)).toBe('a/list  +1 −1\n1 file changed (+1 −1)\n');
  expect(colourPatch(createPaint(false), all.patch ?? '')).toContain('(not UTF-8 text)\n');
  expect((await diffSession(portsOf(folder), stretch, { stat: true })).patch).toBeNull();
});

const ODD_BEFORE = `printf 'a\\nStra\\337e\\n' > latin && printf '\\377' > byte && printf 'gr\\303\\274n\\n' > utf
  mkdir "$(printf 'd\\377')" && echo x > "$(printf 'd\\377/n"\\n\\\\\\374')" && : > "$(printf 'empty\\377')" && ln -s "$(printf 'l\\377')" link
  seq 1 20000 | tr 1 '\\337' > long && printf 'x\\377' > to-link && echo run > "$(printf 'run\\377')" && printf '\\337' > gone`;
const ODD_AFTER = `printf 'a\\nStra\\337e 2\\n' > latin && printf '\\376' > byte && printf 'gr\\303\\274n 2\\n' > utf
  echo y > "$(printf 'd\\377/n"\\n\\\\\\374')" && rm "$(printf 'empty\\377')" && ln -sfn "$(printf 'm\\377')" link
  echo end >> long && rm to-link && ln -s "$(printf 'k\\377')" to-link && chmod +x "$(printf 'run\\377')" && rm gone
  : > "$(printf 'new\\377')" && printf 'n\\303\\266\\377' > "$(printf '\\303\\266\\t')" && echo 'GIT binary patch' > 'diff --git'`;

test('bytes and names that are no UTF-8 are a patch in UTF-8 that git applies with equal bytes, and takes back (T11)', async () => {
  const folder = shadowed();
  const entries = await captures(folder, ODD_BEFORE, ODD_AFTER);
  const { patch, files } = await diffSession(portsOf(folder), { entries, first: 0 }, {});
  expect(files).toHaveLength(13);
  expect(patch).not.toContain('\ufffd');
  expect(patch).toContain('+grün 2\n');
  const other = tempDir();
  const run = (script: string, input = '') => spawnSync('sh', ['-ec', script], { cwd: other, input, encoding: 'utf8' });
  run(ODD_BEFORE);
  const printed = JSON.parse(JSON.stringify(patch)) as string;
  const isSame = `diff -r --no-dereference . ${folder.root}`;
  expect(run(`git apply - && ${isSame} && test -x "$(printf 'run\\377')"`, printed)).toMatchObject({ status: 0 });
  const before = tempDir();
  spawnSync('sh', ['-ec', ODD_BEFORE], { cwd: before });
  expect(run(`git apply -R - && diff -r --no-dereference . ${before}`, printed)).toMatchObject({ status: 0 });
});

test('points and snapshots that are not there are told in one sentence (T11)', async () => {
  const folder = shadowed();
  const entries = await captures(folder, BEFORE, AFTER);
  const stretch = { entries, first: 0 };
  const ports = portsOf(folder);
  await expect(diffSession(ports, stretch, { from: 'x' })).rejects.toThrow('"x" is no point');
  await expect(diffSession(ports, stretch, { to: 7 })).rejects.toThrow('session s-1 has no point "7"');
  await expect(diffSession(ports, { entries: [], first: 0 }, {})).rejects.toThrow(
    'no files of session s-1 were captured',
  );
  expect(() => openShadowReading(tempDir(), process.env)).toThrow('no snapshots are on this machine');
  folder.sh(`rm -r ${folder.place.gitDir}/objects/[0-9a-f]*`);
  await expect(diffSession(ports, stretch, {})).rejects.toThrow('are not on this machine');
});

test('changes are written onto another checkout, merged where it differs, and conflicts are named (T11)', async () => {
  const folder = shadowed();
  const entries = await captures(folder, `${BEFORE} && seq 1 9 > both`, `${AFTER} && sed -i s/^2$/agent/ both`);
  const other = realpathSync(tempDir());
  const sh = (script: string) => spawnSync('sh', ['-ec', script], { cwd: other, encoding: 'utf8' });
  sh(`${BEFORE} && seq 1 9 > both && sed -i s/^8$/eight/ a/list && sed -i s/^2$/mine/ both && printf '\\0mine' > bin`);
  const applied = await applyTo(folder, entries, other);
  expect(applied).toEqual({
    written: ['a/list', 'link', 'new/deep/file', 'odd\tname', 'run'],
    deleted: ['gone'],
    same: 0,
    conflicts: [
      { path: 'bin', why: 'not_text' },
      { path: 'both', why: 'marked' },
    ],
  });
  expect(readFileSync(join(other, 'a/list'), 'utf8')).toBe('1\ntwo\n3\n4\n5\n6\n7\neight\n9\n');
  expect(readFileSync(join(other, 'both'), 'utf8')).toContain('<<<<<<< here\nmine\n=======\nagent\n>>>>>>> agent\n');
  expect(readlinkSync(join(other, 'link'))).toBe('same');
  expect((await applyTo(folder, entries, other)).same).toBe(6);
});

test('nothing is written where git does not tell of changes, or a repository below does (T11)', async () => {
  const folder = shadowed();
  const entries = await captures(folder, BEFORE, AFTER);
  const commit = 'git add -A && git -c user.name=n -c user.email=e commit -qm all';
  const ways: readonly (readonly [script: string, told: string])[] = [
    [`git init -q && ${BEFORE} && git init -q a && cd a && ${commit} && echo mine >> list`, 'not committed of a/list'],
    [`git init -q && ${BEFORE} && ${commit} && git update-index --skip-worktree gone`, 'not committed of gone'],
    [`git init -q && ${BEFORE} && ${commit} && git update-index --assume-unchanged gone`, 'not committed of gone'],
    [`git init -q && ${BEFORE} && ${commit} && echo broken > .git/index`, 'git cannot say whether'],
  ];
  for (const [script, told] of ways) {
    const other = realpathSync(tempDir());
    const done = spawnSync('sh', ['-ec', script], { cwd: other, encoding: 'utf8' });
    expect([script, done.status, done.stderr]).toEqual([script, 0, '']);
    await expect(applyTo(folder, entries, other)).rejects.toThrow(told);
    expect(readFileSync(join(other, 'a/list'), 'utf8')).not.toContain('two');
  }
});

test('nothing is written onto changes that are not committed, nor outside the folder through a link (T11)', async () => {
  const folder = shadowed();
  const entries = await captures(folder, BEFORE, AFTER);
  const other = realpathSync(tempDir());
  const sh = (script: string) => spawnSync('sh', ['-ec', script], { cwd: other, encoding: 'utf8' });
  const commit = 'git add -A && git -c user.name=n -c user.email=e commit -qm all';
  sh(`git init -q && ${BEFORE} && ${commit} && echo mine >> gone`);
  await expect(applyTo(folder, entries, other)).rejects.toThrow('changes that are not committed of gone');
  expect(sh('cat gone; git status --porcelain').stdout).toBe('old\nmine\n M gone\n');
  sh('git checkout -q gone');
  const outside = tempDir();
  mkdirSync(join(outside, 'deep'));
  symlinkSync(outside, join(other, 'new'));
  const applied = await applyTo(folder, entries, other);
  expect(applied.conflicts).toEqual([{ path: 'new/deep/file', why: 'blocked' }]);
  expect(spawnSync('ls', [join(outside, 'deep')], { encoding: 'utf8' }).stdout).toBe('');
  expect(sh('git diff --cached --name-only').stdout).toBe('');
});

test('programs that the configuration of a checkout or of a repository in it names do not run when changes are applied (T11)', async () => {
  const folder = shadowed();
  const entries = await captures(folder, BEFORE, AFTER);
  const other = realpathSync(tempDir());
  const ran = join(tempDir(), 'ran');
  const evil = `"touch ${ran}; cat"`;
  const commit = 'git add -A && git -c user.name=n -c user.email=e commit -qm all';
  const settings = ['x.clean', 'y=z.process', 'x.smudge'].map((key) => `git config filter.${key} ${evil}`).join(' && ');
  const nested = `git init -q nested && cd nested && echo 1 > one && ${commit} && git config core.fsmonitor ${evil}`;
  const script = `git init -q && ${BEFORE} && (${nested}) && ${commit} && ${settings} && git config filter.x.required true
    printf '* filter=x\nboth filter=y=z\n' > .gitattributes && touch -d @1 a/* gone both nested/one`;
  expect(spawnSync('sh', ['-ec', script], { cwd: other, encoding: 'utf8' }).stderr).not.toContain('fatal');
  rmSync(ran, { force: true });
  expect((await applyTo(folder, entries, other)).written).toContain('a/list');
  expect(existsSync(ran)).toBe(false);
});

test('a folder takes the place of a file, and a file that of a folder, in another checkout too (T11)', async () => {
  const folder = shadowed();
  const before = 'mkdir a && echo 1 > a/one && echo 2 > b';
  const entries = await captures(folder, before, 'rm -r a b && echo file > a && mkdir b && echo in > b/in');
  const other = realpathSync(tempDir());
  spawnSync('sh', ['-ec', before], { cwd: other });
  const applied = await applyTo(folder, entries, other);
  expect(applied.conflicts).toEqual([]);
  expect(readFileSync(join(other, 'a'), 'utf8') + readFileSync(join(other, 'b/in'), 'utf8')).toBe('file\nin\n');
  writeFileSync(join(other, 'b/in'), 'mine');
  const again = await applyTo(folder, entries, other);
  expect(again.conflicts).toEqual([{ path: 'b/in', why: 'marked' }]);
});

test.each([
  ['it was too large', { fileBytes: 100 }, ['seq 100 >> log']],
  ['there were too many bytes', { bytes: 100 }, ['seq 100 >> log']],
  ['a pipe, a socket or a device was there', {}, ['rm log; mkfifo log']],
  ['a rule ignored it', {}, ['rm log; echo log > .gitignore', 'seq 100 > log']],
])(
  'a file that is no longer captured (%s) is not told as deleted, and stays elsewhere (T2 T11)',
  async (why, caps: Partial<SnapshotCaps>, scripts) => {
    const folder = shadowed(caps);
    const entries = await captures(
      folder,
      'echo 1 > log; echo 1 > one; echo 1 > gone',
      'echo 2 > one; rm gone',
      ...scripts,
    );
    const uncaptured = { path: 'log', why: `no longer captured (${why})` };
    const { files, patch, ...found } = await diffSession(portsOf(folder), { entries, first: 0 }, {});
    expect(found).toEqual({ uncaptured: [{ root: folder.root, ...uncaptured }] });
    expect(files.filter(({ path }) => path !== '.gitignore').map(({ kind, path }) => `${kind} ${path}`)).toEqual([
      'deleted gone',
      'changed one',
    ]);
    expect(patch).not.toContain('log b/log');
    const other = realpathSync(tempDir());
    spawnSync('sh', ['-ec', 'echo 1 > log; echo 1 > one; echo 1 > gone'], { cwd: other });
    expect(await applyTo(folder, entries, other)).toMatchObject({ deleted: ['gone'], uncaptured: [uncaptured] });
    expect(readFileSync(join(other, 'log'), 'utf8')).toBe('1\n');
    const told = entries
      .slice(1)
      .flatMap((entry) => (entry.kind === 'files' ? entry.roots.flatMap(({ names }) => names) : []));
    expect(told.filter((name) => name === 'log')).toEqual(why === 'a rule ignored it' ? ['log'] : []);
  },
);

test('a file that is captured since a rule no longer ignores it, or since it shrank, is not told as new (T2 T11)', async () => {
  const folder = shadowed({ fileBytes: 100 });
  const entries = await captures(
    folder,
    'echo .env > .gitignore; echo key > .env; seq 100 > big; ln -s one link',
    'rm .gitignore; echo 1 > big; echo 1 > made; rm link; echo 1 > link',
  );
  const found = await diffSession(portsOf(folder), { entries, first: 0 }, {});
  expect(found.files.map(({ kind, path }) => `${kind} ${path}`)).toEqual([
    'deleted .gitignore',
    'changed link',
    'added made',
  ]);
  expect(found.uncaptured?.map(({ path, why }) => `${path}: ${why}`)).toEqual([
    '.env: not captured before (a rule ignored it)',
    'big: not captured before (it was too large)',
  ]);
  expect(entries.at(-1)).toMatchObject({ roots: [{ added: 1, changed: 1, deleted: 1 }] });
  const other = realpathSync(tempDir());
  const run = (script: string, input = '') => spawnSync('sh', ['-ec', script], { cwd: other, input, encoding: 'utf8' });
  run('echo .env > .gitignore; ln -s one link');
  expect(run('git apply', found.patch ?? '').stderr).toBe('');
  expect(run('ls -A').stdout).toBe('link\nmade\n');
});

test('a deleted file that git tracks although a rule ignores it is told as deleted (T2 T11)', async () => {
  const folder = shadowed();
  const entries = await captures(
    folder,
    'git init -q; echo 1 > log; git add log; echo log > .gitignore; seq 200 > big',
    'rm log; echo more >> .gitignore',
  );
  const found = await diffSession(portsOf(folder), { entries, first: 0 }, { paths: ['log'] });
  expect(found).toMatchObject({ files: [{ path: 'log', kind: 'deleted' }] });
  expect(found).not.toHaveProperty('uncaptured');
});
