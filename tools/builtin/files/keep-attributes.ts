// Gives a file that takes the place of another the attributes of that file: owner, group, mode,
// access list, extended attributes. Both are open: a name may have become a link to any file of the
// user by the time that a program looks it up.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Stats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { hasProc } from '../../../system/process/proc.ts';
import type { Programs } from '../../../system/process/programs.ts';

type AttributeCopy = {
  /** The file whose attributes are kept, and its state. */
  readonly from: FileHandle;
  readonly had: Stats;
  /** The file that gets them. */
  readonly to: FileHandle;
};

/**
 * Copies the attributes and tells whether the other file has them now. GNU `cp` copies what Node
 * cannot: access lists and extended attributes are lost where the system's `cp` cannot, as on
 * Alpine Linux. Throws the system's errors.
 */
export async function keepAttributes(programs: Programs, copied: AttributeCopy): Promise<boolean> {
  const { had, to } = copied;
  if (!(hasProc && (await copyAll(programs, copied)))) await copyOwner(to, had);
  const has = await to.stat();
  return has.uid === had.uid && has.gid === had.gid && has.mode === had.mode;
}

async function copyAll(programs: Programs, { from, to }: AttributeCopy): Promise<boolean> {
  const options = ['--attributes-only', '--preserve=all', '--no-preserve=timestamps,links'];
  const child = spawn(programs.at('cp'), [...options, '--', '/proc/self/fd/3', '/proc/self/fd/4'], {
    env: programs.environment(),
    stdio: ['ignore', 'ignore', 'ignore', from.fd, to.fd],
  });
  try {
    const [status] = (await once(child, 'exit')) as [number | null];
    return status === 0;
  } catch {
    return false;
  }
}

/**
 * Copies owner and mode. An owner that may not be given is seen afterwards. A change of owner takes
 * set-user-id away, so that the mode comes last.
 */
async function copyOwner(to: FileHandle, { uid, gid, mode }: Stats): Promise<void> {
  await to.chown(uid, gid).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPERM') throw error;
  });
  await to.chmod(mode & 0o7777);
}
