// Gives a file that takes the place of another the attributes of that file: owner, group, mode,
// access list, extended attributes. Both are open: a name may have become a link to any file of the
// user by the time that a program looks it up.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fchmodSync, fchownSync, fstatSync, type Stats } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { codeOf } from '../text.ts';
import { hasProc } from './proc.ts';
import type { Programs } from './programs.ts';

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
const OPTIONS = ['--attributes-only', '--preserve=all', '--no-preserve=timestamps,links', '--'];

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

/** Copies by one `cp` for each file. */
export function copyByPrograms(programs: Programs): CopyAll {
  return async (from, to) => {
    const child = spawn(programs.at('cp'), [...OPTIONS, '/proc/self/fd/3', '/proc/self/fd/4'], {
      env: programs.environment(),
      stdio: ['ignore', 'ignore', 'ignore', from, to],
    });
    try {
      const [status] = (await once(child, 'exit')) as [number | null];
      return status === 0;
    } catch {
      return false;
    }
  };
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

/** A shell starts `cp` faster than Node does, and is told of each pair by a line. */
const LOOP = `while read -r from to; do if cp ${OPTIONS.join(' ')} "$from" "$to"; then echo done; else echo failed; fi; done`;

/**
 * Copies for many files, by a shell that stays. It is for a process that is itself held: `cp` is
 * found by its PATH.
 */
export class AttributeCopier {
  #shell: ChildProcessByStdio<Writable, Readable, null> | null = null;
  #answers: AsyncIterator<string> | null = null;

  /** Copies one after the other. */
  readonly copy: CopyAll = async (from, to) => {
    const { shell, answers } = this.#open();
    const nameOf = (descriptor: number): string => `/proc/${process.pid}/fd/${descriptor}`;
    shell.stdin.write(`${nameOf(from)} ${nameOf(to)}\n`);
    const { value, done } = await answers.next();
    return done !== true && value === 'done';
  };

  close(): void {
    this.#shell?.stdin.end();
    this.#shell = this.#answers = null;
  }

  #open(): {
    readonly shell: ChildProcessByStdio<Writable, Readable, null>;
    readonly answers: AsyncIterator<string>;
  } {
    const shell = (this.#shell ??= spawn('sh', ['-c', LOOP], { stdio: ['pipe', 'pipe', 'ignore'] }));
    if (this.#answers === null) {
      // A shell that ended, or never began, answers nothing more.
      shell.on('error', () => shell.stdout.destroy());
      shell.stdin.on('error', () => undefined);
      this.#answers = createInterface({ input: shell.stdout })[Symbol.asyncIterator]();
    }
    return { shell, answers: this.#answers };
  }
}
