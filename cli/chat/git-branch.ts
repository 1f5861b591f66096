// Reads the branch of a workspace for the footer, without starting git.
import { readFileSync, statSync } from 'node:fs';
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
    if (statSync(place).isDirectory()) return readFileSync(join(place, 'HEAD'), 'utf8');
    const [, folder = ''] = /^gitdir: (.+)$/m.exec(readFileSync(place, 'utf8')) ?? [];
    return readFileSync(join(resolve(dirname(place), folder), 'HEAD'), 'utf8');
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    return null;
  }
}
