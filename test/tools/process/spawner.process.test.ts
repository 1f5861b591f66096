// The process that starts commands on behalf of a worker: what becomes of them when one of the two
// is gone.
import { execFileSync, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { allProcesses, procStat, processInfo, wasStartedWith } from '../../../system/process/proc.ts';
import { SPAWNER_GONE, spawnCommand } from '../../../system/process/spawner.ts';
import { until } from '../../support/until.ts';
import { tempFolder } from '../support.ts';

const sleeping = { argv: ['sleep', '1000'], cwd: '/', env: { PATH: process.env['PATH'] ?? '' } };
const script = fileURLToPath(new URL('../../../system/process/spawner-process.mjs', import.meta.url));
const spawnerOf = (pid: number): number => procStat(pid)?.parent ?? 0;

test('a command leads its own group and session, and its end is told', async () => {
  const { pid, startTime, exit } = await spawnCommand(sleeping, {});
  expect(processInfo(pid)).toMatchObject({ group: pid, session: pid, startTime });
  process.kill(pid, 'SIGTERM');
  expect(await exit).toEqual({ code: null, signal: 'SIGTERM' });
});

test('commands are started by one process, which is not the worker', async () => {
  const all = await Promise.all([1, 2, 3].map(() => spawnCommand(sleeping, {})));
  const parents = new Set(all.map(({ pid }) => spawnerOf(pid)));
  expect(parents.size).toBe(1);
  expect(parents).not.toContain(process.pid);
  for (const { pid } of all) process.kill(pid, 'SIGKILL');
  await Promise.all(all.map(({ exit }) => exit));
});

test('when that process is killed what it had started counts as killed, and the next command finds another', async () => {
  const running = await spawnCommand(sleeping, {});
  const spawner = spawnerOf(running.pid);
  process.kill(spawner, 'SIGSTOP');
  const unheard = spawnCommand(sleeping, {});
  process.kill(spawner, 'SIGKILL');
  expect(await running.exit).toEqual({ code: null, signal: 'SIGKILL' });
  await expect(unheard).rejects.toMatchObject({ code: SPAWNER_GONE });
  process.kill(running.pid, 'SIGKILL');
  const next = await spawnCommand({ ...sleeping, argv: ['true'] }, {});
  expect(await next.exit).toEqual({ code: 0, signal: null });
});

/**
 * A worker of its own, whose spawner has started a command; `then` runs in it with `spawner` and
 * says more on its output.
 */
async function workerThat(then = '', command = sleeping) {
  const program = `
    import { fork } from 'node:child_process';
    const stdio = ['ignore', 'ignore', 'inherit', 'ipc'];
    const spawner = fork(${JSON.stringify(script)}, [String(process.pid)], { detached: true, execArgv: [], stdio });
    spawner.on('message', ({ pid }) => { ${then} console.log(pid); });
    spawner.send(${JSON.stringify({ ...command, id: 1 })});`;
  const worker = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(worker.stdout, 'data')) as [Buffer];
  const started = Number(line.toString());
  const spawner = spawnerOf(started);
  expect(procStat(spawner)?.parent).toBe(worker.pid);
  return { worker, command: started, spawner };
}

test('that process ends with its worker, however the worker ends, and with it what it has started', async () => {
  const { worker, command, spawner } = await workerThat();
  worker.kill('SIGKILL');
  await until(() => processInfo(spawner) === null);
  await until(() => processInfo(command) === null);
});

test('so does what has left the group of its command, as coreutils timeout does', async () => {
  const argv = ['bash', '-c', 'timeout 1000 sleep 1000; true'];
  const { worker, command } = await workerThat('', { ...sleeping, argv });
  const hasLeft = (pid: number): boolean => procStat(pid)?.session === command && procStat(pid)?.group !== command;
  const own = await until(
    () =>
      readdirSync('/proc')
        .map(Number)
        .find((pid) => pid > 0 && hasLeft(pid)) ?? null,
  );
  worker.kill('SIGKILL');
  await until(() => processInfo(own) === null && processInfo(command) === null);
});

test('a command that a worker had sent when it was killed is not started, and nobody waits for its pipe to be read', async () => {
  const folder = tempFolder();
  const [path, made] = [join(folder, 'fifo'), join(folder, 'made')];
  execFileSync('mkfifo', [path]);
  const late = { ...sleeping, id: 2, argv: ['touch', made], output: { path, inode: statSync(path).ino } };
  const { worker, command, spawner } = await workerThat(
    `process.kill(spawner.pid, 'SIGSTOP'); spawner.send(${JSON.stringify(late)});`,
  );
  const over = once(worker, 'exit');
  worker.kill('SIGKILL');
  await over;
  process.kill(spawner, 'SIGCONT');
  await until(() => processInfo(spawner) === null);
  expect(existsSync(made)).toBe(false);
  await until(() => processInfo(command) === null);
});

test('what is started while the worker dies ends too: that nobody hears of it does not end that process alone', async () => {
  const mark = `MARK=${tempFolder()}`;
  const env = { ...sleeping.env, MARK: mark.slice('MARK='.length) };
  const spawner = fork(script, [String(process.pid)], {
    detached: true,
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  spawner.send({ ...sleeping, argv: ['true'], id: 1 });
  await once(spawner, 'message');
  spawner.kill('SIGSTOP');
  await until(() => procStat(spawner.pid ?? 0)?.state === 'T');
  // Both are there when it looks: it starts the command, and then it finds nobody to tell.
  spawner.send({ ...sleeping, env, id: 2 }, () => spawner.disconnect());
  await once(spawner, 'disconnect');
  spawner.kill('SIGCONT');
  await once(spawner, 'exit');
  await until(() => !allProcesses().some(({ pid }) => wasStartedWith(pid, mark)));
});
