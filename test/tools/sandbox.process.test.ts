// What each way to hold a command promises. The kinds a machine lacks are left to the probe's own
// test; `group` works everywhere.
import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { probeSandbox, type Sandbox } from '../../tools/sandbox.ts';
import { bwrapArguments, type Confinement, runBuilt } from '../../system/process/bwrap.ts';
import { findPlaces } from '../../system/process/places.ts';
import { findPrograms } from '../../system/process/programs.ts';
import { tempFolder } from './support.ts';
import { unfiltered, workingSandboxes } from './sandboxes.ts';

const sandboxes = await workingSandboxes();
// None where bubblewrap does not work; what its arguments say is tested everywhere.
const bwraps = sandboxes.filter(({ kind }) => kind === 'bwrap');

async function run(sandbox: Sandbox, confinement: Confinement, command: string): Promise<string> {
  // A bash at the outermost level whose standard input is a socket, as here, takes itself for a
  // login and reads ~/.bashrc.
  const env = { ...process.env, SHLVL: '9' };
  const runOnce = async ([program = '', ...args]: readonly string[]) =>
    await promisify(execFile)(program, args, { cwd: confinement.cwd, env }).catch(
      (error: { stdout: string; stderr: string }) => error,
    );
  // Folders of other tests may go while the sandbox is built.
  const build = () => unfiltered(sandbox.wrap(['bash', '-c', command], confinement));
  const { stdout, stderr } = await runBuilt(build, runOnce, (end) => end.stdout + end.stderr);
  return (stdout + stderr).trim();
}

test.each(sandboxes)(
  '$kind runs a command in the workspace with its exit status and arguments as they are',
  async (sandbox) => {
    const cwd = tempFolder();
    expect(await run(sandbox, { cwd }, 'pwd; echo "a  b" > "c d"; exit 3')).toBe(cwd);
    expect(readFileSync(`${cwd}/c d`, 'utf8')).toBe('a  b\n');
    const [program, ...args] = unfiltered(sandbox.wrap(['bash', '-c', 'exit 3'], { cwd }));
    await expect(promisify(execFile)(program, args)).rejects.toMatchObject({ code: 3 });
  },
);

test.each(sandboxes.filter(({ kind }) => kind !== 'group'))(
  '$kind shows a command no process but its own',
  async (sandbox) => {
    const seen = await run(
      sandbox,
      { cwd: tempFolder() },
      `test -e /proc/${process.pid}/environ && echo seen; ls /proc | grep -c '^[0-9]'`,
    );
    expect(Number(seen)).toBeLessThan(10);
  },
);

test.each(bwraps)('$kind lets a command write the workspace and the temp folder, and nothing else', async (bwrap) => {
  const [cwd, temp] = [tempFolder(), tempFolder()];
  const wrote = await run(
    bwrap,
    { cwd },
    `for f in ${cwd}/a ${temp}/b /perdure-c /etc/perdure-d /usr/perdure-e; do touch $f 2>/dev/null && echo $f; done`,
  );
  expect(wrote).toBe(`${cwd}/a\n${temp}/b`);
});

test.each(bwraps)('$kind keeps root from undoing its mounts', async (bwrap) => {
  expect(await run(bwrap, { cwd: tempFolder() }, 'mount -o remount,rw / 2>/dev/null && echo undone')).toBe('');
});

test.each(bwraps)('$kind hides the data folder, wherever the workspace lies', async (bwrap) => {
  const root = tempFolder();
  const [inside, data, nested] = [`${root}/workspace`, `${root}/workspace/.perdure`, `${root}/workspace/.perdure/work`];
  mkdirSync(nested, { recursive: true });
  for (const folder of [inside, data, nested]) writeFileSync(`${folder}/file`, folder);
  const sees = (cwd: string): Promise<string> =>
    run(
      bwrap,
      { cwd, dataDir: data },
      `cat ${inside}/file ${data}/file ${nested}/file 2>/dev/null; touch ${data}/new 2>/dev/null && echo written`,
    );
  expect(await sees(inside)).toBe(inside);
  expect(await sees(nested)).toBe(`${inside}${nested}`);
});

test.each(bwraps)(
  '$kind hides a data folder that is given by a link, and does not mind one that is missing',
  async (bwrap) => {
    const root = tempFolder();
    mkdirSync(`${root}/real`);
    writeFileSync(`${root}/real/file`, 'secret');
    symlinkSync('real', `${root}/link`);
    expect(await run(bwrap, { cwd: tempFolder(), dataDir: `${root}/link` }, `cat ${root}/real/file 2>/dev/null`)).toBe(
      '',
    );
    expect(await run(bwrap, { cwd: root, dataDir: `${root}/missing` }, 'echo fine')).toBe('fine');
  },
);

test.each(bwraps)('$kind lets a command that only reads write nothing and reach no network (L55)', async (bwrap) => {
  const cwd = tempFolder();
  const command = `touch ${cwd}/a /tmp/perdure-b 2>/dev/null && echo written; echo > /dev/tcp/127.0.0.1/9 && echo connected; ls /sys/class/net`;
  const said = await run(bwrap, { cwd, readOnly: true }, command);
  expect(said).not.toMatch(/written|connected/);
});

test('bwrap mounts shallow folders before deep ones, and the workspace in its place among them', () => {
  const root = tempFolder();
  mkdirSync(`${root}/data/work`, { recursive: true });
  const mounts = (cwd: string, readOnly = false): string[] => {
    const args = bwrapArguments({ cwd, dataDir: `${root}/data`, readOnly }, findPlaces({ HOME: '/nowhere' }));
    // Named sockets of other processes are masked besides, whatever they are just now.
    return args.flatMap((arg, n) => (/^--(?:bind|ro-bind|tmpfs|dev|proc)$/.test(arg) ? [`${arg} ${args[n + 1]}`] : []));
  };
  const [first, ...rest] = mounts(`${root}/data/work`);
  expect(first).toBe('--ro-bind /');
  const ours = (all: readonly string[]): readonly string[] => all.filter((mount) => mount.includes(` ${root}`));
  expect(ours(rest).slice(-2)).toEqual([`--tmpfs ${root}/data`, `--bind ${root}/data/work`]);
  expect(ours(mounts(root)).slice(-2)).toEqual([`--bind ${root}`, `--tmpfs ${root}/data`]);
  expect(mounts(root, true).slice(0, 3)).toEqual(['--ro-bind /', '--dev /dev', '--proc /proc']);
  expect(ours(mounts(root, true)).slice(-2)).toEqual([`--ro-bind ${root}`, `--tmpfs ${root}/data`]);
  expect(mounts(root, true).filter((mount) => mount.startsWith('--bind'))).toEqual([]);
  expect(mounts('/')[0]).toBe('--bind /');
});

test('what is not installed is passed over, and a required sandbox that is missing is a sentence', async () => {
  const none = { ...findPrograms({}), at: (name: string) => `${tempFolder()}/${name}` };
  expect(await probeSandbox({ programs: none })).toMatchObject({ kind: 'group' });
  await expect(probeSandbox({ require: true, programs: none })).rejects.toThrow(
    /^A sandbox for shell commands is required, and none works here \(bwrap: .*ENOENT.*\)\. Install bubblewrap/,
  );
});

test('each kind says in a sentence what it confines', async () => {
  for (const { kind, describe } of sandboxes)
    expect(describe).toMatch(kind === 'bwrap' ? /^Shell .* can be written/ : /not confined/);
});

/** A process 1, as in a container without an init. */
const asFirst = (...argv: readonly string[]) =>
  spawnSync('unshare', ['--map-root-user', '--pid', '--fork', '--mount-proc', ...argv], { encoding: 'utf8' });

test.runIf(asFirst('true').status === 0)(
  'a worker that is process 1 says what an init is for, and no other does',
  () => {
    const module = join(import.meta.dirname, '../../dist/tools/sandbox.js');
    const tells = `import { probeSandbox } from ${JSON.stringify(module)}; console.log((await probeSandbox({ kinds: ['group'], unconfined: true })).describe)`;
    const told = [process.execPath, '--input-type=module', '-e', tells];
    const advice = 'start the container with an init (docker run --init, or tini)';
    expect(asFirst(...told).stdout).toContain(advice);
    expect(spawnSync(told[0] ?? '', told.slice(1), { encoding: 'utf8' }).stdout).not.toContain(advice);
  },
);
