// Gives a file that takes the place of another the attributes of that file: owner, group, mode,
// access list, extended attributes. Both are open: a name may have become a link to any file of the
// user by the time that a program looks it up.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fchmodSync, fchownSync, fstatSync, type Stats } from 'node:fs';
import { codeOf } from '../text.ts';
import { hasProc } from './proc.ts';

/** A mounted file, or a folder that may not be written, lets no file be put in another's place. */
const REFUSING: readonly (string | undefined)[] = ['EACCES', 'EPERM', 'EROFS', 'EBUSY', 'EXDEV'];

/** Tells whether the system lets no file take the place of another there. */
export const isReplacingRefused = (error: unknown): boolean => REFUSING.includes(codeOf(error));

type AttributeCopy = {
  /** The descriptor of the file whose attributes are kept, and its state. */
  readonly from: number;
  readonly had: Stats;
  /** The descriptor of the file that gets them. */
  readonly to: number;
};

/** Copies all attributes between two open files, and tells whether it could. */
export type CopyAll = (from: number, to: number) => Promise<boolean>;

/** GNU `cp` copies what Node cannot. The system's own may not, as on Alpine Linux. */
const OPTIONS = ['--attributes-only', '--preserve=all', '--no-preserve=timestamps,links'];

/**
 * Copies the attributes and tells whether the other file has its owner, group and mode now. Access
 * lists and extended attributes are lost where `copyAll` cannot copy them. Throws the system's
 * errors.
 */
export async function keepAttributes(copyAll: CopyAll, { from, had, to }: AttributeCopy): Promise<boolean> {
  if (!(hasProc && (await copyAll(from, to)))) copyOwner(to, had);
  const has = fstatSync(to);
  return has.uid === had.uid && has.gid === had.gid && has.mode === had.mode;
}

/** Runs `cp` with open files as its third and further ones, and tells whether it did all. */
type RunCp = (args: readonly string[], files: readonly number[]) => Promise<boolean>;

export const runCp =
  (cp: string, env: Readonly<Record<string, string | undefined>>): RunCp =>
  async (args, files) => {
    const child = spawn(cp, [...OPTIONS, ...args], { env, stdio: ['ignore', 'ignore', 'ignore', ...files] });
    try {
      const [status] = (await once(child, 'exit')) as [number | null];
      return status === 0;
    } catch {
      return false;
    }
  };

const FIRST_DESCRIPTOR = 3;
const nameOf = (descriptor: number): string => `/proc/self/fd/${descriptor}`;

/** Copies by one `cp` for each file. */
export const copyBy =
  (run: RunCp): CopyAll =>
  (from, to) =>
    run(['--', nameOf(FIRST_DESCRIPTOR), nameOf(FIRST_DESCRIPTOR + 1)], [from, to]);

/**
 * Makes empty files with the attributes of others in an open folder, by one `cp`. Returns their
 * names, in the order of the others; null where not all could be made.
 */
export async function copyInto(
  run: RunCp,
  folder: number,
  others: readonly number[],
): Promise<readonly string[] | null> {
  const numbers = others.map((_, at) => FIRST_DESCRIPTOR + 1 + at);
  const isDone =
    hasProc && (await run(['-t', nameOf(FIRST_DESCRIPTOR), '--', ...numbers.map(nameOf)], [folder, ...others]));
  return isDone ? numbers.map(String) : null;
}

/**
 * Copies owner and mode. An owner that may not be given is seen afterwards. A change of owner takes
 * set-user-id away, so that the mode comes last.
 */
export function copyOwner(to: number, { uid, gid, mode }: Stats): void {
  try {
    fchownSync(to, uid, gid);
  } catch (error) {
    if (codeOf(error) !== 'EPERM') throw error;
  }
  fchmodSync(to, mode & 0o7777);
}
