// Reads `.gitignore` files as git does. Names are bytes, kept as latin1.
import { matchesGlob, parseGlob, type Glob } from './ignore-glob.ts';

export type IgnoreRule = {
  /** The line of the file. */
  readonly line: string;
  readonly pattern: Glob;
  /** Takes back what an earlier rule has said. */
  readonly isNegated: boolean;
  readonly onlyFolders: boolean;
  /** Holds for a name at any depth, not for a path. */
  readonly isOfName: boolean;
};

export type IgnoreRules = {
  /** The folder of the file that has the rules: empty, or with a slash at its end. */
  readonly prefix: string;
  /** The way from the folder of the file down to where paths begin, for a file above it. */
  readonly above?: string;
  readonly rules: readonly IgnoreRule[];
};

const BYTE_ORDER_MARK = '\xef\xbb\xbf';

export function parseIgnoreFile(text: string): readonly IgnoreRule[] {
  const all = text.startsWith(BYTE_ORDER_MARK) ? text.slice(BYTE_ORDER_MARK.length) : text;
  return all.split('\n').flatMap((line) => parseRule(line.replace(/\r$/, '')) ?? []);
}

function parseRule(line: string): IgnoreRule | null {
  if (line.startsWith('#')) return null;
  const isNegated = line.startsWith('!');
  const written = trimEnd(isNegated ? line.slice(1) : line);
  const onlyFolders = written.endsWith('/');
  const glob = onlyFolders ? written.slice(0, -1) : written;
  if (glob === '') return null;
  const isOfName = !glob.includes('/');
  const pattern = parseGlob(glob.startsWith('/') ? glob.slice(1) : glob, isOfName);
  return pattern === null ? null : { line, pattern, isNegated, onlyFolders, isOfName };
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
  for (let depth = stack.length - 1; depth >= 0; depth -= 1) {
    const { prefix, above = '', rules } = stack[depth] as IgnoreRules;
    const below = above + path.slice(prefix.length);
    for (let at = rules.length - 1; at >= 0; at -= 1) {
      const { pattern, isNegated, onlyFolders, isOfName } = rules[at] as IgnoreRule;
      if (onlyFolders && !isFolder) continue;
      if (matchesGlob(pattern, isOfName ? name : below)) return !isNegated;
    }
  }
  return false;
}
