// Programs that an agent has put where PATH finds them, under the names of those that Perdure
// starts outside the sandbox.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createHookRunner } from '../../activities/hooks/hook-runner.ts';
import { createBuiltinTools } from '../../tools/builtin/builtin-tools.ts';
import { findPrograms } from '../../system/process/programs.ts';
import { probeSandbox } from '../../tools/sandbox.ts';
import { findBinary } from '../../worker/embedded/find-binary.ts';
import { hookContext } from '../activities/hooks/support.ts';
import { workingSandboxes } from '../tools/sandboxes.ts';
import { tempFolder, toolContext } from '../tools/support.ts';

const NAMES = ['mkfifo', 'bwrap', 'setpriv', 'unshare', 'sh', 'bash', 'temporal', 'go', 'ps', 'git', 'rg', 'npm'];

/**
 * A workspace and a home with such programs in front of PATH. Each writes down that it ran, and
 * with what.
 */
function trap() {
  const root = tempFolder();
  const [cwd, home] = [join(root, 'workspace'), join(root, 'home')];
  const sprung = join(root, 'sprung');
  const folders = [join(cwd, 'node_modules/.bin'), join(home, 'bin'), join(home, '.local/bin')];
  for (const folder of folders) {
    mkdirSync(folder, { recursive: true });
    for (const name of NAMES) {
      writeFileSync(join(folder, name), `#!/bin/sh\n{ echo ${folder}/${name}; env; } >> ${sprung}\nexit 1\n`);
      chmodSync(join(folder, name), 0o755);
    }
  }
  const env = {
    HOME: home,
    PATH: [...folders, process.env['PATH']].join(delimiter),
    ANTHROPIC_API_KEY: 'canary',
    TEMPORAL_API_KEY: 'canary',
  };
  const ran = (): string => (existsSync(sprung) ? readFileSync(sprung, 'utf8') : '');
  return { root, cwd, home, env, ran };
}

/** What the worker itself was started with. */
function withEnvironment(env: Readonly<Record<string, string | undefined>>): void {
  const before = { ...process.env };
  onTestFinished(() => void (process.env = before));
  process.env = { ...before, ...env };
}

test('no program of the workspace or the home folder is run to hold a command or to carry its output', async () => {
  const { root, cwd, env, ran } = trap();
  withEnvironment(env);
  for (const { kind } of await workingSandboxes()) {
    const sandbox = await probeSandbox({ kinds: [kind], unconfined: true });
    const tools = createBuiltinTools({ sandbox, dataDir: join(root, 'data') });
    for (const [name, input] of [
      ['bash', { command: 'echo $((6 * 7))' }],
      ['grep', { pattern: 'exit', path: 'node_modules' }],
      ['glob', { pattern: 'node_modules/.bin/*' }],
    ] as const) {
      const output = await tools.find((tool) => tool.name === name)?.call(input, toolContext(cwd));
      expect(output, `${kind} ${name}`).toMatchObject({ content: expect.stringMatching(/42|mkfifo/) });
    }
    expect(ran(), kind).toBe('');
  }
});

test('no `temporal` and no `go` is run that an agent may have put there, and a person is told why', async () => {
  const { root, home, env, ran } = trap();
  const find = findBinary({
    env: { ...env, PATH: env.PATH.split(delimiter).slice(0, 3).join(delimiter), XDG_CACHE_HOME: join(root, 'cache') },
    wanted: null,
    say: () => undefined,
    sources: [],
  });
  await expect(find).rejects.toThrow(`${home}/bin/temporal lies where an agent may write: put it into /usr/local/bin`);
  expect(ran()).toBe('');
});

test('a helper is found in the folders of the system first, and gets no key', () => {
  const { env } = trap();
  const programs = findPrograms(env);
  expect(programs.at('mkfifo')).toMatch(/^\/(usr\/)?bin\/mkfifo$/);
  expect(programs.folders.filter((folder) => folder.startsWith('/tmp'))).toEqual([]);
  for (const needs of ['nothing', 'network'] as const)
    expect(JSON.stringify(programs.environment(needs))).not.toMatch(
      /canary|node_modules|perdure-test[^/]*\/(home\/(\.local\/)?bin|workspace)/,
    );
});

test('a relative folder of PATH, and one that is a link to the workspace, are passed over', () => {
  const { cwd } = trap();
  const env = { PATH: `:.:node_modules/.bin:${cwd}/node_modules/.bin:/usr/bin`, HOME: '/nowhere' };
  expect(findPrograms(env, [cwd]).folders).not.toContain('node_modules/.bin');
  expect(findPrograms(env, [cwd]).folders[0]).toBe('/usr/bin');
});

test('a command of a hook finds no program in the workspace', async () => {
  const { cwd, env, ran } = trap();
  const hooks = createHookRunner(
    { stop: [{ name: 'tests', command: 'npm --version >&2; exit 2' }] },
    { env, folder: '/nowhere' },
  );
  await hooks.stop(hookContext({ cwd }), { text: 'done', active: false, system: [] });
  expect(ran()).toBe('');
});

test('nor does it find one in another folder of the run', async () => {
  // Not in the temporary folder, where a checkout may lie too: there no hook finds programs,
  // whatever its session is.
  const lib = realpathSync(mkdtempSync(join(homedir(), '.perdure-test-')));
  onTestFinished(() => rmSync(lib, { recursive: true, force: true }));
  writeFileSync(join(lib, 'npm'), `#!/bin/sh\necho ran >> ${lib}/ran\n`, { mode: 0o755 });
  const env = { PATH: [lib, process.env['PATH']].join(delimiter) };
  const hooks = createHookRunner(
    { stop: [{ name: 'tests', command: 'npm --version >&2; exit 2' }] },
    { env, folder: '/nowhere' },
  );
  await hooks.stop(hookContext({ folders: [lib] }), { text: 'done', active: false, system: [] });
  expect(existsSync(join(lib, 'ran'))).toBe(false);
  await hooks.stop(hookContext(), { text: 'done', active: false, system: [] });
  expect(existsSync(join(lib, 'ran'))).toBe(true);
});
