// What a command of an agent tries in bubblewrap, as the user it runs as: root too.
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { findPlaces } from '../../system/process/places.ts';
import { keyringFilter } from '../../system/process/keyring-filter.mjs';
import { createBashTool } from '../../tools/builtin/bash.ts';
import { probeSandbox, type Sandbox } from '../../tools/sandbox.ts';
import { inputFor, tempFolder, toolContext } from '../tools/support.ts';
import { unfiltered, workingSandboxes } from '../tools/sandboxes.ts';

const works = (await workingSandboxes()).some(({ kind }) => kind === 'bwrap');

const bwrapOf = (env: Readonly<Record<string, string | undefined>>): Promise<Sandbox> =>
  probeSandbox({ kinds: ['bwrap'], places: findPlaces(env) });

type Place = { readonly cwd: string; readonly dataDir?: string; readonly readOnly?: boolean };

/** Everything it says, and nothing thrown: an attack may end as it likes. */
async function attack(sandbox: Sandbox, place: Place, command: string): Promise<string> {
  const [program, ...args] = unfiltered(sandbox.wrap(['/bin/bash', '-c', command], place));
  const { stdout, stderr } = await promisify(execFile)(program, args, { cwd: '/' }).catch(
    (error: { stdout: string; stderr: string }) => error,
  );
  return (stdout + stderr).trim();
}

/** A home folder with a workspace in it, both in a temporary folder. */
function userHome() {
  const root = tempFolder();
  const home = join(root, 'home');
  for (const folder of ['project', '.ssh', '.config/autostart', '.cache/perdure/bin', '.cache/pip', 'bin'])
    mkdirSync(join(home, folder), { recursive: true });
  for (const file of ['.bashrc', '.ssh/config', '.cache/perdure/bin/temporal', 'bin/tool', 'notes.txt'])
    writeFileSync(join(home, file), 'mine\n');
  return { root, home, project: join(home, 'project'), env: { HOME: home } };
}

describe.runIf(works)('in bubblewrap', () => {
  test.runIf(keyringFilter() !== null)(
    'the keyrings of the kernel are not there, for what can be kept in them',
    async () => {
      const [, first = 0] = { x64: [0, 248], arm64: [0, 217], riscv64: [0, 217] }[process.arch as 'x64'] ?? [];
      const script = [
        `my ($kind, $name, $secret) = ("user", "perdure", "x");`,
        `print syscall(${first}, $kind, $name, $secret, 1, -3), " $!\n"; print syscall(${first + 2}, 0, -3, 0), " $!\n";`,
      ].join(' ');
      const tool = createBashTool({ sandbox: await bwrapOf({}) });
      const { content } = await tool.call(
        inputFor(tool, { command: `perl -e '${script}'` }),
        toolContext(tempFolder()),
      );
      expect(content.trim().split('\n')).toEqual(['-1 Function not implemented', '-1 Function not implemented']);
    },
  );

  test('no setting of the kernel can be opened for writing, nor anything of the system', async () => {
    const cwd = tempFolder();
    const targets = [
      '/proc/sys/kernel/hostname /proc/sys/kernel/core_pattern /proc/sys/vm/drop_caches /proc/sys/fs/file-max',
      '/proc/sysrq-trigger /proc/irq/default_smp_affinity /proc/acpi/wakeup /proc/mtrr /proc/timer_list /proc/fs/x',
      '/proc/1/oom_score_adj /proc/self/oom_score_adj /proc/self/coredump_filter',
      '/sys/power/state /sys/kernel/uevent_helper /sys/kernel/mm/ksm/run /sys/fs/cgroup/release_agent',
      '/sys/fs/cgroup/memory/cgroup.procs /sys/fs/cgroup/cgroup.procs /sys/kernel/debug/x',
      '/etc/ld.so.preload /etc/cron.d/x /var/spool/cron/root /usr/bin/x /boot/x /root/x /lib/x /run/x/y',
    ].join(' ');
    const said = await attack(
      await bwrapOf({}),
      { cwd },
      `for f in ${targets}; do { : >> $f; } 2>/dev/null && echo opened $f; done
       for f in /dev/mem /dev/kmsg /dev/[shv]d* /dev/nvme* /dev/fuse /dev/loop* /dev/net/tun; do test -e $f && echo $f; done
       echo done`,
    );
    expect(said).toBe('done');
  });

  test('every file below /proc and /sys that says it is writable refuses to be', async () => {
    const find = `find /proc /sys -path '/proc/[0-9]*' -prune -o -type f -perm /222 -print 2>/dev/null`;
    const said = await attack(
      await bwrapOf({}),
      { cwd: tempFolder() },
      `${find} | while read -r f; do { exec 9>>"$f"; } 2>/dev/null && echo opened $f; done; echo done`,
    );
    expect(said).toBe('done');
  });

  test('no shared memory and no message of other processes is seen', async () => {
    const said = await attack(await bwrapOf({}), { cwd: tempFolder() }, 'readlink /proc/self/ns/ipc; ls -A /dev/shm');
    expect(said).toMatch(/^ipc:\[\d+\]$/);
    expect(said).not.toBe(await promisify(execFile)('readlink', ['/proc/self/ns/ipc']).then((x) => x.stdout.trim()));
  });

  test.each([false, true])(
    'no named socket outside the workspace answers (command only reads: %s)',
    async (readOnly) => {
      const { root, home, project, env } = userHome();
      mkdirSync(join(home, '.docker/run'), { recursive: true });
      const sockets = [join(home, '.docker/run/docker.sock'), join(root, 'agent.123'), join(project, 'own.sock')];
      for (const path of sockets) await listen(path);
      const connect = `const [path] = process.argv.slice(1);
      require('net').connect(path).on('connect', () => { console.log('reached ' + path); process.exit() }).on('error', () => process.exit())`;
      const command = sockets.map((path) => `${process.execPath} -e "${connect}" ${path}`).join('; ');
      const said = await attack(await bwrapOf(env), { cwd: project, readOnly }, command);
      expect(said).toBe(readOnly ? '' : `reached ${sockets[2]}`);
    },
  );

  test('the folder in which services of the user listen is empty', async () => {
    const said = await attack(await bwrapOf({}), { cwd: tempFolder() }, 'ls -A /run/user /run/docker.sock 2>/dev/null');
    expect(said).toBe('');
  });

  test('the cache of a package manager can be written, one that is a link cannot, and no other file of the cache folder', async () => {
    const { home, project, env } = userHome();
    const outside = join(home, 'elsewhere');
    mkdirSync(outside);
    symlinkSync(outside, join(home, '.npm'));
    const { cache, ...paths } = {
      cache: join(home, '.cache'),
      pip: join(home, '.cache/pip/x'),
      npm: join(home, '.npm/x'),
    };
    const files = [...Object.values(paths), join(cache, 'x'), join(cache, 'perdure/bin/temporal')];
    const said = await attack(
      await bwrapOf(env),
      { cwd: project },
      `for f in ${files.join(' ')}; do { echo theirs > $f; } 2>/dev/null && echo $f; done`,
    );
    expect(said).toBe(paths.pip);
  });

  test('what a command leaves in a cache of programs is there for the next command, and never in the user’s own', async () => {
    const { home, project, env } = userHome();
    const caches = [
      [
        '.npm/_npx',
        '.npm/_cacache',
        '.cache/pnpm/dlx',
        '.cache/uv/archive-v0',
        '.cache/uv/environments-v2',
        '.cache/pip/wheels',
      ],
      ['go/pkg/mod/golang.org/toolchain@v0', '.cache/go-build/00', '.cargo/registry/src', '.m2/repository/x'],
      ['.gradle/caches/jars-9', '.nuget/packages/x', '.cache/yarn/v6', '.cache/node-gyp/24', '.cache/ccache/0'],
    ].flat();
    for (const folder of caches) {
      mkdirSync(join(home, folder), { recursive: true });
      writeFileSync(join(home, folder, 'program'), 'mine\n');
    }
    const sandbox = await bwrapOf(env);
    const files = caches.map((folder) => join(home, folder, 'program')).join(' ');
    const write = `for f in ${files}; do mkdir -p $(dirname $f) && echo theirs > $f || echo no; done`;
    expect(await attack(sandbox, { cwd: project }, write)).toBe('');
    expect(await attack(sandbox, { cwd: project }, `cat ${files} | sort -u`)).toBe('theirs');
    for (const folder of caches) expect(readFileSync(join(home, folder, 'program'), 'utf8'), folder).toBe('mine\n');
  });

  test('a workspace that is the home folder keeps what its shells and programs start from', async () => {
    const { home, env } = userHome();
    const plant = [
      '.bashrc',
      '.bash_profile',
      '.zshenv',
      '.gitconfig',
      '.ssh/config',
      '.ssh/authorized_keys',
      '.new/x',
    ];
    const more = [
      '.config/autostart/x.desktop',
      '.config/perdure/perdure.config.mjs',
      'bin/tool',
      'bin/sudo',
      '.local/bin/ls',
    ];
    const said = await attack(
      await bwrapOf(env),
      { cwd: home },
      `for f in ${[...plant, ...more].join(' ')}; do mkdir -p $(dirname $f); echo theirs > $f; done 2>/dev/null
       mv .ssh other; mv bin other; rm -rf .bashrc .ssh; ln -s /tmp .config/perdure; cd /; mv ${home} ${home}-x
       echo fine > ${home}/project/file && cat ${home}/project/file`,
    );
    expect(said).toMatch(/^fine\n/);
    for (const file of ['.bashrc', '.ssh/config', 'bin/tool', '.cache/perdure/bin/temporal'])
      expect(readFileSync(join(home, file), 'utf8'), file).toBe('mine\n');
    for (const file of [...plant, ...more].filter((name) => !/^(\.bashrc|\.ssh\/config|bin\/tool)$/.test(name)))
      expect(existsSync(join(home, file)), file).toBe(false);
  });

  test('a start-up file that is kept in the workspace and linked to cannot be changed or replaced', async () => {
    const { home, project, env } = userHome();
    mkdirSync(join(project, 'dots'));
    writeFileSync(join(project, 'dots/profile'), 'mine\n');
    symlinkSync(join(project, 'dots/profile'), join(home, '.profile'));
    const tries = 'echo x > dots/profile; rm -f dots/profile; mv dots other; mkdir -p dots; echo x > dots/profile';
    await attack(await bwrapOf(env), { cwd: project }, tries);
    expect(readFileSync(join(home, '.profile'), 'utf8')).toBe('mine\n');
  });

  test('a workspace that holds the configuration folder or the cache gets no server and no configuration of the agent', async () => {
    const { home, env } = userHome();
    await attack(
      await bwrapOf(env),
      { cwd: join(home, '.config') },
      'mkdir -p perdure; echo x > perdure/perdure.config.mjs',
    );
    expect(existsSync(join(home, '.config/perdure/perdure.config.mjs'))).toBe(false);
    await attack(await bwrapOf(env), { cwd: join(home, '.cache') }, 'echo x > perdure/bin/temporal; mv perdure other');
    expect(readFileSync(join(home, '.cache/perdure/bin/temporal'), 'utf8')).toBe('mine\n');
  });

  test('what runs of this installation cannot be changed from a workspace that holds it, other files can', async () => {
    const cwd = dirname(dirname(import.meta.dirname));
    const made = join('test', `made-${process.pid}`);
    onTestFinished(() => void execFile('rm', ['-f', join(cwd, made)]));
    const said = await attack(
      await bwrapOf(process.env),
      { cwd },
      `for f in bin/planted node_modules/planted node_modules/.bin/planted ${made}; do { : > $f; } 2>/dev/null && echo $f; done
       { : >> package.json; } 2>/dev/null && echo package.json; mv bin other 2>/dev/null && echo moved`,
    );
    expect(said).toBe(made);
  });

  test('a data folder deep in a writable folder cannot be replaced by renaming what it lies in', async () => {
    const root = tempFolder();
    const [cwd, dataDir] = [join(root, 'workspace'), join(root, 'a/b/data')];
    for (const folder of [cwd, dataDir]) mkdirSync(folder, { recursive: true });
    writeFileSync(join(dataDir, 'server.json'), 'mine');
    const tries = `cd ${root}; mv a c; mv a/b c; mkdir -p a/b/data; echo theirs > a/b/data/server.json`;
    await attack(await bwrapOf({}), { cwd, dataDir }, tries);
    expect(readFileSync(join(dataDir, 'server.json'), 'utf8')).toBe('mine');
  });
});

async function listen(path: string): Promise<void> {
  const server = createServer((socket) => socket.end());
  await new Promise<void>((resolve) => server.listen(path, resolve));
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
}
