// Matches names and paths against patterns of `.gitignore` as git does, in time bounded by path ×
// pattern: they come from the workspace, and a matcher that goes back to every star could be made
// to hang. Names are bytes, kept as latin1.

type Token =
  | { readonly kind: 'byte'; readonly byte: number }
  /** Any byte but a slash. */
  | { readonly kind: 'any' }
  | { readonly kind: 'set'; readonly bytes: ReadonlySet<number>; readonly isNegated: boolean }
  /** Any bytes without a slash. */
  | { readonly kind: 'star' }
  /** Any number of whole folders. */
  | { readonly kind: 'folders' }
  /** Any bytes. */
  | { readonly kind: 'rest' };

/** Bytes alone are a text to compare with. */
export type Glob = string | readonly Token[];

type GlobOptions = {
  readonly isOfName: boolean;
  /** The glob is held against texts without capital letters, as `foldCase` makes them. */
  readonly ignoresCase: boolean;
};

/** Makes the letters of ASCII small, as git does with `core.ignoreCase`. */
export const foldCase = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

/** Returns null for a glob that can match nothing. */
export function parseGlob(glob: string, { isOfName, ignoresCase }: GlobOptions): Glob | null {
  const tokens: Token[] = [];
  const wild = glob.search(/[*?[\\]/);
  let at = 0;
  while (at < glob.length) {
    const part =
      readStars(glob, at, isOfName ? null : wild) ??
      readSet(glob, at, ignoresCase) ??
      readCharacter(glob, at, ignoresCase);
    if (part.token === null) return null;
    tokens.push(part.token);
    at = part.end;
  }
  const bytes = tokens.flatMap((token) => (token.kind === 'byte' ? [token.byte] : []));
  return bytes.length === tokens.length ? Buffer.from(bytes).toString('latin1') : tokens;
}

/** Where to go on: the token after a star, and how far the star reaches. */
type Return = { readonly token: number; readonly at: number };

/**
 * Matches greedily. A star is tried again only within its part of the path, and of those that go
 * over slashes only the last: another choice of an earlier one changes nothing.
 */
export function matchesGlob(glob: Glob, path: string): boolean {
  if (typeof glob === 'string') return glob === path;
  let [token, at] = [0, 0];
  let star: Return | null = null;
  let wide: Return | null = null;
  while (token < glob.length || at < path.length) {
    const here = glob[token];
    if (here?.kind === 'star') star = { token: (token += 1), at };
    else if (here?.kind === 'folders' || here?.kind === 'rest') {
      wide = { token: (token += 1), at };
      star = null;
    } else if (here && at < path.length && matchesByte(here, path.charCodeAt(at))) {
      token += 1;
      at += 1;
    } else if (star && star.at < path.length && path[star.at] !== '/') {
      ({ token, at } = star = { token: star.token, at: star.at + 1 });
    } else {
      wide = wide && advance(wide, glob[wide.token - 1] as Token, path);
      if (!wide) return false;
      star = null;
      ({ token, at } = wide);
    }
  }
  return true;
}

function advance({ token, at }: Return, { kind }: Token, path: string): Return | null {
  if (kind === 'rest') return at < path.length ? { token, at: at + 1 } : null;
  const slash = path.indexOf('/', at);
  return slash === -1 ? null : { token, at: slash + 1 };
}

function matchesByte(token: Token, byte: number): boolean {
  if (token.kind === 'byte') return token.byte === byte;
  if (byte === SLASH) return false;
  return token.kind === 'set' ? token.bytes.has(byte) !== token.isNegated : token.kind === 'any';
}

const SLASH = 0x2f;

/** `token` is null where the whole glob matches nothing. */
type Part = { readonly token: Token | null; readonly end: number };

/** Git compares what a backslash stands before as it is. */
function readCharacter(glob: string, at: number, ignoresCase: boolean): Part {
  const isEscaped = glob[at] === '\\';
  if (glob[at] === '?') return { token: { kind: 'any' }, end: at + 1 };
  const end = at + (isEscaped ? 2 : 1);
  const char = glob.charAt(end - 1);
  const token: Token = { kind: 'byte', byte: (ignoresCase && !isEscaped ? foldCase(char) : char).charCodeAt(0) };
  return { token: end > glob.length ? null : token, end };
}

/**
 * Two stars or more between slashes stand for any number of folders. Git compares what comes before
 * the first wildcard, at `wild`, by itself, and so stars there begin a part as well. In a glob for
 * names `wild` is null.
 */
function readStars(glob: string, at: number, wild: number | null): Part | null {
  if (glob[at] !== '*') return null;
  let end = at;
  while (glob[end] === '*') end += 1;
  const isWhole = end - at > 1 && wild !== null && (at === wild || glob[at - 1] === '/');
  if (isWhole && glob[end] === '/') return { token: { kind: 'folders' }, end: end + 1 };
  if (isWhole && (end === glob.length || glob.startsWith('\\/', end))) return { token: { kind: 'rest' }, end };
  return { token: { kind: 'star' }, end };
}

const CLASSES: ReadonlyMap<string, RegExp> = new Map(
  Object.entries({
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
  }),
);

/**
 * A set never matches a slash. Where case is ignored, capital letters count in ranges and classes,
 * and not by themselves, as git has it.
 */
function readSet(glob: string, start: number, ignoresCase: boolean): Part | null {
  if (glob[start] !== '[') return null;
  const isNegated = glob[start + 1] === '!' || glob[start + 1] === '^';
  const first = start + (isNegated ? 2 : 1);
  const bytes = new Set<number>();
  const add = (byte: number): void => {
    bytes.add(byte);
    if (ignoresCase) bytes.add(foldCase(String.fromCharCode(byte)).charCodeAt(0));
  };
  let before: number | null = null;
  let close = 0;
  let at = first;
  for (;;) {
    const char = glob[at];
    if (char === undefined) return { token: null, end: at };
    if (char === ']' && at > first) break;
    const last = glob[at + 1];
    if (char === '-' && before !== null && last !== undefined && last !== ']') {
      const isEscaped = last === '\\';
      const to = (isEscaped ? glob[at + 2] : last)?.charCodeAt(0);
      if (to === undefined) return { token: null, end: at };
      for (let byte: number = before; byte <= to; byte += 1) add(byte);
      before = null;
      at += isEscaped ? 3 : 2;
      continue;
    }
    if (char === '[' && last === ':') {
      // One search serves all that stands before the same bracket.
      if (close < at + 2) close = glob.indexOf(']', at + 2);
      if (close === -1) return { token: null, end: at };
      if (close > at + 2 && glob[close - 1] === ':') {
        const members = CLASSES.get(glob.slice(at + 2, close - 1));
        if (!members) return { token: null, end: at };
        for (let byte = 0; byte < 128; byte += 1) if (members.test(String.fromCharCode(byte))) add(byte);
        before = null;
        at = close + 1;
        continue;
      }
    }
    const literal = char === '\\' ? last : char;
    if (literal === undefined) return { token: null, end: at };
    before = literal.charCodeAt(0);
    bytes.add(before);
    at += char === '\\' ? 2 : 1;
  }
  return { token: { kind: 'set', bytes, isNegated }, end: at + 1 };
}
