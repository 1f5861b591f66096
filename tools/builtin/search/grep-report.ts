// Reports ripgrep's output to the model: bounded, with a count of all matches at the end.
import { stripDot } from './search-place.ts';
import { formatAmount, quoteIfNeeded } from '../files/wording.ts';
import { showNameBytes } from '../files/lookalikes.ts';

export type SearchReport = {
  add(record: Buffer): void;
  /** Returns the lines, each without a newline at its end. */
  lines(): readonly string[];
};

/** Both functions take paths relative to the root of the search. */
export type ReportPaths = {
  /** Tells whether the path was asked for. */
  readonly accepts: (path: string) => boolean;
  /** Prints the path as the model can give it back. */
  readonly named: (path: string) => string;
};

/** Characters of an answer: below the size that would be stored and previewed. */
const BUDGET = 45_000;
const SEPARATOR = '--';

/**
 * Reports lines. Records are `path NUL number : text`, `path NUL number - text` around a match,
 * `--` between groups.
 */
export function reportContent(most: number, { accepts, named }: ReportPaths): SearchReport {
  const visible: string[] = [];
  let [matches, shownMatches, files, length] = [0, 0, 0, 0];
  let lastPath: string | undefined;
  let open = true;
  // A separator stands between groups of which some are not shown.
  let isGroup = false;
  const show = (line: string): void => {
    open &&= shownMatches < most && length + line.length <= BUDGET;
    if (!open) return;
    visible.push(line);
    length += line.length + 1;
  };
  return {
    add(record) {
      const line = parseLine(record);
      if (line === undefined) {
        if (record.toString().trimEnd() === SEPARATOR) isGroup = visible.length > 0;
        return;
      }
      if (!accepts(line.path)) return;
      if (isGroup) show(SEPARATOR);
      isGroup = false;
      show(`${quoteIfNeeded(named(line.path))}${line.mark}${line.number}${line.mark}${line.text}`);
      if (line.mark !== ':') return;
      matches++;
      if (open) shownMatches++;
      // The records are sorted by path, so the matches of a file come together.
      if (line.path !== lastPath) files++;
      lastPath = line.path;
    },
    lines: () => [
      ...dropTrailingSeparator(visible),
      summarizeMatches(matches, files, shownMatches < matches ? shownMatches : null),
    ],
  };
}

/** Reports counts. Records are `path NUL count`. */
export function reportCounts(most: number, { accepts, named }: ReportPaths): SearchReport {
  const found = keepTopLines(most);
  let matches = 0;
  return {
    add(record) {
      const nul = record.indexOf(0);
      const path = stripDot(showNameBytes(record.subarray(0, nul)));
      const number = record.toString('utf8', nul + 1).trimEnd();
      if (!accepts(path)) return;
      matches += Number(number);
      found.add(`${quoteIfNeeded(named(path))}:${number}`);
    },
    lines: () => {
      const visible = fitBudget(found.first());
      return [
        ...visible,
        summarizeMatches(matches, found.count(), visible.length < found.count() ? visible.length : null),
      ];
    },
  };
}

/** Reports files. Records are paths. */
export function reportFiles(most: number, { accepts, named }: ReportPaths): SearchReport {
  const found = keepTopLines(most);
  return {
    add(record) {
      const path = stripDot(showNameBytes(record));
      if (accepts(path)) found.add(quoteIfNeeded(named(path)));
    },
    lines: () => {
      const files = found.count();
      if (files === 0) return ['(no matches)'];
      const visible = fitBudget(found.first());
      return [
        ...visible,
        visible.length < files ? `(${files} files, first ${visible.length} shown)` : `(${formatAmount(files, 'file')})`,
      ];
    },
  };
}

function parseLine(record: Buffer): { path: string; number: string; mark: string; text: string } | undefined {
  const nul = record.indexOf(0);
  if (nul === -1) return undefined;
  const rest = record.toString('utf8', nul + 1).replaceAll('\0', '\u2400');
  const [, number = '', mark = '', text = ''] = /^(\d+)([:-])(.*)$/s.exec(rest) ?? [];
  return { path: stripDot(showNameBytes(record.subarray(0, nul))), number, mark, text: text.replace(/\r$/, '') };
}

function summarizeMatches(matches: number, files: number, visible: number | null): string {
  if (matches === 0) return '(no matches)';
  const all = `${formatAmount(matches, 'match', 'matches')} in ${formatAmount(files, 'file')}`;
  return visible === null ? `(${all})` : `(${all}, first ${visible} shown)`;
}

function fitBudget(lines: readonly string[]): readonly string[] {
  let length = 0;
  const end = lines.findIndex((line) => (length += line.length + 1) > BUDGET);
  return end === -1 ? lines : lines.slice(0, end);
}

function dropTrailingSeparator(lines: readonly string[]): readonly string[] {
  return lines.at(-1) === SEPARATOR ? lines.slice(0, -1) : lines;
}

// Keeps the first few of many lines in order, in bounded memory, and counts them all.
export type TopLines = {
  add(line: string): void;
  count(): number;
  first(): readonly string[];
};

/** Lines come sorted by code unit. */
export function keepTopLines(most: number): TopLines {
  let top: string[] = [];
  let count = 0;
  const first = (): readonly string[] => {
    top = top.sort().slice(0, most);
    return top;
  };
  return {
    add(line) {
      top.push(line);
      count++;
      if (top.length >= 4 * most + 1_000) first();
    },
    count: () => count,
    first,
  };
}
