// Recognizes git's own folder by its contents, whatever it is called: a bare repository with its
// work trees next to it, or one made by `git init --separate-git-dir`.
import type { Dirent } from 'node:fs';

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
