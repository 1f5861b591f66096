// Which files grep looks at, by a glob. ripgrep's own --glob would bring back files that .gitignore excludes, so a pattern for names
// travels as a file type, and one for paths is matched here.
import { refuseCostly } from './expand-braces.ts';
import { globMatcher } from './glob-match.ts';
import type { SearchPlace } from './search-place.ts';

export type FileFilter = {
  readonly arguments: readonly string[];
  /** Of a path relative to the workspace. */
  accepts(path: string): boolean;
};

/** A pattern without `/` is for names in any folder; with one, for paths from the workspace or from where the search begins. */
export function fileFilter(glob: string | undefined, { name }: SearchPlace): FileFilter {
  if (glob === undefined) return { arguments: [], accepts: () => true };
  if (glob.startsWith('!')) return { arguments: [`--glob=${glob}`], accepts: () => true };
  const ofNames = glob.replace(/^(?:\*\*\/)+/, '');
  if (!ofNames.includes('/') && ofNames !== '' && !ofNames.startsWith('include:')) {
    return { arguments: [`--type-add=asked:${ofNames}`, '--type=asked'], accepts: () => true };
  }
  refuseCostly(glob);
  const matches = globMatcher(glob.replace(/^\.?\//, ''));
  const below = name === '' ? '' : `${name}/`;
  return {
    arguments: [],
    accepts: (path) => matches(path) || (path.startsWith(below) && matches(path.slice(below.length))),
  };
}
