// A server whose users were all killed. That the process beside it waits half a minute, and what it
// says then, is shown by test/crash/killed-command.test.ts.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import type { DataFolder } from '../../../connection/data-folder.ts';
import { isAlive, type ProcessIdentity } from '../../../system/process/identity.ts';
import { withFolderLock } from '../../../worker/embedded/folder-lock.ts';
import { joinServer } from '../../../worker/embedded/join-server.ts';
import { registerMember } from '../../../worker/embedded/members.ts';
import { findRunningServer } from '../../../worker/embedded/server-record.ts';
import { afterWord } from '../../../worker/embedded/start-server.ts';
import { createSupervision, superviseServer } from '../../../worker/embedded/supervise-server.ts';
import { stopWhenUnused } from '../../../worker/embedded/watch-use.ts';
import { joining, otherProcess, serverOf, temporaryData, temporaryFolder, until } from './support.ts';

const LOOKS = 3;

/** Watches in the place of the server's own watch, and looks when it is told to. */
async function watchByHand(folder: DataFolder) {
  await killWatch(folder);
  const server = serverOf(folder);
  let next = (): void => undefined;
  let rests = 0;
  const rest = (): Promise<void> => {
    rests += 1;
    return new Promise((resolve) => (next = resolve));
  };
  const stopped = stopWhenUnused({ server, folder }, { rest, looks: LOOKS });
  /** Resolves when it rests again, or has ended. */
  const look = async (times = 1): Promise<void> => {
    for (let n = 0; n < times; n++) {
      const before = rests;
      next();
      await Promise.race([stopped, until(() => rests > before)]);
    }
  };
  return { look, stopped, server };
}

function watchOf(folder: DataFolder): ProcessIdentity {
  const { watch } = serverOf(folder);
  if (watch === undefined) throw new Error(`nothing watches the server of ${folder.root}`);
  return watch;
}

async function killWatch(folder: DataFolder): Promise<ProcessIdentity> {
  const watch = watchOf(folder);
  process.kill(watch.pid, 'SIGKILL');
  await until(() => isAlive(watch, 'here') === 'dead');
  return watch;
}

async function leftByAll(): Promise<DataFolder> {
  const folder = temporaryData();
  const starter = otherProcess(folder);
  await starter.joined;
  await starter.kill();
  return folder;
}

test('a server stays while one of its users lives, and is stopped after the last was killed', async () => {
  const folder = temporaryData();
  const [one, other] = [otherProcess(folder), otherProcess(folder, 'command')];
  await Promise.all([one.joined, other.joined]);
  const { look, stopped } = await watchByHand(folder);
  await one.kill();
  await look(2 * LOOKS);
  expect(findRunningServer(folder)).not.toBeNull();
  await other.kill();
  await look(LOOKS - 1);
  expect(findRunningServer(folder)).not.toBeNull();
  await look();
  expect(await stopped).toBe(true);
  expect(findRunningServer(folder)).toBeNull();
});

test('looks that found nobody count anew after one that found a user', async () => {
  const folder = await leftByAll();
  const { look, stopped } = await watchByHand(folder);
  await look(LOOKS - 1);
  const user = otherProcess(folder);
  await user.joined;
  await killWatch(folder);
  await look();
  await user.kill();
  await look(LOOKS - 1);
  expect(findRunningServer(folder)).not.toBeNull();
  await look();
  expect(await stopped).toBe(true);
});

test('a process that joins while the server is about to be stopped keeps it', async () => {
  const folder = await leftByAll();
  const { look, server } = await watchByHand(folder);
  await look(LOOKS - 1);
  const [user, looked] = await withFolderLock(folder, async () => {
    // It finds nobody, and waits for the lock.
    const last = look();
    await setImmediate();
    return [registerMember(folder, { role: 'command', worker: false }), last];
  });
  await looked;
  expect(serverOf(folder).pid).toBe(server.pid);
  user.remove();
});

test('the server of a data folder that was removed is stopped, and the folder is not made again', async () => {
  const folder = await leftByAll();
  const { look, stopped, server } = await watchByHand(folder);
  rmSync(folder.root, { recursive: true });
  await look(LOOKS);
  expect(await stopped).toBe(true);
  expect([isAlive(server, 'here'), existsSync(folder.root)]).toEqual(['dead', false]);
});

test('the process that watches a server ends with it', async () => {
  const folder = temporaryData();
  const joined = await joinServer(joining(folder));
  const watch = watchOf(folder);
  expect(isAlive(watch, 'here')).toBe('alive');
  await joined.leave();
  await until(() => isAlive(watch, 'here') === 'dead');
});

test('a watch that was killed is started again by whoever joins, and by who stays', async () => {
  const folder = temporaryData();
  await joinServer(joining(folder));
  const first = await killWatch(folder);
  const member = await joinServer(joining(folder));
  expect(watchOf(folder)).not.toEqual(first);
  superviseServer(
    member,
    createSupervision(() => undefined),
  );
  const second = await killWatch(folder);
  await until(() => watchOf(folder).pid !== second.pid);
  expect(isAlive(watchOf(folder), 'here')).toBe('alive');
});

test('what starts a server and is killed before the server is watched leaves none', async () => {
  const made = join(temporaryFolder(), 'made');
  const startAfterWord = (word: string): Promise<unknown> => {
    const shell = spawn('sh', afterWord(['touch', made]), { stdio: ['pipe', 'ignore', 'ignore'] });
    onTestFinished(() => void shell.kill('SIGKILL'));
    shell.stdin?.end(word);
    return once(shell, 'exit');
  };
  await startAfterWord('');
  expect(existsSync(made)).toBe(false);
  await startAfterWord('\n');
  expect(existsSync(made)).toBe(true);
});
