// Stops a server that nobody uses any more. Whoever leaves stops it as the last one; a process that
// is killed does not, and the server would run until another comes. No clock is asked: a machine
// that slept goes on counting where it was.
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataFolder } from '../../connection/data-folder.ts';
import { isAlive, type ProcessIdentity } from '../../system/process/identity.ts';
import { withFolderLock } from './folder-lock.ts';
import { livingMembers } from './members.ts';
import { stopServer } from './stop-server.ts';

export type WatchedServer = {
  readonly server: ProcessIdentity;
  readonly folder: Pick<DataFolder, 'root' | 'membersDir' | 'lockDir'>;
};

type Pace = {
  /** Resolves when it is time for the next look. */
  readonly rest: () => Promise<void>;
  /** Looks in a row that find nobody before the server is stopped. */
  readonly looks: number;
};

/** Seconds that a server waits for another user, as one who starts a killed command again. */
export const UNUSED_SECONDS = 30;
/** Without /proc each look runs `ps`. */
const LOOK_SECONDS = process.platform === 'linux' ? 1 : 5;
const USUAL: Pace = { rest: () => sleep(LOOK_SECONDS * 1_000), looks: UNUSED_SECONDS / LOOK_SECONDS };

/** Resolves when the server is gone, with whether it was stopped here. */
export async function stopWhenUnused(watched: WatchedServer, { rest, looks }: Pace = USUAL): Promise<boolean> {
  let unused = 0;
  while (isAlive(watched.server, 'here') === 'alive') {
    await rest();
    unused = isUsed(watched) ? 0 : unused + 1;
    if (unused >= looks && (await stopIfUnused(watched))) return true;
  }
  return false;
}

function isUsed({ folder }: WatchedServer): boolean {
  try {
    return livingMembers(folder).length > 0;
  } catch {
    // A folder that was removed has no users. One that cannot be read may have some.
    return existsSync(folder.membersDir);
  }
}

/** Decides under the folder's lock: a process that joins holds it until it is a member. */
async function stopIfUnused(watched: WatchedServer): Promise<boolean> {
  const { server, folder } = watched;
  const stop = async (): Promise<boolean> => {
    if (isUsed(watched) || isAlive(server, 'here') !== 'alive') return false;
    await stopServer(server);
    return true;
  };
  try {
    // Taking the lock would make a removed folder again.
    return await (existsSync(folder.lockDir) ? withFolderLock(folder, stop) : stop());
  } catch {
    // The lock is held for long, or the disk is full: the next look tries again.
    return false;
  }
}
