// What a snapshot does not hold: a rewind never takes it for something that was not there.
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { previewRestore, type RestorePreview } from '../../../store/snapshots/preview-restore.ts';
import { ownTemporaryName } from '../../../store/snapshots/restore/temporary-names.ts';
import { createAbsenceJudge } from '../../../store/snapshots/read-notes.ts';
import { restore } from '../../../store/snapshots/restore.ts';
import { takeSnapshot } from '../../../store/snapshots/take-snapshot.ts';
import { FolderCapture, type CaptureRequest, type SnapshotCaps } from '../../../store/snapshots/capture-folder.ts';
import { random, type Random } from '../../support/random.ts';
import { until } from '../../support/until.ts';
import { tempFolder } from '../../tools/support.ts';
import { shadowed } from './support.ts';

type Shadowed = ReturnType<typeof shadowed>;

async function goBack({ means, take }: Shadowed, to: string): Promise<RestorePreview> {
  const { id: now } = await take();
  const preview = await previewRestore(means, { known: now, now, to, force: false });
  await restore(means, { now, known: now, to, changes: preview.changes });
  return preview;
}

const cases: readonly {
  readonly what: string;
  readonly caps?: Partial<SnapshotCaps>;
  readonly before: string;
  readonly after: string;
  readonly stays: string;
  readonly why: string;
}[] = [
  {
    what: 'a file that slid under the bound of files when others went',
    caps: { files: 6 },
    before: 'for i in 1 2 3 4 5 6 7 8; do echo $i > f$i; done',
    after: 'rm f1 f2',
    stays: 'f7',
    why: 'files',
  },
  {
    what: 'a file that slid under the bound of bytes',
    caps: { bytes: 1_000 },
    before: 'head -c 900 /dev/zero > a; head -c 900 /dev/zero > b',
    after: 'rm a',
    stays: 'b',
    why: 'bytes',
  },
  {
    what: 'an ignored file whose rule went',
    before: 'git init -q .; echo .env > .gitignore; echo S=1 > .env',
    after: 'echo node_modules > .gitignore',
    stays: '.env',
    why: 'ignored',
  },
  {
    what: 'an ignored file whose rule stood in info/exclude',
    before: 'git init -q .; echo .env > .git/info/exclude; echo S=1 > .env',
    after: ': > .git/info/exclude',
    stays: '.env',
    why: 'ignored',
  },
  {
    what: 'an ignored file whose rule stood in a file that was ignored itself',
    before: 'git init -q .; printf ".gitignore\\n.env\\n" > .gitignore; echo S=1 > .env',
    after: 'rm .gitignore',
    stays: '.env',
    why: 'ignored',
  },
  {
    what: 'a large file that shrank',
    caps: { fileBytes: 1_000 },
    before: 'head -c 2000 /dev/zero > big.db',
    after: 'truncate -s 10 big.db',
    stays: 'big.db',
    why: 'large',
  },
  {
    what: 'what a nested repository ignored that is none any longer',
    before: 'git init -q .; git init -q sub; echo priv > sub/.git/info/exclude; echo keep > sub/priv',
    after: 'rm -rf sub/.git',
    stays: 'sub/priv',
    why: 'ignored',
  },
  {
    what: 'a file where a pipe was',
    before: 'mkfifo pipe',
    after: 'rm pipe; echo 1 > pipe',
    stays: 'pipe',
    why: 'no_file',
  },
];

test.each(cases)('$what is not deleted, and is named (T2 T7)', async ({ caps, before, after, stays, why }) => {
  const folder = shadowed(caps);
  folder.sh(`echo 1 > 0; ${before}`);
  const { id } = await folder.take();
  folder.sh(`echo new > new; ${after}`);
  const { untaken } = await goBack(folder, id);
  expect(untaken).toContainEqual({ path: stays, why });
  expect(existsSync(join(folder.root, stays))).toBe(true);
});

test('the same holds where the changes are told by the system, and in another process (T2 T7)', async () => {
  const folder = shadowed({ fileBytes: 1_000 });
  folder.sh('mkdir a; head -c 2000 /dev/zero > a/big; echo 1 > a/one');
  const { id } = await folder.take();
  folder.sh('echo 2 > a/one; mkfifo a/pipe');
  const told = await folder.take(id, true);
  folder.sh('truncate -s 1 a/big; rm a/pipe; echo 1 > a/pipe');
  const later = await folder.take(told.id, true);
  expect((await folder.takeAnew()).id).toBe(later.id);
  const { untaken } = await goBack(folder, told.id);
  expect(untaken).toEqual([
    { path: 'a/big', why: 'large' },
    { path: 'a/pipe', why: 'no_file' },
  ]);
});

test('what was made since goes, also where a rule ignores something else (T7)', async () => {
  const folder = shadowed();
  folder.sh('git init -q .; mkdir d; printf "*.log\\n/d/own\\n" > .gitignore; echo l > a.log');
  const { id } = await folder.take();
  folder.sh('echo > own; echo > d/other; mkdir -p d/e; echo > d/e/own; echo "!a.log" >> .gitignore');
  const { untaken } = await goBack(folder, id);
  expect(untaken).toEqual([{ path: 'a.log', why: 'ignored' }]);
  expect(folder.sh('find . -path ./.git -prune -o -type f -print | sort')).toBe('./.gitignore\n./a.log\n');
});

test('a file that git tracks is captured whatever rule matches it, also in an ignored folder (T2)', async () => {
  const folder = shadowed();
  const { sh, take, files } = folder;
  sh(`
    git init -q .; mkdir -p out/deep sub; printf '*.log\\nout/\\n' > .gitignore; echo l > keep.log; echo t > out/deep/kept
    echo o > out/other; git add -f keep.log out/deep/kept .gitignore; echo x > untracked.log
    git init -q sub; echo '*.bin' > sub/.git/info/exclude; echo b > sub/a.bin; echo c > sub/c.bin; git -C sub add -f a.bin
  `);
  const first = await take();
  expect(await files(first.id)).toEqual(
    ['.gitignore', 'keep.log', 'out/deep/kept', 'sub/a.bin'].map((p) => `100644 ${p}`),
  );
  sh('echo BAD > keep.log; echo BAD > out/deep/kept; echo BAD > sub/a.bin; git add -f out/other');
  const second = await take(first.id, true);
  // What git tracks from now on was there before, uncaptured.
  expect(second.changes.map(({ kind, path }) => `${kind} ${path}`)).toEqual([
    'changed keep.log',
    'changed out/deep/kept',
    'added out/other',
    'changed sub/a.bin',
  ]);
  const { untaken } = await goBack(folder, first.id);
  expect(untaken).toEqual([{ path: 'out/other', why: 'ignored' }]);
  expect(sh('cat keep.log out/deep/kept sub/a.bin out/other')).toBe('l\nt\nb\no\n');
});

test('git that fails to list what it tracks is asked again, and what it listed before stays so meanwhile (T2)', async () => {
  const { root, sh, means, place } = shadowed();
  sh(`git init -q .; printf '*.log\\nout/\\n' > .gitignore; echo l > keep.log; git add -f keep.log .gitignore`);
  const git = join(tempFolder(), 'git');
  const script = `case " $* " in *" ls-files "*) echo >> "$0.asked"; [ ! -e "$0.fails" ] || exit 1;; esac; exec git "$@"`;
  writeFileSync(git, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const folder = new FolderCapture({ place, git });
  onTestFinished(() => folder.close());
  const capture = (request: CaptureRequest) => folder.capture(request);
  const take = async (before: string | null) => {
    const { id, changes } = await takeSnapshot({ ...means, git, trustsWatch: true, capture }, before);
    return { id, paths: changes.map(({ path }) => path) };
  };
  const takeUntil = async (before: string, path: string) => {
    let taken = await take(before);
    await until(async () => (taken = await take(before)).paths.includes(path));
    return taken;
  };
  writeFileSync(`${git}.fails`, '');
  const first = await take(null);
  rmSync(`${git}.fails`);
  const second = await takeUntil(first.id, 'keep.log');
  sh('mkdir out; echo 1 > out/one; git add -f out/one');
  const third = await takeUntil(second.id, 'out/one');
  writeFileSync(`${git}.fails`, '');
  sh('rm keep.log out/one; echo 2 > out/two; git add -f out/two');
  expect((await take(third.id)).paths).toEqual(['keep.log', 'out/one']);
  sh('echo again > keep.log');
  expect((await take(third.id)).paths).toEqual(['keep.log', 'out/one']);
  // Git would wait for whoever writes to a pipe.
  rmSync(`${git}.fails`);
  rmSync(`${git}.asked`);
  sh('mkfifo .git/commondir; cp .git/index .git/new; mv .git/new .git/index');
  await take(third.id);
  expect(existsSync(`${git}.asked`)).toBe(false);
  rmSync(join(root, '.git/commondir'));
  expect((await takeUntil(third.id, 'out/two')).paths).toContain('out/two');
});

test('programs that the configuration of a repository names are not run for the list of what it tracks (T1)', async () => {
  const { sh, take } = shadowed();
  sh(`
    git init -q .; echo 1 > one; git add one; printf '#!/bin/sh\\ntouch ran\\n' > evil; chmod +x evil
    git config core.fsmonitor "$PWD/evil"; git config core.pager "$PWD/evil"; git config pager.ls-files "$PWD/evil"
    git config core.hooksPath "$PWD"; git config core.sshCommand "$PWD/evil"; ln -s evil post-index-change
  `);
  await take();
  sh('git -c core.fsmonitor=false -c core.hooksPath=/dev/null add evil');
  await take();
  expect(sh('ls')).toBe('evil\none\npost-index-change\n');
});

const PATTERNS: readonly [string, ...string[]] = [
  'a',
  '*.x',
  '/a',
  'd/',
  'd/*',
  '!d/a',
  '**/b',
  'd/**',
  '!*.x',
  '/d/e',
  '[ab]',
  '!a',
  'e/',
  '*',
  '!e/',
  'A',
  '/D/E',
];
const PATHS = [
  'A',
  'a',
  'b.x',
  'd/a',
  'd/b.x',
  'd/e/a',
  'd/e/c',
  'n/a',
  'n/b.x',
  'n/e/a',
  'n/d/c',
  'n/B.X',
  'D/E/a',
  'e/c',
];

/** Puts rules at random where git reads them, and a nested repository. */
function makeRules({ nat, pick, bool }: Random): string {
  const lines = (): string => Array.from({ length: nat(3) }, () => pick(PATTERNS)).join('\\n');
  const put = (path: string): string => `mkdir -p "$(dirname ${path})"; printf '${lines()}\\n' > ${path}`;
  return [
    `git init -q . && git config core.ignoreCase ${bool()}`,
    ...(bool() ? ['git init -q n', `git -C n config core.ignoreCase ${bool()}`, put('n/.git/info/exclude')] : []),
    ...['.gitignore', '.git/info/exclude', 'd/.gitignore', 'n/.gitignore', 'd/e/.gitignore'].filter(bool).map(put),
  ].join('; ');
}

const SEED = Number(process.env['SEED'] ?? 20_261_129);
const WALKS = Number(process.env['WALKS'] ?? 12);

test(`a path counts as absent exactly where a capture would have had it (T7; ${WALKS} from seed ${SEED})`, async () => {
  for (let walk = 0; walk < WALKS; walk += 1) {
    const folder = shadowed();
    const rules = makeRules(random(SEED + walk));
    folder.sh(rules);
    const { id } = await folder.takeAnew();
    const { means } = folder;
    const judge = await createAbsenceJudge({ ...means, gitDir: means.place.gitDir }, id, PATHS);
    for (const path of PATHS) {
      const place = join(folder.root, path);
      mkdirSync(dirname(place), { recursive: true });
      writeFileSync(place, '1\n');
      const isCaptured = (await folder.files((await folder.takeAnew()).id)).includes(`100644 ${path}`);
      expect({ seed: SEED + walk, rules, path, isAbsent: judge(path) === null }).toEqual({
        seed: SEED + walk,
        rules,
        path,
        isAbsent: isCaptured,
      });
      rmSync(place);
    }
  }
});

test("a file that Perdure itself is writing belongs to no snapshot, and a person's of such a name does (T2 T7)", async () => {
  const { sh, take, files, place } = shadowed();
  const others = join(place.gitDir, 'sessions', 's-2', '0123456789abcdef');
  mkdirSync(others, { recursive: true });
  writeFileSync(join(others, 'restore.json'), JSON.stringify({ run: '0123abcd', written: ['one'] }));
  sh(`
    echo 1 > one; echo 2 > .perdure-0123abcd00000001.tmp; mkdir .perdure-0123abcdffffffff.tmp; echo 3 > .perdure-0123abcdffffffff.tmp/3
    echo 4 > ${ownTemporaryName('write')}; echo 5 > ${ownTemporaryName('apply')}
    echo 6 > .perdure-0123456789abcdef.tmp; mkdir .perdure-fedcba9876543210.tmp; echo 7 > .perdure-fedcba9876543210.tmp/7
  `);
  const own = ['.perdure-0123456789abcdef.tmp', '.perdure-fedcba9876543210.tmp/7', 'one'];
  expect(await files((await take()).id)).toEqual(own.map((path) => `100644 ${path}`));
  sh('echo again > .perdure-0123456789abcdef.tmp; echo again > .perdure-0123abcd00000001.tmp');
  expect((await take((await take()).id, true)).changes).toEqual([]);
});

test("git's own folders that were made or went since are named, and stay as they are (T2 T7)", async () => {
  const folder = shadowed();
  const { sh, take } = folder;
  sh('echo 1 > one; git init -q old; echo 2 > old/two; git init -q --bare bare.git; printf "ignored\\n" > .gitignore');
  const { id } = await take();
  sh(`git init -q .; git init -q made; echo 3 > made/three; git init -q --bare new.git; git init -q ignored
    git init -q --separate-git-dir apart linked; echo mine > apart/beside; rm -rf old/.git bare.git; echo 4 > one`);
  const { untaken, changes } = await goBack(folder, id);
  const said = untaken.map(({ path, why }) => `${why} ${path}`);
  expect(said.toSorted()).toEqual([
    'git_gone bare.git',
    'git_gone old/.git',
    'git_made .git',
    'git_made apart',
    'git_made linked/.git',
    'git_made made/.git',
    'git_made new.git',
  ]);
  expect(changes.map(({ path }) => path)).toEqual(['apart/beside', 'made/three', 'one']);
  expect(sh('cat one; git -C made rev-parse --git-dir; git -C linked rev-parse --is-inside-work-tree')).toBe(
    '1\n.git\ntrue\n',
  );
  expect((await goBack(folder, (await take()).id)).untaken).toEqual([]);
});

test('rules that came with a new folder count from the capture that found it (T2 T7)', async () => {
  const folder = shadowed();
  const { sh, take, takeAnew } = folder;
  sh('echo 1 > one; mkdir other');
  const first = await take();
  sh(`mkdir venv; printf '*\\n' > venv/.gitignore; echo precious > venv/data; echo 2 > one
    git init -q sub; echo priv > sub/.git/info/exclude; echo keep > sub/priv`);
  const told = await take(first.id, true);
  expect((await takeAnew(first.id)).id).toBe(told.id);
  sh('rm venv/.gitignore; rm -rf sub/.git');
  const { untaken } = await goBack(folder, told.id);
  expect(untaken.map(({ path }) => path)).toEqual(['sub/.git', 'sub/priv', 'venv/data']);
});

test('of a large file of rules as much counts later as counted then (T7)', async () => {
  const folder = shadowed();
  folder.sh('{ echo /keep; yes "# a comment" | head -c 1200000; echo; echo "!/keep"; } > .gitignore; echo 1 > keep');
  const { id } = await folder.take();
  folder.sh(': > .gitignore');
  expect((await goBack(folder, id)).untaken).toEqual([{ path: 'keep', why: 'ignored' }]);
});

test('a file that a rule ignores since it was captured stays captured, also by a process that knows nothing (T2)', async () => {
  const { sh, take, takeAnew, files, means } = shadowed();
  sh('echo 1 > x.log');
  const first = await take();
  sh("echo '*.log' > .gitignore");
  const second = await take(first.id);
  expect(await files((await takeAnew(second.id)).id)).toEqual(['100644 .gitignore', '100644 x.log']);
  const { id } = await takeSnapshot({ ...means, held: [second.id] }, null);
  expect(await files(id)).toContain('100644 x.log');
});
