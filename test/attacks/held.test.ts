// What else reads or runs files of an agent is held as its commands are: searches, and commands of
// hooks that want it.
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { createHookRunner } from '../../activities/hooks/hook-runner.ts';
import { createBuiltinTools } from '../../tools/builtin/builtin-tools.ts';
import type { Confinement } from '../../system/process/bwrap.ts';
import { probeSandbox, type Sandbox } from '../../tools/sandbox.ts';
import { createDeps } from '../../worker/create-deps.ts';
import { openModelAccess } from '../../worker/model-access.ts';
import { type PerdureConfig, checkConfig } from '../../worker/config/config.ts';
import { hookContext } from '../activities/hooks/support.ts';
import { workingSandboxes } from '../tools/sandboxes.ts';
import { tempFolder, toolContext } from '../tools/support.ts';

const works = (await workingSandboxes()).some(({ kind }) => kind === 'bwrap');
const stopped = { text: 'done', active: false, system: [] };

/** Hooks as a worker runs them, on a data folder of their own. */
async function hooksOf(config: PerdureConfig) {
  const root = tempFolder();
  const [dataDir, cwd] = [join(root, 'data'), join(root, 'workspace')];
  for (const folder of [dataDir, cwd]) mkdirSync(folder);
  writeFileSync(join(dataDir, 'secret'), 'secret');
  const env = { PATH: process.env['PATH'], ANTHROPIC_API_KEY: 'canary', XDG_RUNTIME_DIR: '/run/user/0' };
  const { hooks } = await createDeps({
    storePlace: join(dataDir, 'store'),
    liveDir: join(dataDir, 'live'),
    dataDir,
    env,
    log: () => undefined,
    access: await openModelAccess({ ...env, ANTHROPIC_BASE_URL: 'http://127.0.0.1:9' }),
    hooks: checkConfig(config, 'a test').hooks,
  });
  return { cwd, dataDir, stop: () => hooks.stop(hookContext({ cwd }), stopped) };
}

describe.runIf(works)('in bubblewrap', () => {
  test('a hook with `sandbox: true` runs what the agent wrote where it can change nothing but the workspace', async () => {
    const planted = join(homedir(), `.planted-${process.pid}`);
    const command = `sh ./tests.sh`;
    const { cwd, dataDir, stop } = await hooksOf({ hooks: { stop: [{ name: 'tests', command, sandbox: true }] } });
    const script = `touch ${planted}; cat ${dataDir}/secret; env; touch made; echo the tests fail; exit 2`;
    writeFileSync(join(cwd, 'tests.sh'), `{ ${script}\n} >&2`);
    const { verdict, failed } = await stop();
    expect(failed).toEqual([]);
    expect(verdict).toMatchObject({ kind: 'blocked', text: expect.stringContaining('the tests fail') });
    expect(JSON.stringify(verdict)).not.toMatch(/canary|secret\b(?!:)|XDG_RUNTIME_DIR/);
    expect(existsSync(planted)).toBe(false);
    expect(existsSync(join(cwd, 'made'))).toBe(true);
  });

  test('a hook with `sandbox: true` is told everything, and what it leaves running is ended', async () => {
    const command = 'cat > told.json; setsid sleep 600 & echo \'{"prevent":"no"}\'';
    const { cwd, stop } = await hooksOf({ hooks: { stop: [{ name: 'tests', command, sandbox: true }] } });
    expect((await stop()).verdict).toMatchObject({ kind: 'prevented' });
    expect(JSON.parse(readFileSync(join(cwd, 'told.json'), 'utf8'))).toMatchObject({ hook: 'stop', cwd });
    const { stdout } = await promisify(execFile)('ps', ['-eo', 'args']);
    expect(stdout).not.toContain(cwd);
  });

  test('a search reads in a sandbox in which nothing can be written and the data folder is not seen', async () => {
    const root = tempFolder();
    const [cwd, dataDir] = [join(root, 'workspace'), join(root, 'data')];
    for (const folder of [cwd, dataDir]) mkdirSync(folder);
    writeFileSync(join(cwd, 'a.txt'), 'needle\n');
    const seen: Confinement[] = [];
    const bwrap = await probeSandbox({ kinds: ['bwrap'] });
    const sandbox: Sandbox = {
      ...bwrap,
      wrap: (argv, confinement) => (seen.push(confinement), bwrap.wrap(argv, confinement)),
    };
    const tools = createBuiltinTools({ sandbox, dataDir });
    const search = (name: string, pattern: string) =>
      tools.find((tool) => tool.name === name)?.call({ pattern }, toolContext(cwd));
    expect(await search('grep', 'needle')).toMatchObject({ content: expect.stringContaining('a.txt:1:needle') });
    expect(await search('glob', '*.txt')).toMatchObject({ content: expect.stringContaining('a.txt') });
    expect(seen).toEqual([1, 2].map(() => ({ cwd, dir: cwd, dataDir, readOnly: true })));
  });
});

test('a hook that wants a sandbox does not run where nothing can hold it', async () => {
  const cwd = tempFolder();
  const hooks = createHookRunner(
    { stop: [{ name: 'tests', command: 'touch ran', sandbox: true }] },
    { env: process.env, folder: tempFolder() },
  );
  expect((await hooks.stop(hookContext({ cwd }), stopped)).failed).toMatchObject([{ hook: 'tests' }]);
  expect(existsSync(join(cwd, 'ran'))).toBe(false);
});

test('`sandbox` goes with a command only', () => {
  const hook = { run: () => undefined, sandbox: true } as never;
  expect(() => checkConfig({ hooks: { stop: [hook] } }, 'a test')).toThrow('"sandbox" goes with "command"');
});
