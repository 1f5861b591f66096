// Matches paths against a glob in time bounded by path × pattern: a pattern comes from a model, and
// a backtracking matcher could be made to hang the worker. `*` `?` `[…]` `{a,b}` `**`; a wildcard
// does not match a leading dot.
// Expands the braces of a glob.
import { ToolFailure } from '../../failures.ts';

type Token =
  | { readonly kind: 'literal'; readonly character: string }
  | { readonly kind: 'any' }
  | { readonly kind: 'star' }
  | { readonly kind: 'set'; readonly negated: boolean; readonly ranges: readonly (readonly [string, string])[] };

/**
 * One segment of a glob; null stands for `**`, any number of folders. `text` is the segment as it
 * was written, which is also the name that equals it.
 */
type PatternSegment = { readonly text: string; readonly tokens: readonly Token[] } | null;

const STAR: Token = { kind: 'star' };

/**
 * Makes a matcher for paths with `/` between segments and none in front. A folder may be named
 * `[slug]`, and a file `{a,b}.md`: a pattern is also about the path that equals its text. Accents
 * are the same composed and decomposed. `dots`: a wildcard matches a leading dot as well. Throws
 * ToolFailure for a pattern with too many alternatives.
 */
export function createGlobMatcher(pattern: string, { dots = false } = {}): (path: string) => boolean {
  const alternatives = expandReadings(pattern.normalize('NFC')).map((one) => one.split('/').map(parseSegment));
  return (path) => {
    const names = path
      .normalize('NFC')
      .split('/')
      .map((text) => ({ text, characters: Array.from(text) }));
    const isMatched = (name: Name): boolean => dots || isPlain(name);
    const fits = (name: Name, segment: PatternSegment): boolean => matchSegment(name, segment, dots);
    return alternatives.some((segments) =>
      matchWildcards(names, segments, { isStar: isGlobstar, fits, starTakes: isMatched }),
    );
  };
}

type WildcardTests<Item, Part> = {
  readonly isStar: (part: Part) => boolean;
  readonly fits: (item: Item, part: Part) => boolean;
  readonly starTakes: (item: Item) => boolean;
};

/**
 * Matches greedily, going back only to the last star: another choice of an earlier star changes
 * nothing.
 */
function matchWildcards<Item, Part>(
  items: readonly Item[],
  parts: readonly Part[],
  { isStar, fits, starTakes }: WildcardTests<Item, Part>,
): boolean {
  let item = 0;
  let part = 0;
  let star = -1;
  let used = 0;
  while (item < items.length) {
    const here = part < parts.length;
    if (here && isStar(parts[part] as Part)) {
      star = part++;
      used = item;
    } else if (here && fits(items[item] as Item, parts[part] as Part)) {
      item++;
      part++;
    } else if (star >= 0 && starTakes(items[used] as Item)) {
      part = star + 1;
      item = ++used;
    } else {
      return false;
    }
  }
  return parts.slice(part).every((rest) => isStar(rest));
}

function isGlobstar(segment: PatternSegment): boolean {
  return segment === null;
}

type Name = { readonly text: string; readonly characters: readonly string[] };

function isPlain({ text }: Name): boolean {
  return !text.startsWith('.');
}

function matchSegment(name: Name, segment: PatternSegment, dots: boolean): boolean {
  if (segment === null) return false;
  if (segment.text === name.text) return true;
  const [first] = segment.tokens;
  if (!dots && !isPlain(name) && !(first?.kind === 'literal' && first.character === '.')) return false;
  return matchWildcards(name.characters, segment.tokens, {
    isStar: (token) => token.kind === 'star',
    fits: matchToken,
    starTakes: () => true,
  });
}

function matchToken(character: string, token: Token): boolean {
  if (token.kind === 'literal') return token.character === character;
  if (token.kind !== 'set') return token.kind === 'any';
  return token.ranges.some(([from, to]) => from <= character && character <= to) !== token.negated;
}

function parseSegment(text: string): PatternSegment {
  if (text === '**') return null;
  const characters = Array.from(text);
  const tokens: Token[] = [];
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at] as string;
    const close = character === '[' ? findSetEnd(characters, at) : -1;
    if (character === '*') tokens.push(STAR);
    else if (character === '?') tokens.push({ kind: 'any' });
    else if (character === '\\' && at + 1 < characters.length) tokens.push(literalToken(characters[++at] as string));
    else if (close === -1) tokens.push(literalToken(character));
    else {
      tokens.push(parseSet(characters.slice(at + 1, close)));
      at = close;
    }
  }
  return { text, tokens };
}

function literalToken(character: string): Token {
  return { kind: 'literal', character };
}

/**
 * Finds the `]` that ends a set, which is not its first character; -1 when the set has no end and
 * `[` is just a character.
 */
function findSetEnd(characters: readonly string[], open: number): number {
  const negated = characters[open + 1] === '!' || characters[open + 1] === '^';
  return characters.indexOf(']', open + (negated ? 3 : 2));
}

function parseSet(inner: readonly string[]): Token {
  const negated = inner[0] === '!' || inner[0] === '^';
  const members = negated ? inner.slice(1) : inner;
  const ranges: (readonly [string, string])[] = [];
  for (let at = 0; at < members.length; at++) {
    const from = members[at] as string;
    const to = members[at + 1] === '-' ? members[at + 2] : undefined;
    ranges.push([from, to ?? from]);
    if (to !== undefined) at += 2;
  }
  return { kind: 'set', negated, ranges };
}

const MAX_ALTERNATIVES = 256;

/** Expands `{a,b}` into alternatives, nested ones too; braces without a comma are characters. */
export function expandBraces(pattern: string): readonly string[] {
  const done: string[] = [];
  const open = [pattern];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const choice = expandFirstChoice(next);
    if (choice === undefined) done.push(next);
    else open.push(...choice);
    if (done.length + open.length > MAX_ALTERNATIVES) {
      throw new ToolFailure(`The pattern has more than ${MAX_ALTERNATIVES} alternatives: use a simpler one.`);
    }
  }
  return done;
}

/** Returns the alternatives, and the pattern with its braces as characters. */
export function expandReadings(pattern: string): readonly string[] {
  return [...new Set([...expandBraces(pattern), pattern])];
}

/**
 * Characters of all alternatives: the cost of matching one name, and a search matches thousands
 * between two looks at other work.
 */
const MAX_CHARACTERS = 4_000;

/** Refuses a pattern of a model that would cost too much to match. Throws ToolFailure. */
export function refuseCostly(pattern: string): void {
  const characters = expandBraces(pattern).reduce((sum, { length }) => sum + length, 0);
  if (characters <= MAX_CHARACTERS) return;
  throw new ToolFailure(
    `The pattern stands for ${characters} characters once its braces are expanded: use a simpler one.`,
  );
}

function expandFirstChoice(pattern: string): string[] | undefined {
  const stack: { readonly open: number; readonly commas: number[] }[] = [];
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern[at];
    if (character === '\\') at++;
    else if (character === '{') stack.push({ open: at, commas: [] });
    else if (character === ',') stack.at(-1)?.commas.push(at);
    else if (character === '}') {
      const group = stack.pop();
      if (group === undefined || group.commas.length === 0) continue;
      const cuts = [group.open, ...group.commas, at];
      return cuts
        .slice(1)
        .map((cut, n) => pattern.slice(0, group.open) + pattern.slice((cuts[n] ?? 0) + 1, cut) + pattern.slice(at + 1));
    }
  }
  return undefined;
}
