// A socket that goes away while a sandbox is built, which then runs nothing: everything that is held
// in one is run all the same. The sandbox is the real one; its first arguments name a socket that
// is gone.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { runHookCommand } from '../../activities/hooks/run-command.ts';
import { CapturePool } from '../../activities/snapshots/capture-pool.ts';
import { runGitHeld } from '../../activities/snapshots/run-git-held.ts';
import { createHeldGit } from '../../activities/worktrees/held-git.ts';
import { DEFAULT_CAPS } from '../../store/snapshots/take-snapshot.ts';
import { openShadow, placeOfRoot } from '../../store/snapshots/shadow.ts';
import { createExitHandlers } from '../../system/process/kill-tree.ts';
import { isNeverBuilt, MOST_BUILDS } from '../../system/process/bwrap.ts';
import { pipePlace } from '../../system/process/pipes.ts';
import { createBashTool } from '../../tools/builtin/bash.ts';
import { createGrepTool } from '../../tools/builtin/grep.ts';
import { createBackground } from '../../tools/builtin/shell/background.ts';
import type { Sandbox } from '../../tools/sandbox.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { workingSandboxes } from './sandboxes.ts';
import { inputFor, tempFolder, toolContext } from './support.ts';

const [sandbox] = await workingSandboxes();
const hasBwrap = sandbox?.kind === 'bwrap';
const GONE = '/usr/perdure-gone.pipe';

/** Names a socket that is gone in so many lists of arguments; nothing can be made in its place. */
function unbuilt(times = 2): { readonly held: Sandbox; readonly state: { left: number } } {
  const state = { left: times };
  const wrap: Sandbox['wrap'] = (argv, confinement) => {
    const built = (sandbox as Sandbox).wrap(argv, confinement);
    if (state.left === 0) return built;
    state.left -= 1;
    const at = built.indexOf('--chdir');
    return [...built.slice(0, at), '--ro-bind', '/dev/null', GONE, ...built.slice(at)];
  };
  return { held: { ...(sandbox as Sandbox), wrap }, state };
}

test.runIf(hasBwrap)(
  'a command runs once where its sandbox was not built before, and says nothing of that (L34)',
  async () => {
    const { held, state } = unbuilt();
    const cwd = tempFolder();
    const progress: string[] = [];
    const bash = createBashTool({ sandbox: held, dataDir: tempFolder() });
    const command = 'echo ran >> ran; cat ran; exit 3';
    const context = toolContext(cwd, { progress: (text) => void progress.push(text) });
    const { content } = await bash.call(inputFor(bash, { command }), context);
    expect(state.left).toBe(0);
    expect(content).toContain('ran\n');
    expect(content).not.toMatch(/bwrap|ran\nran/);
    expect(progress.join('')).not.toContain('bwrap');
    // Its own complaint is what a command says of another sandbox.
    const other = `echo "bwrap: Can't bind mount /x"; echo ran >> ran; exit 1`;
    expect((await bash.call(inputFor(bash, { command: other }), toolContext(cwd))).content).toContain(
      "bwrap: Can't bind",
    );
    expect((await bash.call(inputFor(bash, { command: 'cat ran' }), toolContext(cwd))).content).toBe('ran\nran');
  },
);

test.runIf(hasBwrap)('a sandbox that is never built is told in the end (L34)', async () => {
  const { held, state } = unbuilt(100);
  const bash = createBashTool({ sandbox: held, dataDir: tempFolder() });
  const { content } = await bash.call(inputFor(bash, { command: 'echo ran' }), toolContext(tempFolder()));
  // It may be the socket of another test that went away last.
  expect(content).toContain("bwrap: Can't ");
  expect(state.left).toBe(100 - MOST_BUILDS);
});

test.runIf(hasBwrap)('a command in the background runs where its sandbox was not built before (L84)', async () => {
  const { held, state } = unbuilt();
  const [root, cwd] = [tempFolder(), tempFolder()];
  const background = createBackground({ folder: join(root, 'background'), hasPidNamespace: true });
  onTestFinished(() => background.close());
  const bash = createBashTool({ sandbox: held, background, dataDir: root });
  const context = toolContext(cwd, { session: 's-1' });
  const { content } = await bash.call(inputFor(bash, { command: 'echo ran; sleep 1000', background: true }), context);
  const id = /as (bg-[0-9a-f]{8}),/.exec(content)?.[1] ?? '';
  expect(state.left).toBe(0);
  await vi.waitFor(() => expect(background.output('s-1', id, 0)?.part.bytes.toString()).toBe('ran\n'), 20_000);
  expect(background.output('s-1', id, 0)?.record.end).toBeUndefined();
});

test.runIf(hasBwrap)(
  'git on snapshots and on work trees runs where its sandbox was not built before (T7 L72)',
  async () => {
    const dataDir = tempFolder();
    const place = placeOfRoot(dataDir, 's-1' as SessionId, tempFolder());
    await openShadow(place);
    const { signal } = new AbortController();
    const first = unbuilt();
    const run = runGitHeld({ sandbox: first.held, dataDir }, signal);
    expect(await run(['git', '--version'], { env: {}, cwd: place.gitDir })).toContain('git version');
    const second = unbuilt();
    const [holder, common] = [tempFolder(), tempFolder()];
    const git = createHeldGit(second.held, dataDir, signal);
    expect(await git.run({ holder, common, tree: join(holder, 'tree') }, ['git', '--version'])).toContain(
      'git version',
    );
    expect([first.state.left, second.state.left]).toEqual([0, 0]);
  },
);

test.runIf(hasBwrap)('a folder is captured where the sandbox of that was not built before (T1)', async () => {
  const { held, state } = unbuilt(3);
  const [dataDir, root] = [tempFolder(), tempFolder()];
  writeFileSync(join(root, 'a'), 'a');
  const pool = new CapturePool({ sandbox: held, dataDir, log: () => undefined });
  onTestFinished(() => pool.close());
  const place = placeOfRoot(dataDir, 's-1' as SessionId, root);
  const git = held.programs.at('git');
  const snapshot = await pool.capture({ place, git, caps: DEFAULT_CAPS, include: [], before: null });
  expect([snapshot.files, state.left]).toEqual([1, 0]);
});

test.runIf(hasBwrap)('a search and a hook run where their sandboxes were not built before (L60)', async () => {
  const search = unbuilt();
  const cwd = tempFolder();
  writeFileSync(join(cwd, 'a'), 'needle\n');
  const grep = createGrepTool({ sandbox: search.held, dataDir: tempFolder() });
  expect((await grep.call(inputFor(grep, { pattern: 'needle' }), toolContext(cwd))).content).toContain('a');
  const hook = unbuilt();
  const apart = join(tempFolder(), 'told');
  mkdirSync(apart);
  const ended = await runHookCommand({
    command: 'cat; echo; echo ran >> ran; cat ran',
    input: 'told',
    cwd,
    folders: [],
    apart,
    env: process.env,
    pipes: pipePlace(hook.held.programs, undefined),
    hold: { refusal: null, spares: true, wrap: (argv, reach) => hook.held.wrap(argv, reach) },
    atExit: createExitHandlers(process),
    signal: new AbortController().signal,
    timeoutMs: 60_000,
  });
  expect(ended).toMatchObject({ kind: 'exit', code: 0, stdout: 'told\nran\n' });
  expect([search.state.left, hook.state.left]).toEqual([0, 0]);
});

test('only a complaint of the sandbox about a place of its own says that it ran nothing (L34)', () => {
  const argv = ['bwrap', '--bind', '/', '/', '--ro-bind', '/dev/null', '/tmp', '--', 'sh', '-c', 'x'];
  const said = "bwrap: Can't bind mount /oldroot/dev/null on /newroot/tmp: No such file or directory\n";
  expect(isNeverBuilt(said, argv)).toBe(true);
  expect(isNeverBuilt(`${said}more\n`, argv)).toBe(false);
  expect(isNeverBuilt(said.replace('/tmp', '/other'), argv)).toBe(false);
  expect(isNeverBuilt('bwrap: execvp x: No such file or directory', argv)).toBe(false);
});

test('a place that was gone when the sandbox was built may be there again, as another has made it (L34)', () => {
  const place = tempFolder();
  const argv = ['bwrap', '--tmpfs', place, '--', 'sh', '-c', 'x'];
  expect(isNeverBuilt(`bwrap: Can't mkdir ${place}: Read-only file system\n`, argv)).toBe(true);
  expect(isNeverBuilt(`bwrap: Can't open ${place}: Permission denied\n`, argv)).toBe(false);
});

test('so are places of others that were gone and are there again, but none that the command itself may name', () => {
  const [other, cwd] = [tempFolder(), tempFolder()];
  const argv = ['bwrap', '--bind', other, other, '--bind', cwd, cwd, '--chdir', cwd, '--', 'bash'];
  const failed = (path: string): string => `bwrap: Can't find source path ${path}: No such file or directory\n`;
  expect(isNeverBuilt(failed(other), argv)).toBe(true);
  expect(isNeverBuilt(`bwrap: Can't bind mount /oldroot${other} on /newroot${other}: No such file\n`, argv)).toBe(true);
  expect(isNeverBuilt(failed(`${other}/of-a-command`), argv)).toBe(false);
  for (const path of [cwd, dirname(cwd)]) expect(isNeverBuilt(failed(path), argv)).toBe(false);
});
