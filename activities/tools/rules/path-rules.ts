// Rules for paths (L55): globs relative to the workspace. An allow rule is held against where the path leads, links followed; a
// deny or ask rule against that and against what was written.
import { lstatSync, realpathSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { isInside } from '../builtin/files/confine.ts';
import { expandBraces } from '../builtin/search/expand-braces.ts';
import { globMatcher } from '../builtin/search/glob-match.ts';
import type { RuleSubject } from '../tool.ts';

type PathSubject = Extract<RuleSubject, { kind: 'path' }>;

/** A wildcard does not stand for a leading dot here: `write(**)` does not open .git. */
export function allowedPath(pattern: string, { path, tree = false }: PathSubject, cwd: string): boolean {
  const name = nameIn(cwd, realOf(resolve(cwd, path)));
  const glob = cleaned(pattern);
  return name !== null && (!tree || /(?:^|\/)\*\*$/.test(glob)) && globMatcher(glob)(name);
}

/** Tells it of one pattern after the other. Of a whole folder also when the pattern is about something in it. */
export function touchedPath({ path, tree = false }: PathSubject, cwd: string): (pattern: string) => boolean {
  const written = resolve(cwd, path);
  const names = [written, realOf(written)].map((full) => nameIn(cwd, full)).filter((name) => name !== null);
  return (pattern) =>
    expandBraces(pattern)
      .map((glob) => withContents(cleaned(glob)))
      .some((glob) => {
        const matches = globMatcher(glob, { dots: true });
        return names.some((name) => matches(name) || (tree && reachesInto(glob, name)));
      });
}

/** What is denied by name may be a folder. */
function withContents(glob: string): string {
  return /[*?[]/.test(basename(glob)) ? glob : `${glob}/**`;
}

/** Whether what the pattern matches may lie below the folder: each of its segments is matched by the beginning of the pattern. */
function reachesInto(glob: string, folder: string): boolean {
  const names = folder === '' ? [] : folder.split('/');
  const segments = glob.split('/');
  const open = segments.indexOf('**');
  const fixed = open === -1 ? segments : segments.slice(0, open);
  if (open === -1 && segments.length <= names.length) return false;
  return fixed.slice(0, names.length).every((segment, at) => globMatcher(segment, { dots: true })(names[at] as string));
}

/** `.` and `./` are all of the workspace. */
function cleaned(pattern: string): string {
  const glob = pattern.replace(/^\.(?:\/+|$)/, '').replaceAll(/\/{2,}/g, '/');
  return glob === '' || glob.endsWith('/') ? `${glob}**` : glob;
}

/** Relative, '' for the workspace itself; null when it is not in it, which the confinement answers. */
function nameIn(cwd: string, path: string | null): string | null {
  return path !== null && isInside(cwd, path) ? relative(cwd, path).replaceAll(sep, '/') : null;
}

/** Where a path leads, as far as it exists; null when that cannot be known. */
function realOf(path: string): string | null {
  const missing: string[] = [];
  for (let at = path; ; at = dirname(at)) {
    try {
      return join(realpathSync.native(at), ...missing);
    } catch (error) {
      if (!isAbsent(error) || isLink(at) || dirname(at) === at) return null;
      missing.unshift(basename(at));
    }
  }
}

/** A link to nothing: what is written through it would land wherever it points. */
function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

function isAbsent(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
}
