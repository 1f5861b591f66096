// What a file has besides its text: owner, group, mode, access list, extended attributes. A file that takes the place of another gets them.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Stats } from 'node:fs';
import { lchown, lstat, chmod, type FileHandle } from 'node:fs/promises';
import { hasProc } from '../../../process/proc.ts';
import type { Programs } from '../../../process/programs.ts';

type Copied = {
  /** The folder that both lie in, open. */
  readonly folder: FileHandle;
  /** The entry whose attributes are kept, and those it has. */
  readonly from: string;
  readonly had: Stats;
  /** The entry that gets them, and a path to it. */
  readonly to: string;
  readonly path: string;
};

/**
 * Whether the other file has them now. GNU `cp` copies what Node cannot: of access lists and extended attributes nothing is kept where the
 * system's `cp` cannot, as on Alpine Linux. Throws the system's errors.
 */
export async function keepAttributes(programs: Programs, copied: Copied): Promise<boolean> {
  const { had, path } = copied;
  if (!(hasProc && (await copyAll(programs, copied)))) await copyOwner(path, had);
  const has = await lstat(path);
  return has.uid === had.uid && has.gid === had.gid && has.mode === had.mode;
}

async function copyAll(programs: Programs, { folder, from, to }: Copied): Promise<boolean> {
  const options = ['--attributes-only', '--preserve=all', '--no-preserve=timestamps,links'];
  // By the open folder, whatever has taken its name.
  const entries = [from, to].map((entry) => `/proc/self/fd/3/${entry}`);
  const child = spawn(programs.at('cp'), [...options, '--', ...entries], {
    env: programs.environment(),
    stdio: ['ignore', 'ignore', 'ignore', folder.fd],
  });
  try {
    const [status] = (await once(child, 'exit')) as [number | null];
    return status === 0;
  } catch {
    return false;
  }
}

/** An owner that may not be given is seen afterwards. A change of owner takes set-user-id away, so that the mode comes last. */
async function copyOwner(path: string, { uid, gid, mode }: Stats): Promise<void> {
  await lchown(path, uid, gid).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPERM') throw error;
  });
  await chmod(path, mode & 0o7777);
}
