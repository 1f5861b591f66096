// Finds the place where a search begins: a folder or file of the workspace, as an argument that
// cannot be taken for an option.
import { existsSync } from 'node:fs';
import { dirname, isAbsolute, join, relative } from 'node:path';
import { stat } from 'node:fs/promises';
import type { ToolContext } from '../../tool.ts';
import { ToolFailure } from '../../failures.ts';
import { isDataFolder } from '../../../system/process/data-folders.ts';
import { foldersUp, isInside } from '../../../system/process/places.ts';
import { confine, toDir, type Workspace } from '../files/confine.ts';
import { quotePath, toFsFailure } from '../files/fs-failures.ts';
import { refuseCostly } from './glob-match.ts';

export type SearchPlace = {
  /** The workspace, or the other folder of the run that the place lies in. */
  readonly root: string;
  /** The name relative to the root; '' is the root. */
  readonly name: string;
  /** The argument for ripgrep: perhaps more than was asked for. */
  readonly argument: string;
  readonly isFolder: boolean;
  /** The ignore files that count, in ripgrep's words. */
  readonly ignoring: readonly string[];
  /**
   * Maps a name relative to the root to one relative to the place; null for a name that lies
   * elsewhere. A file that is the place itself keeps its name.
   */
  readonly within: (name: string) => string | null;
};

export async function findSearchPlace(workspace: Workspace, path = '.'): Promise<SearchPlace> {
  const { path: real, root } = confine(workspace, path);
  const stats = await stat(real).catch((error: unknown) => {
    throw toFsFailure(error, path, 'searched');
  });
  if (!stats.isDirectory() && !stats.isFile())
    throw new ToolFailure(`${quotePath(path)} is neither a folder nor a file.`);
  const name = relative(root, real);
  const isFolder = stats.isDirectory();
  const above = judgeIgnoreFiles(root);
  // Ignore files between the root and the place count, and with those above the root ripgrep would
  // leave them out as well.
  const argument = isFolder && above === 'must_not' ? './' : `./${name}`;
  const within = (file: string): string | null => {
    if (name === '' || (!isFolder && file === name)) return file;
    return isFolder && file.startsWith(`${name}/`) ? file.slice(name.length + 1) : null;
  };
  return { root, name, argument, isFolder, ignoring: IGNORING[above], within };
}

const IGNORING: Readonly<Record<ReturnType<typeof judgeIgnoreFiles>, readonly string[]>> = {
  as_git: [],
  nothing: ['--no-require-git'],
  must_not: ['--no-require-git', '--no-ignore-parent'],
};

/**
 * Tells whether ignore files above a workspace may hide what lies in it: within a repository git's
 * own rules count, up to its root; a `.gitignore` in someone's home is about nothing below it.
 */
function judgeIgnoreFiles(root: string): 'as_git' | 'nothing' | 'must_not' {
  const [, ...above] = foldersUp(root);
  if ([root, ...above].some((folder) => existsSync(join(folder, '.git')))) return 'as_git';
  const isAbove = above.some((folder) => IGNORE_FILES.some((name) => existsSync(join(folder, name))));
  return isAbove ? 'must_not' : 'nothing';
}

const IGNORE_FILES = ['.gitignore', '.ignore', '.rgignore'];

/**
 * Maps a name relative to the root of a search to one that the model can give back: in other
 * folders than the workspace, an absolute one.
 */
export function createNamer(context: ToolContext, { root }: SearchPlace): (name: string) => string {
  return root === context.cwd ? toDir(context) : nameAbsolutely({ root });
}

export const nameAbsolutely =
  ({ root }: Pick<SearchPlace, 'root'>) =>
  (name: string): string =>
    join(root, name);

/**
 * Makes a test whether a name relative to the root of a search may be shown: nothing of a data
 * folder is. Many names of one file come after each other.
 */
export function createShowTest(
  { mayShow }: Pick<ToolContext, 'mayShow'>,
  { root }: SearchPlace,
): (name: string) => boolean {
  const isData = new Map([['.', false]]);
  const liesInData = (folder: string): boolean => {
    const known = isData.get(folder);
    if (known !== undefined) return known;
    const found = isDataFolder(join(root, folder)) || liesInData(dirname(folder));
    isData.set(folder, found);
    return found;
  };
  let [last, isVisible]: [string | null, boolean] = [null, true];
  return (name) => {
    if (name !== last) [last, isVisible] = [name, !liesInData(dirname(name)) && (mayShow?.(join(root, name)) ?? true)];
    return isVisible;
  };
}

/** Strips the `./` of the argument, with which each line that ripgrep prints begins. */
export function stripDot(path: string): string {
  return path.startsWith('./') ? path.slice(2) : path;
}

/**
 * Interprets a model's pattern for files, in glob and grep alike: relative to where the search
 * begins, and for a folder all that lies in it. Takes an absolute pattern apart; refuses one that
 * climbs, because nothing it could match is below the place. Throws ToolFailure.
 */
export async function resolvePattern(place: Pick<SearchPlace, 'root' | 'name'>, pattern: string): Promise<string> {
  const { root, name } = place;
  const base = name === '' ? root : `${root}/${name}`;
  if (isAbsolute(pattern) && !isInside(base, pattern)) {
    throw new ToolFailure(`${quotePath(pattern)} matches nothing below ${base}: use a pattern relative to it.`);
  }
  const wanted = isAbsolute(pattern) ? relative(base, pattern) : pattern;
  const segments = wanted.split('/').filter((segment) => segment !== '' && segment !== '.');
  if (segments.includes('..')) throw new ToolFailure('A pattern cannot hold "..": set path to another folder.');
  const meant = segments.join('/');
  if (meant === '') return '**';
  const isFolder = pattern.endsWith('/') || (await namesFolder(place, meant));
  const whole = isFolder ? `${meant}/**` : meant;
  refuseCostly(whole);
  return whole;
}

/**
 * Tells whether a text is the path of a folder below the place, also where it looks like a pattern.
 */
export async function namesFolder({ root, name }: Pick<SearchPlace, 'root' | 'name'>, text: string): Promise<boolean> {
  try {
    return (await stat(join(root, name, text))).isDirectory();
  } catch {
    // It is a pattern, or names something that cannot be looked at.
    return false;
  }
}
