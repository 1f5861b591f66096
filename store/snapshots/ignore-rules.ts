// Reads `.gitignore` files as git does. Names are bytes, kept as latin1.

export type IgnoreRule = {
  readonly pattern: RegExp;
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
  const pattern = toPattern(glob.startsWith('/') ? glob.slice(1) : glob, isOfName);
  return pattern && { pattern, isNegated, onlyFolders, isOfName };
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
      if (pattern.test(isOfName ? name : below)) return !isNegated;
    }
  }
  return false;
}

/** Returns null for a glob that can match nothing. */
function toPattern(glob: string, isOfName: boolean): RegExp | null {
  let source = '';
  let at = 0;
  while (at < glob.length) {
    const part = readStars(glob, at, isOfName) ?? readSet(glob, at) ?? readCharacter(glob, at);
    if (part.source === null) return null;
    source += part.source;
    at = part.end;
  }
  return new RegExp(`^${source}$`);
}

/** `source` is null where the whole glob matches nothing. */
type Part = { readonly source: string | null; readonly end: number };

function readCharacter(glob: string, at: number): Part {
  const char = glob[at] as string;
  if (char === '?') return { source: '[^/]', end: at + 1 };
  if (char !== '\\') return { source: escapeByte(char), end: at + 1 };
  const next = glob[at + 1];
  return { source: next === undefined ? null : escapeByte(next), end: at + 2 };
}

const escapeByte = (byte: string): string => `\\x${byte.charCodeAt(0).toString(16).padStart(2, '0')}`;

/** Two stars or more between slashes stand for any number of folders. */
function readStars(glob: string, at: number, isOfName: boolean): Part | null {
  if (glob[at] !== '*') return null;
  let end = at;
  while (glob[end] === '*') end += 1;
  const isWhole = end - at > 1 && !isOfName && (at === 0 || glob[at - 1] === '/');
  if (isWhole && glob[end] === '/') return { source: '(?:[^]*/)?', end: end + 1 };
  if (isWhole && (end === glob.length || glob.startsWith('\\/', end))) return { source: '[^]*', end };
  return { source: '[^/]*', end };
}

const CLASSES: Readonly<Record<string, RegExp>> = {
  alnum: /[a-z0-9]/i,
  alpha: /[a-z]/i,
  blank: /[ \t]/,
  cntrl: /\p{Cc}/u,
  digit: /\d/,
  graph: /[\x21-\x7e]/,
  lower: /[a-z]/,
  print: /[\x20-\x7e]/,
  punct: /[!-/:-@[-`{-~]/,
  space: /[ \t\n\v\f\r]/,
  upper: /[A-Z]/,
  xdigit: /[0-9a-f]/i,
};

function readSet(glob: string, start: number): Part | null {
  if (glob[start] !== '[') return null;
  const isNegated = glob[start + 1] === '!' || glob[start + 1] === '^';
  const first = start + (isNegated ? 2 : 1);
  const bytes = new Set<number>();
  let before: number | null = null;
  let at = first;
  for (;;) {
    const char = glob[at];
    if (char === undefined) return { source: null, end: at };
    if (char === ']' && at > first) break;
    const last = glob[at + 1];
    if (char === '-' && before !== null && last !== undefined && last !== ']') {
      const isEscaped = last === '\\';
      const to = (isEscaped ? glob[at + 2] : last)?.charCodeAt(0);
      if (to === undefined) return { source: null, end: at };
      for (let byte: number = before; byte <= to; byte += 1) bytes.add(byte);
      before = null;
      at += isEscaped ? 3 : 2;
      continue;
    }
    const named = char === '[' && last === ':' ? /^\[:([^\]]*)\]/.exec(glob.slice(at)) : null;
    if (named) {
      const [whole, inner = ''] = named;
      if (inner.endsWith(':')) {
        const members = CLASSES[inner.slice(0, -1)];
        if (!members) return { source: null, end: at };
        for (let byte = 0; byte < 128; byte += 1) if (members.test(String.fromCharCode(byte))) bytes.add(byte);
        before = null;
        at += whole.length;
        continue;
      }
    }
    if (char === '[' && last === ':' && !named) return { source: null, end: at };
    const literal = char === '\\' ? last : char;
    if (literal === undefined) return { source: null, end: at };
    before = literal.charCodeAt(0);
    bytes.add(before);
    at += char === '\\' ? 2 : 1;
  }
  const members = [...bytes].filter((byte) => byte < 256).map((byte) => escapeByte(String.fromCharCode(byte)));
  // A set never matches a slash.
  const source = isNegated ? `[^/${members.join('')}]` : `(?!/)[${members.join('')}]`;
  return { source, end: at + 1 };
}
