// Reads the branch of a workspace for the footer, without starting git.
import { closeSync, constants, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { codeOf } from '../../system/text.ts';

/** Returns null outside of a repository, and for a commit that no branch names. */
export function readGitBranch(cwd: string): string | null {
  for (let folder = cwd; ; folder = dirname(folder)) {
    const head = readHead(join(folder, '.git'));
    if (head !== null) return /^ref: refs\/heads\/(.+)$/.exec(head.trim())?.[1] ?? null;
    if (dirname(folder) === folder) return null;
  }
}

/** A worktree has a file in the place of the folder, which names the folder. */
function readHead(place: string): string | null {
  try {
    if (statSync(place).isDirectory()) return readStart(join(place, 'HEAD'));
    const [, folder = ''] = /^gitdir: (.+)$/m.exec(readStart(place) ?? '') ?? [];
    return folder === '' ? null : readStart(join(resolve(dirname(place), folder), 'HEAD'));
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    return null;
  }
}

/** Bytes; a branch's name has fewer. */
const LONGEST = 4_096;

/**
 * Reads the beginning of a plain file; null for anything else. Whoever made the folder may have put
 * a pipe or a device there, which would keep this process waiting.
 */
function readStart(path: string): string | null {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!fstatSync(file).isFile()) return null;
    const bytes = Buffer.alloc(LONGEST);
    return bytes.toString('utf8', 0, readSync(file, bytes, 0, LONGEST, 0));
  } finally {
    closeSync(file);
  }
}
