// Reports ripgrep's output to the model: bounded, with a count of all matches at the end.
import { withoutDot, topOf, type SearchPlace } from './ripgrep.ts';
import { formatCount, shownName } from '../files/options.ts';
import { shownBytes } from '../files/lookalikes.ts';
import { globMatcher } from './glob-match.ts';
import { namesFolder, searchPattern } from './search-pattern.ts';

export type Report = {
  add(record: Buffer): void;
  /** Without a newline at the end of any. */
  lines(): readonly string[];
};

/** Both take paths relative to the root of the search. */
export type ReportPaths = {
  /** Whether it was asked for. */
  readonly accepts: (path: string) => boolean;
  /** As the model can give it back. */
  readonly named: (path: string) => string;
};

/** Characters of an answer: under what would be stored and previewed. */
const BUDGET = 45_000;
const SEPARATOR = '--';

/**
 * Records are `path NUL number : text`, `path NUL number - text` around a match, `--` between
 * groups.
 */
export function contentReport(most: number, { accepts, named }: ReportPaths): Report {
  const shown: string[] = [];
  let [matches, shownMatches, files, length] = [0, 0, 0, 0];
  let lastPath: string | undefined;
  let open = true;
  // Between groups of which some are not shown there is one.
  let isGroup = false;
  const show = (line: string): void => {
    open &&= shownMatches < most && length + line.length <= BUDGET;
    if (!open) return;
    shown.push(line);
    length += line.length + 1;
  };
  return {
    add(record) {
      const line = parseLine(record);
      if (line === undefined) {
        if (record.toString().trimEnd() === SEPARATOR) isGroup = shown.length > 0;
        return;
      }
      if (!accepts(line.path)) return;
      if (isGroup) show(SEPARATOR);
      isGroup = false;
      show(`${shownName(named(line.path))}${line.mark}${line.number}${line.mark}${line.text}`);
      if (line.mark !== ':') return;
      matches++;
      if (open) shownMatches++;
      // Sorted by path, the matches of a file come together.
      if (line.path !== lastPath) files++;
      lastPath = line.path;
    },
    lines: () => [...withoutTrailing(shown), summary(matches, files, shownMatches < matches ? shownMatches : null)],
  };
}

/** Records are `path NUL count`. */
export function countReport(most: number, { accepts, named }: ReportPaths): Report {
  const found = topOf(most);
  let matches = 0;
  return {
    add(record) {
      const nul = record.indexOf(0);
      const path = withoutDot(shownBytes(record.subarray(0, nul)));
      const number = record.toString('utf8', nul + 1).trimEnd();
      if (!accepts(path)) return;
      matches += Number(number);
      found.add(`${shownName(named(path))}:${number}`);
    },
    lines: () => {
      const shown = fitting(found.first());
      return [...shown, summary(matches, found.count(), shown.length < found.count() ? shown.length : null)];
    },
  };
}

/** Records are paths. */
export function filesReport(most: number, { accepts, named }: ReportPaths): Report {
  const found = topOf(most);
  return {
    add(record) {
      const path = withoutDot(shownBytes(record));
      if (accepts(path)) found.add(shownName(named(path)));
    },
    lines: () => {
      const files = found.count();
      if (files === 0) return ['(no matches)'];
      const shown = fitting(found.first());
      return [
        ...shown,
        shown.length < files ? `(${files} files, first ${shown.length} shown)` : `(${formatCount(files, 'file')})`,
      ];
    },
  };
}

function parseLine(record: Buffer): { path: string; number: string; mark: string; text: string } | undefined {
  const nul = record.indexOf(0);
  if (nul === -1) return undefined;
  const rest = record.toString('utf8', nul + 1).replaceAll('\0', '\u2400');
  const [, number = '', mark = '', text = ''] = /^(\d+)([:-])(.*)$/s.exec(rest) ?? [];
  return { path: withoutDot(shownBytes(record.subarray(0, nul))), number, mark, text: text.replace(/\r$/, '') };
}

function summary(matches: number, files: number, shown: number | null): string {
  if (matches === 0) return '(no matches)';
  const all = `${formatCount(matches, 'match', 'matches')} in ${formatCount(files, 'file')}`;
  return shown === null ? `(${all})` : `(${all}, first ${shown} shown)`;
}

function fitting(lines: readonly string[]): readonly string[] {
  let length = 0;
  const end = lines.findIndex((line) => (length += line.length + 1) > BUDGET);
  return end === -1 ? lines : lines.slice(0, end);
}

function withoutTrailing(lines: readonly string[]): readonly string[] {
  return lines.at(-1) === SEPARATOR ? lines.slice(0, -1) : lines;
}

// Which files grep looks at, by a glob. ripgrep's own --glob would bring back files that .gitignore
// excludes, so a pattern for names travels as a file type, and one for paths is matched here.

type FileFilter = {
  readonly arguments: readonly string[];
  /** Takes a path relative to the root of the search. */
  accepts(path: string): boolean;
};

/**
 * A pattern without `/` is for names in any folder; with one, for paths from the root or from where
 * the search begins. Throws ToolFailure.
 */
export async function fileFilter(glob: string | undefined, place: SearchPlace): Promise<FileFilter> {
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
  const matches = globMatcher(await searchPattern(place, glob));
  return {
    arguments: [],
    accepts(path) {
      const below = place.within(path);
      return matches(path) || (below !== null && matches(below));
    },
  };
}
