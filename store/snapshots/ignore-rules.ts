// Reads `.gitignore` files as git does. Names are bytes, kept as latin1.
import { foldCase, matchesGlob, parseGlob, type Glob } from './ignore-glob.ts';

export type IgnoreRule = {
  /** The line of the file. */
  readonly line: string;
  readonly pattern: Glob;
  /** Takes back what an earlier rule has said. */
  readonly isNegated: boolean;
  readonly onlyFolders: boolean;
  /** Holds for a name at any depth, not for a path. */
  readonly isOfName: boolean;
  readonly ignoresCase: boolean;
};

export type IgnoreRules = {
  /** The folder of the file that has the rules: empty, or with a slash at its end. */
  readonly prefix: string;
  /** The way from the folder of the file down to where paths begin, for a file above it. */
  readonly above?: string;
  readonly rules: readonly IgnoreRule[];
};

const BYTE_ORDER_MARK = '\xef\xbb\xbf';

/** `ignoresCase` is what `core.ignoreCase` says in the repository. */
export function parseIgnoreFile(text: string, ignoresCase = false): readonly IgnoreRule[] {
  const all = text.startsWith(BYTE_ORDER_MARK) ? text.slice(BYTE_ORDER_MARK.length) : text;
  return parseIgnoreLines(
    all.split('\n').map((line) => line.replace(/\r$/, '')),
    ignoresCase,
  );
}

/** Parses lines as the rules of a file have them. */
export function parseIgnoreLines(lines: readonly string[], ignoresCase: boolean): readonly IgnoreRule[] {
  return lines.flatMap((line) => parseRule(line, ignoresCase) ?? []);
}

function parseRule(line: string, ignoresCase: boolean): IgnoreRule | null {
  if (line.startsWith('#')) return null;
  const isNegated = line.startsWith('!');
  const written = trimEnd(isNegated ? line.slice(1) : line);
  const onlyFolders = written.endsWith('/');
  const glob = onlyFolders ? written.slice(0, -1) : written;
  if (glob === '') return null;
  const isOfName = !glob.includes('/');
  const pattern = parseGlob(glob.startsWith('/') ? glob.slice(1) : glob, { isOfName, ignoresCase });
  return pattern === null ? null : { line, pattern, isNegated, onlyFolders, isOfName, ignoresCase };
}

/** Removes blanks at the end that no backslash stands before. */
function trimEnd(line: string): string {
  let end = 0;
  for (let at = 0; at < line.length; at += 1) {
    if (line[at] === '\\') at += 1;
    else if (line[at] === ' ') continue;
    end = at + 1;
  }
  return line.slice(0, end);
}

/** Tells whether a path is ignored; the rules of deeper folders come last in `stack`. */
export function isIgnored(stack: readonly IgnoreRules[], path: string, isFolder: boolean): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1);
  let foldedName: string | null = null;
  for (let depth = stack.length - 1; depth >= 0; depth -= 1) {
    const { prefix, above = '', rules } = stack[depth] as IgnoreRules;
    const below = above + path.slice(prefix.length);
    let foldedBelow: string | null = null;
    for (let at = rules.length - 1; at >= 0; at -= 1) {
      const { pattern, isNegated, onlyFolders, isOfName, ignoresCase } = rules[at] as IgnoreRule;
      if (onlyFolders && !isFolder) continue;
      let text = isOfName ? name : below;
      if (ignoresCase) text = isOfName ? (foldedName ??= foldCase(name)) : (foldedBelow ??= foldCase(below));
      if (matchesGlob(pattern, text)) return !isNegated;
    }
  }
  return false;
}
