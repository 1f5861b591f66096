// Reads files of a workspace that git reads, too: bounded, and never through a link. Paths are
// bytes, kept as latin1.
// Recognizes git's own folder by its contents, whatever it is called: a bare repository with its
// work trees next to it, or one made by `git init --separate-git-dir`.
import { closeSync, constants, type Dirent, fstatSync, openSync, readSync } from 'node:fs';
import { bytesOf, type RawPath } from './listing.ts';

/** A longer file counts up to here, whole lines only. */
const MOST_BYTES = 1024 * 1024;

const toWholeLines = (text: string): string => text.slice(0, text.lastIndexOf('\n') + 1);

/** Returns what counts of the text of a file of rules. */
export function wholeLines(text: string): string {
  return text.length > MOST_BYTES ? toWholeLines(text.slice(0, MOST_BYTES)) : text;
}

/** Returns null for all but a file that can be read. No link is followed to it. */
export function readBeginning(path: RawPath): string | null {
  let file: number;
  try {
    file = openSync(bytesOf(path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    // Git passes over one that it cannot read, too.
    return null;
  }
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) return null;
    const content = Buffer.allocUnsafe(Math.min(stats.size, MOST_BYTES));
    const text = content.subarray(0, readSync(file, content, 0, content.length, 0)).toString('latin1');
    return stats.size > MOST_BYTES ? toWholeLines(text) : text;
  } catch {
    return null;
  } finally {
    closeSync(file);
  }
}

type Named = Pick<Dirent, 'name' | 'isDirectory'>;

const PARTS = ['HEAD', 'objects', 'refs'];

/** Git's own entries there, which may lie among work trees and files of people. */
const OWN = new RegExp(
  `^(?:${[
    'HEAD|[A-Z_]+_HEAD|AUTO_MERGE|[A-Z]+_(?:MSG|EDITMSG|MODE|RR)|BISECT_[A-Z_]+',
    'config(?:\\.worktree)?|description|index|sharedindex\\..+|packed-refs|shallow|commondir|gitdir|gc\\.(?:log|pid)',
    'objects|refs|reftable|logs|info|hooks|worktrees|modules|branches|remotes|rr-cache|sequencer|rebase-(?:merge|apply)',
    'lfs|annex|svn|fsmonitor--daemon(?:\\.ipc)?|.+\\.lock',
  ].join('|')})$`,
);

/** Git takes a folder with these for its own. */
export const isGitFolder = (entries: readonly Named[]): boolean =>
  PARTS.every((part) => entries.some((entry) => entry.name === part && entry.isDirectory() === (part !== 'HEAD')));

/** Tells whether a change of a name may make a folder git's own, or end that. */
export const isPartOfGit = (name: string): boolean => PARTS.includes(name);

/** Tells whether git keeps what has that name in its own folder. */
export const isGitsOwn = (name: string): boolean => OWN.test(name);
