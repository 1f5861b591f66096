// Repositories that an agent puts into its workspace: git does what their files say.
import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createExitHandlers } from '../../system/process/kill-tree.ts';
import { runHookCommand } from '../../activities/hooks/run-command.ts';
import { pipePlace } from '../../system/process/pipes.ts';
import { createBashTool } from '../../tools/builtin/bash.ts';
import { whyGitMayDoMore } from '../../tools/builtin/shell/git.ts';
import { findConfigDoubt } from '../../tools/builtin/shell/git-config.ts';
import { probeSandbox } from '../../tools/sandbox.ts';
import { tempFolder, toolContext } from '../tools/support.ts';

const group = await probeSandbox({ kinds: ['group'], unconfined: true });

function workspace(...lines: readonly string[]): string {
  const cwd = join(tempFolder(), 'ws');
  mkdirSync(cwd);
  execFileSync('bash', ['-ec', lines.join('\n')], { cwd, stdio: ['ignore', 'ignore', 'inherit'] });
  return cwd;
}

function made(cwd: string): readonly string[] {
  const names = readdirSync(cwd, { recursive: true }).map(String);
  return names.filter((name) => /(?:^|\/)made$/.test(name));
}

/** Plain files that git would take for a repository, with a program to ask what has changed. */
const HIDDEN =
  "git init -q --bare fake; mkdir fake/tree; printf '[core]\\nrepositoryformatversion = 0\\nbare = false\\nworktree = tree\\n" +
  'fsmonitor = "touch made; false"\\n\' > fake/config';

test.each(['sh -c "cd fake; git status"', 'sh run.sh', 'env -C fake git status', 'cd fake && git status'])(
  'a repository in plain files of the workspace is not used: %s (L55)',
  async (command) => {
    const cwd = workspace(HIDDEN, 'echo "cd fake; git status" > run.sh');
    const { content } = await createBashTool({ sandbox: group }).call({ command }, toolContext(cwd));
    expect(content).toContain('cannot use bare repository');
    expect(made(cwd)).toEqual([]);
    spawnSync('git', ['status'], { cwd: join(cwd, 'fake') });
    expect(made(cwd)).toEqual(['fake/tree/made']);
  },
);

test('a hook finds no repository in plain files of the workspace', async () => {
  const cwd = workspace(HIDDEN);
  const env = { PATH: process.env['PATH'] };
  const signal = new AbortController().signal;
  const run = { command: 'git status', cwd: join(cwd, 'fake'), input: '', env, signal, timeoutMs: 20_000, apart: cwd };
  const end = await runHookCommand({
    ...run,
    pipes: pipePlace(group.programs, undefined),
    atExit: createExitHandlers(process),
  });
  expect(JSON.stringify(end)).toContain('cannot use bare repository');
  expect(made(cwd)).toEqual([]);
});

const BEGIN = 'git init -q; git -c user.email=a -c user.name=a commit -q --allow-empty -m x; ';

test.each([
  ['git-lfs', 'git config lfs.customtransfer.x.path ./x'],
  ['an extension of git-lfs', 'git config lfs.extension.x.clean ./x'],
  ['the filter of git-lfs', 'git config filter.lfs.process "./x filter-process"'],
  ['a file of revisions to ignore', 'git config blame.ignoreRevsFile /etc/passwd'],
  ['a map of names', 'git config mailmap.file /etc/passwd'],
  ['attributes from elsewhere', 'git config core.attributesFile /etc/passwd'],
  ['a work tree elsewhere', 'git config core.worktree /etc'],
  ['another file', 'git config include.path /etc/x'],
  ['another file at times', 'git config includeIf.onbranch:main.path x'],
  ['a way to show files', 'git config diff.x.textconv ./x'],
  ['an unknown section', 'git config zzz.x y'],
  [
    'a key that stands where a section seems to be',
    `printf '[core]\\nabbrev = 7 \\\\\\n[branch "x"]\\nworktree = /etc\\n' > .git/config`,
  ],
  ['what is no configuration', 'echo "<x>" > .git/config'],
  ['a giant of a configuration', 'yes "# x" | head -c 2000000 >> .git/config'],
  ['a pipe as its configuration', 'rm .git/config; mkfifo .git/config'],
  ['a pipe as itself', 'rm -r .git; mkfifo .git'],
  ['a pipe as its index', 'rm -f .git/index; mkfifo .git/index'],
  ['objects from elsewhere', 'echo /elsewhere/objects > .git/objects/info/alternates'],
  ['objects that are elsewhere', 'mv .git/objects ../objects; ln -s ../../objects .git/objects'],
  ['all of it elsewhere', 'mv .git ../git; ln -s ../git .git'],
  ['a file that says so', 'mv .git ../git; echo gitdir: ../git > .git'],
  ['what is common to worktrees elsewhere', 'cp -r .git ../git; echo ../../git > .git/commondir'],
])('a git that reads is in doubt where the repository has %s (L55)', (_, change) => {
  expect(whyGitMayDoMore(workspace(BEGIN), { cwd: '/' })).toBeUndefined();
  const cwd = workspace(BEGIN, change);
  expect(whyGitMayDoMore(cwd, { cwd })).toBeDefined();
});

test('a git that reads is not in doubt in an ordinary repository (L55)', () => {
  const cwd = workspace(
    'git init -q ../up; git clone -q ../up . 2>/dev/null; git config user.email a@b; git config user.name "a # b"',
    'git config core.hooksPath .husky; git config pull.rebase true; git config branch.main.vscode-merge-base origin/main',
    'git config remote.origin.gh-resolved base; git config lfs.repositoryformatversion 0; git config commit.gpgsign true',
    'git config "lfs.https://x.example/y.git/info/lfs.access" basic; git config advice.detachedHead false',
  );
  expect(whyGitMayDoMore(cwd, { cwd })).toBeUndefined();
  mkdirSync(join(cwd, 'deep'));
  expect(whyGitMayDoMore(join(cwd, 'deep'), { cwd: join(cwd, 'deep') })).toBeUndefined();
});

// What people's repositories have in their configurations: no git that reads acts on it.
test.each([
  ['http "https://github.com/"', 'extraheader = AUTHORIZATION: basic x'],
  ['http', 'extraheader = x\npostBuffer = 1\nproxy = http://p:1'],
  ['alias', 'st = status\nx = !touch made'],
  ['core', 'editor = vim\npager = less\nsshCommand = ssh -i k\nexcludesfile = ~/.gitignore\ncommitGraph = true'],
  ['credential', 'helper = store'],
  ['credential "https://x.example"', 'helper = !touch made'],
  ['url "git@github.com:"', 'insteadOf = https://github.com/'],
  ['diff', 'algorithm = histogram\ncolorMoved = zebra\ntool = vimdiff'],
  ['merge', 'conflictstyle = zdiff3'],
  ['log', 'date = iso'],
  ['status', 'showUntrackedFiles = all'],
  ['submodule "x"', 'active = true\nurl = https://x/y'],
  ['extensions', 'relativeworktrees = true'],
  ['fetch', 'recurseSubmodules = on-demand'],
  ['safe', 'directory = *'],
  ['includeIf "gitdir:~/work/"', 'path = more'],
])('a git that reads is not in doubt for [%s] (L55)', (section, keys) => {
  const cwd = workspace(BEGIN);
  writeFileSync(join(cwd, '.git/more'), '[user]\nname = a\n');
  appendFileSync(join(cwd, '.git/config'), `[${section}]\n${keys}\n`);
  expect(whyGitMayDoMore(cwd, { cwd })).toBeUndefined();
  execFileSync('git', ['status'], { cwd, stdio: 'ignore' });
  expect(made(cwd)).toEqual([]);
});

test.each([
  ['filter "x"', 'clean = sh -c true', 'sets filter.*.clean'],
  ['core', 'worktree = ..', 'sets core.worktree'],
  ['diff', 'external = x', 'sets diff.external'],
  ['diff "x"', 'textconv = x', 'sets diff.*.textconv'],
  ['include', 'path = other', 'includes a file that sets core.worktree'],
  ['status', 'submoduleSummary = true', 'sets status.submodulesummary'],
])('the key that decided is named: [%s] %s (L55)', (section, keys, said) => {
  const cwd = workspace(BEGIN);
  writeFileSync(join(cwd, '.git/other'), '[core]\nworktree = ..\n');
  appendFileSync(join(cwd, '.git/config'), `[${section}]\n${keys}\n`);
  expect(whyGitMayDoMore(cwd, { cwd })).toContain(`the repository's git configuration ${said}, with which`);
});

const PIECES =
  '[core] [CORE] [branch] [diff] [include] [branch␣"x"] [branch␣"x\\"]"] [branch.x] [filter␣"lfs"] [core]bare=1 [ ] " \\ # ; = ␣ ␣ ' +
  '⏎ ⏎ ⏎ ⏎ \t \r abbrev=7 worktree=/etc worktree␣=␣x path=x bare external=x process merge=a\\ x=" a "#" \\␣';
const pieces = PIECES.split(' ').map((piece) => piece.replaceAll('␣', ' ').replaceAll('⏎', '\n'));

test('whatever a configuration looks like, git finds no harmful key in one that was found harmless (L55)', () => {
  const file = join(tempFolder(), 'config');
  let compared = 0;
  const compare = (config: string): void => {
    if (findConfigDoubt(file, (path) => (path === file ? config : '[core]\nworktree = x')) !== undefined) return;
    writeFileSync(file, config);
    const { stdout, status } = spawnSync('git', ['config', '-f', file, '--list', '--name-only'], { encoding: 'utf8' });
    if (status !== 0) return;
    compared++;
    expect(stdout).not.toMatch(/^(?:diff|include|filter)\.|^core\..*(?:worktree|path|external|process)$/im);
  };
  const config = fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((parts) => parts.join(''));
  const likely = config.map((rest) => `[core]\nbare = false\n${rest}`);
  fc.assert(fc.property(fc.oneof(config, likely), compare), { numRuns: 1_500 });
  expect(compared).toBeGreaterThan(20);
});

const INNOCENT = `${BEGIN}echo '*.txt filter=x' > .gitattributes; echo a > f.txt; git add .; `;
const GUILTY = 'printf \'[filter "x"]\\nclean = touch made; cat\\n\' >> ';

test.each([
  [
    'a blank at the end of where .git leads',
    `mv .git repo; cp -r repo 'repo '; ${GUILTY}'repo /config'; echo 'gitdir: repo ' > .git`,
  ],
  [
    'a blank at the end of its common folder',
    `mv .git repo; cp -r repo 'repo '; ${GUILTY}'repo /config'; mkdir wt; cp repo/HEAD repo/index wt; echo '../repo ' > wt/commondir; echo 'gitdir: wt' > .git`,
  ],
  [
    'a byte that is no text',
    `mv .git $'r\\ufffd'; cp -r $'r\\ufffd' $'r\\xff'; ${GUILTY}$'r\\xff/config'; printf 'gitdir: r\\xff\\n' > .git`,
  ],
])('git is read only where it reads what was judged: %s (L55)', (_what, setUp) => {
  const cwd = workspace(`${INNOCENT}${setUp}; echo b > f.txt`);
  expect(whyGitMayDoMore(cwd, { cwd })).toBeDefined();
  spawnSync('git', ['status'], { cwd });
  expect(made(cwd)).not.toEqual([]);
});
