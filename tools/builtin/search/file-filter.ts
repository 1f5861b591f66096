// Chooses the files that grep looks at, by a glob. ripgrep's own --glob would bring back files that
// .gitignore excludes, so a pattern for names travels as a file type, and one for paths is matched
// here.
import type { SearchPlace } from './search-place.ts';
import { createGlobMatcher } from './glob-match.ts';
import { namesFolder, resolvePattern } from './search-pattern.ts';

type FileFilter = {
  readonly arguments: readonly string[];
  /** Takes a path relative to the root of the search. */
  accepts(path: string): boolean;
};

/**
 * Makes a filter. A pattern without `/` is for names in any folder; with one, for paths from the
 * root or from where the search begins. Throws ToolFailure.
 */
export async function createFileFilter(glob: string | undefined, place: SearchPlace): Promise<FileFilter> {
  if (glob === undefined) return { arguments: [], accepts: () => true };
  if (glob.startsWith('!')) return { arguments: [`--glob=${glob}`], accepts: () => true };
  const ofNames = glob.replace(/^(?:\.\/+)?(?:\*\*\/+)*/, '');
  if (
    !ofNames.includes('/') &&
    ofNames !== '' &&
    !ofNames.startsWith('include:') &&
    !(await namesFolder(place, ofNames))
  ) {
    const names = [ofNames, ...(/[[{]/.test(ofNames) ? [ofNames.replaceAll(/[\\*?[\]{}]/g, '\\$&')] : [])];
    return { arguments: [...names.map((name) => `--type-add=asked:${name}`), '--type=asked'], accepts: () => true };
  }
  const matches = createGlobMatcher(await resolvePattern(place, glob));
  return {
    arguments: [],
    accepts(path) {
      const below = place.within(path);
      return matches(path) || (below !== null && matches(below));
    },
  };
}
