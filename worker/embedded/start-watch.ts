// Starts the process that stops a server when all who used it were killed. It is a process of its
// own, since those who use the server may all be killed at once.
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import type { DataFolder, Env } from '../../connection/data-folder.ts';
import { identityOf, isAlive, type ProcessIdentity } from '../../system/process/identity.ts';
import { pathOfBuiltFile } from '../../system/process/places.ts';
import { findPrograms } from '../../system/process/programs.ts';
import { recordServer, type ServerRecord } from './server-record.ts';
import type { WatchedServer } from './watch-use.ts';

/**
 * Records the server with the process that watches its use, which is started where none lives. The
 * caller holds the folder's lock. A server runs on without it where it cannot be started.
 */
export function recordWatched(folder: DataFolder, server: ServerRecord, env: Env): ServerRecord {
  if (isWatched(server)) return server;
  const record = { ...server, watch: startWatch(folder, server, env) };
  recordServer(folder, record);
  return record;
}

export const isWatched = ({ watch }: ServerRecord): boolean => watch !== undefined && isAlive(watch, 'here') !== 'dead';

function startWatch(folder: DataFolder, server: ServerRecord, env: Env): ProcessIdentity | undefined {
  const { root, membersDir, lockDir } = folder;
  const { pid, startTime, bootId: boot, host } = server;
  const watched: WatchedServer = {
    server: { pid, startTime, bootId: boot, host },
    folder: { root, membersDir, lockDir },
  };
  const log = openSync(folder.serverLog, 'a', 0o600);
  try {
    const program = pathOfBuiltFile('worker/embedded/watch-process.js');
    const child = spawn(process.execPath, [program, JSON.stringify(watched)], {
      cwd: '/',
      env: findPrograms(env).environment(),
      detached: true,
      stdio: ['ignore', log, log],
    });
    // A process that stays joined looks for it again.
    child.once('error', () => undefined).unref();
    return (child.pid === undefined ? null : identityOf(child.pid)) ?? undefined;
  } finally {
    closeSync(log);
  }
}
