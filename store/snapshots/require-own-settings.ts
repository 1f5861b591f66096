// Compares the settings of the shadow repository with ours before git reads them: changed ones
// could make git start a program, read objects from elsewhere, or take other contents for those of
// a snapshot. Differing settings are rewritten, and foreign ones are removed.
import { lstatSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';

/** Wins over every `.gitattributes` of a workspace: files are stored as they lie. */
const ATTRIBUTES = '* -text -filter -ident -working-tree-encoding !diff\n';

/** In this order: git takes the folder for a repository as soon as it has HEAD. */
const FILES: readonly (readonly [name: string, content: string])[] = [
  ['config', '[core]\n\trepositoryformatversion = 0\n\tbare = true\n'],
  ['info/attributes', ATTRIBUTES],
  ['HEAD', 'ref: refs/heads/none\n'],
];

const FOLDERS = ['objects', 'objects/info', 'objects/pack', 'refs', 'refs/heads', 'info'];

/** Nothing of ours writes these, and git would follow them. */
const STRANGE = [
  'config.worktree',
  'commondir',
  'gitdir',
  'hooks',
  'modules',
  'shallow',
  'worktrees',
  'index',
  'info/exclude',
  'info/grafts',
  'info/sparse-checkout',
  'objects/info/alternates',
  'objects/info/http-alternates',
  'refs/replace',
];

/**
 * Makes the repository where it is missing, and its settings ours. It costs a few looks where all
 * is as it should be. Throws the system's error.
 */
export function requireOwnSettings(gitDir: string): void {
  for (const name of FOLDERS) requireFolder(join(gitDir, name));
  for (const name of STRANGE) remove(join(gitDir, name));
  for (const [name, content] of FILES) requireFile(join(gitDir, name), content);
}

function requireFolder(path: string): void {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats?.isDirectory() === true) return;
  if (stats) rmSync(path, { force: true });
  mkdirSync(path, { recursive: true, mode: 0o700 });
}

/** No link is followed. */
function remove(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })) rmSync(path, { recursive: true, force: true });
}

/** Another git may read it meanwhile, so that it is replaced as a whole. */
function requireFile(path: string, content: string): void {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats?.isFile() === true && readFileSync(path, 'utf8') === content) return;
  if (stats && !stats.isFile()) rmSync(path, { recursive: true, force: true });
  const temporary = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    writeFileSync(temporary, content, { flag: 'wx', mode: 0o600 });
    renameSync(temporary, path);
  } finally {
    rmSync(temporary, { force: true });
  }
}
