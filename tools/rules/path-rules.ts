// Matches rules for paths (L55): globs relative to the workspace, or absolute behind `//`. An allow
// rule is held against where the path leads, links followed; a deny or ask rule against that and
// against what was written, and a relative one in each folder of the run.
import { lstatSync, realpathSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { parseRule } from '../../workflows/contract/permission-rules.ts';
import { createGlobMatcher, expandReadings } from '../builtin/search/glob-match.ts';
import type { RuleSubject } from '../tool.ts';
import { isInside, type Reach, rootsOf } from '../../system/process/places.ts';

type PathSubject = Extract<RuleSubject, { kind: 'path' }>;

/**
 * Tells whether an allow rule covers a path. A wildcard does not stand for a leading dot here:
 * `write(**)` does not open .git.
 */
export function isPathAllowed(pattern: string, { path, tree = false }: PathSubject, cwd: string): boolean {
  const glob = cleanPattern(pattern);
  const name = relativeName(isAbsoluteGlob(pattern) ? sep : cwd, resolveLinks(resolve(cwd, path)));
  return name !== null && (!tree || /(?:^|\/)\*\*$/.test(glob)) && createGlobMatcher(glob)(name);
}

/**
 * Returns a test that tells whether the pattern of a deny or ask rule covers a path, as it was
 * written or with links followed. With `tree` it also covers a folder with something it names.
 */
export function createDenyTest({ path, tree = false }: PathSubject, reach: Reach): (pattern: string) => boolean {
  const written = resolve(reach.cwd, path);
  const paths = [written, resolveLinks(written)].filter((full) => full !== null);
  const namesIn = (root: string): readonly string[] =>
    // A search above a folder goes through all of it.
    paths.map((full) => relativeName(root, tree && isInside(full, root) ? root : full)).filter((name) => name !== null);
  const relatives = rootsOf(reach).flatMap(namesIn);
  const absolutes = paths.map((full) => relativeName(sep, full)).filter((name) => name !== null);
  return (pattern) => {
    const names = isAbsoluteGlob(pattern) ? absolutes : relatives;
    return expandReadings(pattern)
      .map((glob) => addContents(cleanPattern(glob)))
      .some((glob) => {
        const matches = createGlobMatcher(glob, { dots: true });
        return names.some((name) => matches(name) || (tree && canReachInto(glob, name)));
      });
  };
}

/**
 * Rewrites a rule with an absolute path as rules relative to the folder at `root`, for a copy of
 * the folder elsewhere. In doubt they are about more. `below` is what they are relative to, as the
 * beginning of a pattern.
 */
export function toRelativeRules(text: string, root: string, below = ''): readonly string[] {
  const rule = parseRule(text);
  if (rule === null || rule.pattern === null || rule.tool === 'bash' || !isAbsoluteGlob(rule.pattern)) return [];
  const names = root.split(sep).slice(1);
  const mark = rule.fatal ? '!' : '';
  const relatives = expandReadings(rule.pattern).flatMap((glob) =>
    findRestsBelow(addContents(cleanPattern(glob)).split('/'), names).map(
      (rest) => `${rule.tool}(${below}${rest.join('/')})${mark}`,
    ),
  );
  return [...new Set(relatives)];
}

/**
 * Returns the ends of a glob, by segments, that are about what lies below the folder whose names
 * its beginning matches.
 */
function findRestsBelow(globs: readonly string[], names: readonly string[]): readonly (readonly string[])[] {
  const from = (at: number): readonly number[] => (globs[at] === '**' ? [at, ...from(at + 1)] : [at]);
  const after = (at: number, name: string): readonly number[] => {
    if (globs[at] === '**') return from(at);
    return at < globs.length && createGlobMatcher(globs[at]!, { dots: true })(name) ? from(at + 1) : [];
  };
  const reached = names.reduce((ats, name) => new Set([...ats].flatMap((at) => after(at, name))), new Set(from(0)));
  return [...reached].filter((at) => at < globs.length).map((at) => globs.slice(at));
}

export function isAbsoluteGlob(pattern: string): boolean {
  return pattern.startsWith('//');
}

/**
 * Adds the contents of a path that is denied by name, for it may be a folder. Brackets do not count
 * as a wildcard here: they may be part of its name.
 */
export function addContents(glob: string): string {
  return /[*?]/.test(basename(glob)) ? glob : `${glob}/**`;
}

/**
 * Tells whether the pattern's matches may lie below the folder: each of its segments is matched by
 * the beginning of the pattern.
 */
function canReachInto(glob: string, folder: string): boolean {
  const names = folder === '' ? [] : folder.split('/');
  const segments = glob.split('/');
  const open = segments.indexOf('**');
  const fixed = open === -1 ? segments : segments.slice(0, open);
  if (open === -1 && segments.length <= names.length) return false;
  return fixed
    .slice(0, names.length)
    .every((segment, at) => createGlobMatcher(segment, { dots: true })(names[at] as string));
}

/**
 * Strips `./` or `//` from the front, and doubled slashes. `.` stands for the whole workspace, and
 * a slash at the end for all that is in the folder.
 */
export function cleanPattern(pattern: string): string {
  const glob = pattern.replace(/^(?:\.(?:\/+|$)|\/\/+)/, '').replaceAll(/\/{2,}/g, '/');
  return glob === '' || glob.endsWith('/') ? `${glob}**` : glob;
}

/**
 * Returns the relative name, '' for the folder itself; null when the path is outside it, which the
 * confinement answers.
 */
export function relativeName(folder: string, path: string | null): string | null {
  return path !== null && isInside(folder, path) ? relative(folder, path).replaceAll(sep, '/') : null;
}

/** Resolves where a path leads, as far as it exists; null when that cannot be known. */
function resolveLinks(path: string): string | null {
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

/** Tells whether a path is a link to nothing: a write through it would land wherever it points. */
function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

function isAbsent(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
}
