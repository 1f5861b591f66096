// Sandboxes that wait for a command: a command finds in one what it finds in a sandbox of its own,
// and whatever has changed meanwhile leads to a new one. Each starts with a simple sandbox, because
// other tests change what the product's own has to hide.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, readlinkSync, renameSync, rmdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { killTree } from '../../../system/process/kill-tree.ts';
import { pipePlace } from '../../../system/process/pipes.ts';
import { createPreparedSandboxes } from '../../../system/process/prepared-sandboxes.ts';
import { procStat, processInfo, programName } from '../../../system/process/proc.ts';
import { createBashTool } from '../../../tools/builtin/bash.ts';
import { createBackground } from '../../../tools/builtin/shell/background.ts';
import { probeSandbox, type Sandbox } from '../../../tools/sandbox.ts';
import { Superseded, type ToolContext } from '../../../tools/tool.ts';
import { until } from '../../support/until.ts';
import { inputFor, processesWith, tempFolder, toolContext } from '../support.ts';

/**
 * Whatever is mounted or unmounted on the machine meanwhile, by other tests too, leads to a new
 * sandbox: such a run says nothing about one that waits.
 */
const whateverIsMounted = { retry: 5 };

const found = await probeSandbox({ kinds: ['bwrap'] }).catch(() => null);
const LONG = 1_000_000;
/** The first process of a sandbox tells by its arguments whether a shell had waited in it. */
const WAITED = 'grep -q "[r]ead -rN" /proc/1/cmdline && echo waited || echo new; ';

type Mounts = (place: Place) => readonly string[];
type Place = { readonly cwd: string; readonly dataDir: string; readonly secret: string };

/** A workspace, and a folder that is hidden. */
function place(): Place {
  const [cwd, root] = [tempFolder(), tempFolder()];
  const [dataDir, secret] = [join(root, 'data'), join(root, 'secret')];
  for (const folder of [dataDir, secret]) mkdirSync(folder);
  writeFileSync(join(secret, 'key'), 'canary-key');
  return { cwd, dataDir, secret };
}

const hidesSecret: Mounts = ({ secret }) => ['--tmpfs', secret, '--remount-ro', secret];

/** What bash runs in, with a simple sandbox whose mounts are asked for at each command. */
function open(at: Place, mounts: Mounts = hidesSecret, keptMs = LONG, programAt = found?.programs.at) {
  if (found === null || programAt === undefined) throw new Error('there is no bubblewrap');
  const wrap: Sandbox['wrap'] = (argv, { cwd, dir = cwd, readOnly }) => {
    const own = [readOnly === true ? '--ro-bind' : '--bind', cwd, cwd];
    const shown = ['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', ...own, ...mounts(at)];
    return [found.programs.at('bwrap'), '--die-with-parent', '--unshare-pid', ...shown, '--chdir', dir, '--', ...argv];
  };
  const prepared = createPreparedSandboxes(pipePlace({ ...found.programs, at: programAt }, at.dataDir), keptMs);
  onTestFinished(() => prepared.close());
  const background = createBackground({ folder: join(at.dataDir, 'background'), hasPidNamespace: true });
  onTestFinished(() => background.close());
  const sandbox = { ...found, wrap };
  const tool = createBashTool({ sandbox, dataDir: at.dataDir, prepared, background });
  const bash = async (command: string, context: Partial<ToolContext> = {}, more = {}) =>
    await tool.call(inputFor(tool, { command, ...more }), toolContext(at.cwd, context));
  const own = createBashTool({ sandbox, dataDir: at.dataDir });
  return {
    prepared,
    background,
    bash,
    /** Runs a command in a sandbox of its own. */
    alone: async (command: string, context: Partial<ToolContext> = {}) =>
      await own.call(inputFor(own, { command }), toolContext(at.cwd, context)),
    said: async (command: string, context: Partial<ToolContext> = {}) => (await bash(command, context)).content,
  };
}

/** The shells that wait, or are about to, in sandboxes of a workspace. */
async function waitingIn(cwd: string): Promise<readonly number[]> {
  const shells = await processesWith('read -rN');
  return shells.filter((pid) => {
    try {
      return programName(pid) === 'bash' && readlinkSync(`/proc/${pid}/cwd`) === cwd;
    } catch {
      return false;
    }
  });
}

test.runIf(found)(
  'the next command of a workspace finds a sandbox that waits, and each is used once (L55)',
  whateverIsMounted,
  async () => {
    const { said } = open(place());
    const [first, ...others] = [1, 2, 3].map(() => `${WAITED} touch /dev/shm/mark 2>/dev/null; ls /dev/shm`);
    expect(await said(`${first}`)).toBe('new\nmark');
    for (const command of others) expect(await said(command)).toBe('waited\nmark');
    expect(await said('ls /dev/shm; true > x')).toBe('');
  },
);

const EVERYTHING = `
  sort -z </proc/$$/environ | od -c; tr '\\0' ' ' </proc/$$/cmdline; echo
  echo "$0|$-|$SHLVL|$$|$PPID|$_|$#|$BASH_EXECUTION_STRING"
  declare -p | grep -v 'EPOCH\\|RANDOM\\|SECONDS'; set -o; shopt; ulimit -a; umask; trap; id; pwd
  readlink /proc/$$/fd/0; ls /proc/$$/fd; read line || echo no input
  grep '^\\(Cap\\|Sig[^Q]\\|Seccomp\\|NoNewPrivs\\|Uid\\|Gid\\|Groups\\|Umask\\)' /proc/self/status
  cut -d' ' -f5- /proc/self/mountinfo; ls -d /proc/[0-9]*; cut -d' ' -f4-8 /proc/$$/stat
  cat /proc/self/cgroup /proc/self/oom_score_adj /proc/self/limits`;

test.runIf(found)(
  'a command finds in it all that it finds in a sandbox of its own (L40 L55)',
  whateverIsMounted,
  async () => {
    const { said, alone } = open(place());
    const env = { ODD: `it's "ä€" $HOME \`x\` \\ \n\t\u0001\u007f!`, EMPTY: '', LANG: 'xx_XX.UTF-8' };
    const context = { env, idempotencyKey: 'same' };
    const own = (await alone(EVERYTHING, context)).content;
    await said('true > x');
    expect(await said(EVERYTHING, context)).toBe(own);
    expect(own).toContain('no input');
    expect(await said(`${WAITED} printf %s "$ODD" | od -c`, context)).toMatch(/^waited\n/);
  },
);

test.runIf(found)(
  'a name that the waiting shell cannot have, or would follow, leads to a sandbox of its own (L40)',
  whateverIsMounted,
  async () => {
    const { said, alone } = open(place());
    for (const env of [
      { 'WITH.DOT': '1' },
      { SHELLOPTS: 'pipefail' },
      { BASH_ENV: '/dev/null' },
      { SHLVL: '3' },
      { PIPESTATUS: '3' },
    ]) {
      const context = { env, idempotencyKey: 'same' };
      await said('true > x');
      expect(await said(EVERYTHING, context)).toBe((await alone(EVERYTHING, context)).content);
      await said('true > x');
      expect(await said(WAITED, context)).toMatch(/^(?:\+.*\n)*new$/);
    }
  },
);

test.runIf(found)('no value of the environment is an argument of a program (O12)', whateverIsMounted, async () => {
  const at = place();
  const env = join(at.cwd, 'env');
  writeFileSync(env, '#!/bin/sh\necho "$@" >>arguments\nexec env "$@"\n', { mode: 0o755 });
  const { said } = open(at, hidesSecret, LONG, (name) => (name === 'env' ? env : found!.programs.at(name)));
  await said('true > x');
  const context = { env: { TOKEN: 'canary-value' } };
  expect(await said(`${WAITED} echo "$TOKEN"`, context)).toBe('waited\ncanary-value');
  const told = readFileSync(join(at.cwd, 'arguments'), 'utf8');
  expect(told).toContain('--norc');
  expect(told).not.toContain('canary-value');
});

test.runIf(found)('after a command that was killed no sandbox waits (L48)', async () => {
  const { bash, said } = open(place());
  await bash('kill -KILL $$');
  expect(await said(WAITED)).toBe('new');
});

test.runIf(found)('statuses, signals and output are as in a sandbox of its own (L36)', async () => {
  const { bash, alone } = open(place());
  const commands = [
    'exit 7',
    'kill -SEGV $$',
    'kill -KILL $$',
    'nothing-like-it',
    'echo "unclosed',
    'head -c 100000 /dev/zero | tr "\\0" x',
  ];
  for (const command of commands) {
    const own = await alone(`true; ${command}`);
    await bash('true > x');
    expect(await bash(`true; ${command}`)).toEqual(own);
  }
});

const changes: readonly (readonly [what: string, change: (at: Place) => void])[] = [
  [
    'a hidden folder was made again',
    ({ secret }) => {
      renameSync(secret, `${secret}-old`);
      mkdirSync(secret);
      writeFileSync(join(secret, 'key'), 'canary-key');
    },
  ],
  [
    'a hidden folder was removed and made again',
    ({ secret }) => {
      renameSync(join(secret, 'key'), `${secret}-key`);
      rmdirSync(secret);
      mkdirSync(secret);
      renameSync(`${secret}-key`, join(secret, 'key'));
    },
  ],
  [
    'the workspace was replaced',
    ({ cwd }) => {
      renameSync(cwd, `${cwd}-old`);
      mkdirSync(cwd);
      onTestFinished(() => renameSync(`${cwd}-old`, join(cwd, 'old')));
    },
  ],
];

test.runIf(found).each(changes)('where %s a command gets a new sandbox (L55)', whateverIsMounted, async (_, change) => {
  const at = place();
  const { said } = open(at);
  await said('true > x');
  await until(async () => (await waitingIn(at.cwd)).length === 1);
  change(at);
  const command = `${WAITED} cat ${at.secret}/key 2>&1; ls`;
  expect(await said(command)).toMatch(/^new\n.*No such file/);
  await until(async () => (await waitingIn(at.cwd)).length === 1);
  expect(await said(command)).toMatch(/^waited\n.*No such file/);
});

test.runIf(found)(
  'a folder of a workspace that was made again is not worked in as the old one (L55)',
  whateverIsMounted,
  async () => {
    const at = place();
    const { said } = open(at);
    const dir = join(at.cwd, 'sub');
    mkdirSync(dir);
    await said('true > x', { dir });
    await until(async () => (await waitingIn(dir)).length === 1);
    renameSync(dir, join(at.cwd, 'old'));
    mkdirSync(dir);
    expect(await said(`${WAITED} touch made; ls`, { dir })).toBe('new\nmade');
  },
);

test.runIf(found)(
  'other arguments of the sandbox lead to a new one: more to hide, another folder, only reading (L55)',
  async () => {
    const at = place();
    const hidden: string[] = [];
    const { said } = open(at, ({ secret }) => [secret, ...hidden].flatMap((path) => ['--tmpfs', path]));
    await said('true > x');
    hidden.push(at.dataDir);
    expect(await said(`${WAITED} ls ${at.dataDir}`)).toBe('new');
    mkdirSync(join(at.cwd, 'sub'));
    expect(await said(`${WAITED} pwd`, { dir: join(at.cwd, 'sub') })).toBe(`new\n${at.cwd}/sub`);
    await until(async () => (await waitingIn(at.cwd)).length === 2);
    expect(await said('ls')).toBe('sub\nx');
    await until(async () => (await waitingIn(at.cwd)).length === 3);
  },
);

test.runIf(found).each([
  ['a link', ({ secret }: Place, shown: string) => symlinkSync(secret, shown)],
  ['another folder', (_: Place, shown: string) => mkdirSync(shown)],
])('%s in the place of a folder that is protected leads to a new sandbox (L55)', async (_, put) => {
  const at = place();
  const shown = join(at.cwd, 'shown');
  mkdirSync(shown);
  const { said } = open(at, () => ['--ro-bind', shown, shown]);
  await said('true > x');
  await until(async () => (await waitingIn(at.cwd)).length === 1);
  renameSync(shown, join(at.cwd, 'moved'));
  put(at, shown);
  expect(await said(`${WAITED} touch ${shown}/y; ls ${shown}`)).not.toMatch(/waited|y$/);
});

test.runIf(found)(
  'a command in the background, one beside others and a very long one get sandboxes of their own',
  whateverIsMounted,
  async () => {
    const at = place();
    const { bash, said, background } = open(at);
    await said('true > x');
    const { content } = await bash(WAITED, { session: 's-1' }, { background: true });
    const output = (): string => {
      const [id = ''] = /bg-[0-9a-f]+/.exec(content) ?? [];
      return background.output('s-1', id)?.part.bytes.toString() ?? '';
    };
    expect(await until(() => output() || null)).toBe('new\n');
    const long = `${WAITED} : ${'x'.repeat(60_000)}`;
    expect(await said(long)).toBe('new');
    const held = bash(`${WAITED} until test -e go; do sleep 0.01; done`);
    await until(async () => (await waitingIn(at.cwd)).length === 0);
    expect(await said(`${WAITED} true > y`)).toBe('new');
    expect(await waitingIn(at.cwd)).toEqual([]);
    expect(await said(`${WAITED} true > go`)).toBe('new');
    expect((await held).content).toBe('waited');
  },
);

test.runIf(found)(
  'a stop and a time limit end all that a command has started in it (L48)',
  whateverIsMounted,
  async () => {
    const at = place();
    const { bash, said } = open(at);
    const mark = `${at.cwd}/sleeper`;
    for (const how of ['stop', 'limit']) {
      await said('true > x');
      const stop = new AbortController();
      const command = `${WAITED} (exec -a ${mark} sleep 1000) & trap "" TERM; echo begun > begun; wait; sleep 1000`;
      const ended = bash(command, { signal: stop.signal }, how === 'limit' ? { timeout: 300 } : {});
      if (how === 'stop') {
        await until(async () => (await processesWith(mark)).length > 0);
        stop.abort();
      }
      const { content, isError } = await ended;
      expect(isError).toBe(true);
      if (how === 'stop') expect(content).toContain('waited');
      expect(await processesWith(mark)).toEqual([]);
    }
  },
);

test.runIf(found)(
  'its processes are found by the record of the call, and by its mark (L40)',
  whateverIsMounted,
  async () => {
    const at = place();
    const { bash, said } = open(at);
    await said('true > x');
    let leader: Parameters<ToolContext['spawned']>[0] | undefined;
    const spawned = async (child: typeof leader): Promise<void> => void (leader = child);
    const running = bash(`${WAITED} echo $PERDURE_CALL > mark; sleep 1000`, { spawned });
    const mark = await until(() => readFileSync(join(at.cwd, 'mark'), { encoding: 'utf8', flag: 'a+' }).trim() || null);
    const { pid, startTime } = await until(() => leader ?? null);
    expect(processInfo(pid)).toMatchObject({ startTime, group: pid, session: pid });
    expect((await killTree({ callId: mark }, { graceMs: 0 })).left).toBe(0);
    expect((await running).content).toContain('waited');
  },
);

test.runIf(found)('a command whose attempt is superseded is not run, and its sandbox ends', async () => {
  const at = place();
  const { bash, said } = open(at);
  await said('true > x');
  const fence = async (): Promise<void> => {
    throw new Superseded();
  };
  await expect(bash('touch never', { fence })).rejects.toThrow(Superseded);
  await until(async () => (await waitingIn(at.cwd)).length === 0);
  expect(await said('ls')).toBe('x');
});

test.runIf(found)('what waits ends after its time, and with the worker that closes it', async () => {
  const [at, other] = [place(), place()];
  const soon = open(at, hidesSecret, 50);
  await soon.said('true > x');
  await until(async () => (await soon.said(WAITED)) === 'new');
  const { prepared, said } = open(other);
  await said('true > x');
  await until(async () => (await waitingIn(other.cwd)).length === 1);
  prepared.close();
  await until(async () => (await waitingIn(other.cwd)).length === 0);
  expect(await said(`${WAITED} true > x`)).toBe('new');
  expect(await said(`${WAITED} true > x`)).toBe('new');
});

test.runIf(found)('where the process that starts programs was killed commands soon find sandboxes again', async () => {
  const at = place();
  const { said } = open(at);
  await said('true > x');
  const [shell = 0] = await until(async () => ((await waitingIn(at.cwd)).length > 0 ? await waitingIn(at.cwd) : null));
  const parentOf = (pid: number): number => procStat(pid)?.parent ?? 0;
  const spawner = parentOf(parentOf(parentOf(shell)));
  expect(parentOf(spawner)).toBe(process.pid);
  process.kill(spawner, 'SIGKILL');
  // Until this process knows of it, commands are refused, or are killed with their sandbox.
  await until(async () => /^(new|waited)$/.test(await said(WAITED).catch(() => '')));
});

/** A program that runs one command, says so, and does `then`. */
function program({ cwd, dataDir }: Place, then: string) {
  const url = (path: string): string => JSON.stringify(new URL(`../../../dist/${path}`, import.meta.url));
  const source = `
    const { probeSandbox } = await import(${url('tools/sandbox.js')});
    const { createPreparedSandboxes } = await import(${url('system/process/prepared-sandboxes.js')});
    const { pipePlace } = await import(${url('system/process/pipes.js')});
    const { programs, wrap } = await probeSandbox({ kinds: ['bwrap'] });
    const prepared = createPreparedSandboxes(pipePlace(programs, ${JSON.stringify(dataDir)}), ${LONG});
    const held = wrap([], { cwd: ${JSON.stringify(cwd)} });
    const options = { cwd: '/', env: {}, pipes: pipePlace(programs, ${JSON.stringify(dataDir)}), onOutput: () => {} };
    const tree = await prepared.spawn(held, [programs.at('bash'), '-c', 'true'], options);
    await tree.exit;
    ${then}`;
  return spawn(process.execPath, ['--input-type=module', '-e', source], { stdio: ['ignore', 'pipe', 'inherit'] });
}

test.runIf(found)('a program with a sandbox that waits ends when it has nothing else to do', async () => {
  const at = place();
  const ending = program(at, `console.log('done');`);
  const [[status]] = await Promise.all([once(ending, 'exit'), once(ending.stdout, 'data')]);
  expect(status).toBe(0);
  await until(async () => (await waitingIn(at.cwd)).length === 0);
});

test.runIf(found)('what waits ends with a worker that is killed (L40)', async () => {
  const at = place();
  const killed = program(at, `setInterval(() => {}, ${LONG}); console.log('done');`);
  await once(killed.stdout, 'data');
  await until(async () => (await waitingIn(at.cwd)).length === 1);
  killed.kill('SIGKILL');
  await until(async () => (await waitingIn(at.cwd)).length === 0);
});

test.runIf(found)(
  'with the sandbox of the product a command sees no data folder that came while one waited (L55)',
  async () => {
    const at = place();
    const sandbox = found as Sandbox;
    const prepared = createPreparedSandboxes(pipePlace(sandbox.programs, at.dataDir));
    onTestFinished(() => prepared.close());
    const tool = createBashTool({ sandbox, dataDir: at.dataDir, prepared });
    const said = async (command: string): Promise<string> =>
      (await tool.call(inputFor(tool, { command }), toolContext(at.cwd))).content;
    // Folders of other tests come and go in the temporary folder, and lead to new ones as well.
    await until(async () => (await said(`${WAITED} true > x`)) === 'waited');
    const data = join(at.cwd, 'data-of-another');
    mkdirSync(data);
    for (const name of ['data.json', 'members', 'lock', 'canary']) writeFileSync(join(data, name), '');
    expect(await said(`${WAITED} ls ${data}; true > x`)).toBe('new');
  },
);
