// Git runs programs that a repository's configuration names. A command that was judged to only
// read, or that a rule allows by its name, starts none that nobody asked for.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createBashTool } from '../../../tools/builtin/bash.ts';
import { prepareCall, type ReadyCall } from '../../../activities/calls/prepare.ts';
import { createRegistry } from '../../../tools/registry.ts';
import type { Sandbox } from '../../../tools/sandbox.ts';
import type { PermissionRules } from '../../../workflows/contract/session.ts';
import { workingSandboxes } from '../sandboxes.ts';
import { tempFolder, toolContext } from '../support.ts';

const sandboxes = await workingSandboxes();
const group = sandboxes.at(-1) as Sandbox;

const BEGIN =
  'git init -q; git config user.email a@b; git config user.name a; echo 1 > a.txt; git add .; git commit -qm x; echo 2 > a.txt; ' +
  "echo '*.txt diff=x filter=x' > .gitattributes; ";
/**
 * A folder in the workspace that git would take for a repository, with a program to ask what has
 * changed.
 */
const FAKE =
  "git init -q --bare fake; mkdir fake/tree; printf '[core]\\nrepositoryformatversion = 0\\nbare = false\\nworktree = tree\\n" +
  'fsmonitor = "touch made; false"\\n\' > fake/config';
/** The last commit gets a signature, which a program would check. */
const SIGNED =
  "git cat-file commit HEAD > c; { sed '/^$/,$d' c; printf 'gpgsig -----BEGIN PGP SIGNATURE-----\\n \\n x\\n " +
  "-----END PGP SIGNATURE-----\\n'; sed -n '/^$/,$p' c; } > d; git update-ref HEAD $(git hash-object -t commit -w d); " +
  "printf '#!/bin/sh\\ntouch made\\n' > gpg; chmod +x gpg; git config gpg.program ./gpg; git config log.showSignature true";

function workspace(...lines: readonly string[]): string {
  const cwd = join(tempFolder(), 'ws');
  mkdirSync(cwd);
  execFileSync('bash', ['-ec', lines.join('\n')], { cwd, stdio: ['ignore', 'ignore', 'inherit'] });
  return cwd;
}

function prepared(command: string, cwd: string, sandbox = group, permissions: PermissionRules = {}): ReadyCall {
  const registry = createRegistry([createBashTool({ sandbox })]);
  const call = prepareCall(registry, { mode: 'default', cwd, permissions }, { name: 'bash', input: { command } });
  if (call.kind !== 'ready') throw new Error(call.text);
  return call;
}

function made(cwd: string): readonly string[] {
  return readdirSync(cwd, { recursive: true })
    .map(String)
    .filter((name) => /(?:^|\/)made$/.test(name));
}

/** The workspace becomes a worktree of a repository beside it. */
const worktree =
  'git clone -q . ../main; rm -r .git; git -C ../main worktree add -q ../tree; mv ../tree/.git .; git worktree repair 2>/dev/null; ';
const submodule = 'git init -q sub; git -C sub commit -q --allow-empty -m x; git add sub';

test.each([
  ['nothing of the kind', 'git config remote.origin.url x', 'git status', 'read'],
  ['a way to show differences', "git config diff.external 'touch made'", 'git diff', 'execute'],
  ['a way to show files', "git config diff.x.textconv 'touch made; cat'", 'git log -p', 'execute'],
  ['a way to store files', "git config filter.x.clean 'touch made; cat'", 'git status', 'execute'],
  [
    'sections on one line',
    `printf '[core] bare = false\\n[x] [DIFF "x"] textconv = y' > .git/config`,
    'git show',
    'execute',
  ],
  ['another file', 'git config include.path ../more', 'git blame a.txt', 'execute'],
  ['files elsewhere', 'git config core.worktree ..', 'git diff', 'execute'],
  ['another file at times', "git config 'includeIf.gitdir:**.path' ../more", 'git diff', 'execute'],
  ['a repository below', `git init -q sub; git -C sub config diff.external x`, 'cd sub && git diff', 'execute'],
  [
    'one above what is none',
    'rm -r .git; mkdir .git; cd ..; git init -q; git config diff.external x',
    'git diff',
    'execute',
  ],
  [
    'a link to a repository',
    'git init -q sub; git -C sub config diff.external x; mkdir sub/s; ln -s sub/s in',
    'cd in && git diff',
    'execute',
  ],
  ['a submodule', submodule, 'git status', 'execute'],
  ['a file whose size is the mark of one', 'head -c 57344 /dev/zero > a.db; git add .', 'git status', 'read'],
  ['files elsewhere that do not know it', 'mv .git ../git; echo gitdir: ../git > .git', 'git diff', 'execute'],
  [
    'a program elsewhere',
    'git config diff.external x; mv .git ../git; echo gitdir: ../git > .git',
    'git diff',
    'execute',
  ],
  ['a worktree', worktree, 'git diff', 'read'],
  ['a worktree of it', `${worktree} git -C ../main config diff.external x`, 'git diff', 'execute'],
  [
    'a worktree with it',
    `${worktree} printf '[diff]\nexternal = x' > ../main/.git/worktrees/tree/config.worktree`,
    'git diff',
    'execute',
  ],
  ['what cannot be read', 'rm -r .git; ln -s .git .git', 'git diff', 'execute'],
  ['no git in the command', "git config diff.external 'touch made'", 'diff a.txt a.txt', 'read'],
])('a repository with %s: %s (L55)', (_, configure, command, risk) => {
  const cwd = workspace(BEGIN, configure);
  for (const kind of ['group', 'bwrap'] as const) {
    expect(prepared(command, cwd, { ...group, kind }).risk).toBe(risk);
  }
});

test.each(sandboxes)('$kind: a signature is checked by no program (L55)', async (sandbox) => {
  const cwd = workspace(BEGIN, SIGNED);
  const call = prepared('git log', cwd, sandbox);
  expect(call).toMatchObject({ risk: 'read', permission: { kind: 'allow' } });
  expect((await call.tool.call(call.input, toolContext(cwd))).content).toContain('commit ');
  expect(made(cwd)).toEqual([]);
  execFileSync('git', ['log'], { cwd, stdio: 'ignore' });
  expect(made(cwd)).toEqual(['made']);
});

test.each(sandboxes)(
  '$kind: an allowed git means no repository that a cd finds among the files (L55)',
  async (sandbox) => {
    const cwd = workspace(FAKE);
    const call = prepared('cd fake && git commit -m x', cwd, sandbox, { allow: ['bash(git commit:*)'] });
    expect(call.permission.kind).toBe('allow');
    expect((await call.tool.call(call.input, toolContext(cwd))).content).toContain('cannot use bare repository');
    expect(made(cwd)).toEqual([]);
    execFileSync('bash', ['-c', 'git commit -m x || true'], { cwd: join(cwd, 'fake'), stdio: 'ignore' });
    expect(made(cwd)).toEqual(['fake/tree/made']);
  },
);

test('an allowed git keeps the hooks of its repository, and a bare one is used by its name (L55)', async () => {
  const cwd = workspace(BEGIN, 'mkdir -p .git/hooks');
  writeFileSync(join(cwd, '.git/hooks/pre-commit'), '#!/bin/sh\ntouch made\n', { mode: 0o755 });
  const run = async (command: string): Promise<string> =>
    (await createBashTool({ sandbox: group }).call({ command }, toolContext(cwd))).content;
  await run('git commit -qam y');
  expect(made(cwd)).toEqual(['made']);
  const bare = 'git init -q --bare b; git push -q b HEAD:main; git --git-dir=b rev-parse --is-bare-repository';
  for (const command of [bare, `mkdir sub; cp -r .git sub; cd sub && ${bare}`]) expect(await run(command)).toBe('true');
  expect(await run('sh -c "cd b; git status"')).toContain('cannot use bare repository');
});
