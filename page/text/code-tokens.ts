// Splits code into tokens to colour: comments, strings, numbers, keywords and names that are
// called. It knows some ten languages well enough to read by, and leaves the others plain. Each
// character is looked at a bounded number of times. Pure.

type TokenKind = 'add' | 'del' | 'comment' | 'string' | 'number' | 'keyword' | 'call' | 'plain';
type CodeToken = { readonly kind: TokenKind; readonly text: string };

type Grammar = {
  readonly keywords: ReadonlySet<string>;
  /** Marks that begin a comment to the end of the line. */
  readonly line: readonly string[];
  /** Marks that begin and end a comment of several lines. */
  readonly block: readonly (readonly [open: string, close: string])[];
  /**
   * Delimiters of strings; the longest first. A string with one of `multiline` may go over lines.
   */
  readonly strings: readonly string[];
  readonly multiline: readonly string[];
  readonly ignoresCase?: true;
};

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '));
const C_LIKE = { line: ['//'], block: [['/*', '*/']], strings: ['"', "'"], multiline: [] } as const;

const script: Grammar = {
  ...C_LIKE,
  strings: ['`', '"', "'"],
  multiline: ['`'],
  keywords: words(
    'abstract any as async await boolean break case catch class const continue debugger declare default delete do else enum export extends false finally for from function get if implements import in infer instanceof interface is keyof let namespace never new null number of private protected public readonly return satisfies set static string super switch this throw true try type typeof undefined unknown var void while with yield',
  ),
};
const python: Grammar = {
  line: ['#'],
  block: [],
  strings: ['"""', "'''", '"', "'"],
  multiline: ['"""', "'''"],
  keywords: words(
    'False None True and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return self try while with yield',
  ),
};
const shell: Grammar = {
  line: ['#'],
  block: [],
  strings: ['"', "'"],
  multiline: ['"', "'"],
  keywords: words(
    'break case cd continue do done echo elif else esac exit export fi for function if in local read return set shift source then trap until unset while',
  ),
};
const go: Grammar = {
  ...C_LIKE,
  strings: ['`', '"', "'"],
  multiline: ['`'],
  keywords: words(
    'any bool break byte case chan const continue default defer else error fallthrough false float64 for func go goto if import int int64 interface iota map nil package range return rune select string struct switch true type uint var',
  ),
};
const rust: Grammar = {
  ...C_LIKE,
  strings: ['"'],
  multiline: ['"'],
  keywords: words(
    'as async await bool break const continue crate dyn else enum extern false fn for i32 i64 if impl in let loop match mod move mut pub ref return self static str struct super trait true type u32 u64 u8 unsafe use usize where while',
  ),
};
const java: Grammar = {
  ...C_LIKE,
  keywords: words(
    'abstract auto bool boolean break byte case catch char class const continue default delete do double else enum explicit extends extern false final finally float for friend fun goto if implements import include inline instanceof int interface internal let long namespace new null nullptr object operator override package private protected public record return sealed short signed sizeof static string struct super switch template this throw throws true try typedef typename union unsigned using val var virtual void volatile while',
  ),
};
const sql: Grammar = {
  line: ['--'],
  block: [['/*', '*/']],
  strings: ["'", '"'],
  multiline: ["'"],
  ignoresCase: true,
  keywords: words(
    'add all alter and as asc between by case check column constraint create cross default delete desc distinct drop else end exists explain false foreign from full group having if in index inner insert into is join key left like limit not null offset on or order outer primary references right select set table then true union unique update using values view when where with',
  ),
};
const json: Grammar = { ...C_LIKE, strings: ['"'], keywords: words('true false null') };
const yaml: Grammar = {
  ...python,
  strings: ['"', "'"],
  multiline: [],
  keywords: words('true false null yes no on off'),
};
const css: Grammar = {
  line: [],
  block: [['/*', '*/']],
  strings: ['"', "'"],
  multiline: [],
  keywords: words('import media supports keyframes important from to layer container'),
};
const markup: Grammar = {
  line: [],
  block: [['<!--', '-->']],
  strings: ['"', "'"],
  multiline: [],
  keywords: words('html head body div span a p script style link meta table tr td th ul li ol form input button svg'),
};

const GRAMMARS: ReadonlyMap<string, Grammar> = new Map(
  Object.entries({
    'ts tsx typescript js jsx javascript mjs cjs mts': script,
    'py python python3 pyi': python,
    'sh bash shell zsh console dockerfile makefile': shell,
    'go golang': go,
    'rs rust': rust,
    'java kotlin kt c h cpp c++ cc hpp cs csharp swift scala php': java,
    'sql postgresql sqlite mysql': sql,
    'json jsonc json5 jsonl': json,
    'yaml yml toml ini rb ruby': yaml,
    'css scss less': css,
    'html xml svg vue': markup,
  }).flatMap(([names, grammar]) => names.split(' ').map((name) => [name, grammar] as const)),
);

/** Longer code stays plain. */
const COLOURED = 50_000;

/** `language` is the word behind a fence, or the ending of a file's name. */
export function codeTokens(text: string, language: string): readonly CodeToken[] {
  const name = language.toLowerCase();
  if (name === 'diff' || name === 'patch') return diffTokens(text);
  const grammar = GRAMMARS.get(name);
  if (grammar === undefined || text.length > COLOURED) return text === '' ? [] : [{ kind: 'plain', text }];
  return tokensOf(text, grammar);
}

/** Colours the lines of a diff by what they do. */
function diffTokens(text: string): readonly CodeToken[] {
  const lines = text.split(/(?<=\n)/);
  const kindOf = (line: string): TokenKind => {
    if (/^(?:@@|diff |index |--- |\+\+\+ )/.test(line)) return 'comment';
    return line.startsWith('+') ? 'add' : line.startsWith('-') ? 'del' : 'plain';
  };
  return lines.map((line) => ({ kind: kindOf(line), text: line }));
}

/** Returns the ending of a path, by which its language is known. */
export function languageOf(path: string): string {
  const name = path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
  return name.slice(name.lastIndexOf('.') + 1).toLowerCase();
}

const WORD = /[\p{L}_$][\p{L}\p{N}_$]*/uy;
const NUMBER = /\d[\d_]*(?:\.\d+)?[a-z%]*/iy;

function tokensOf(text: string, grammar: Grammar): readonly CodeToken[] {
  const tokens: CodeToken[] = [];
  let plain = 0;
  const add = (kind: TokenKind, from: number, to: number): number => {
    if (from > plain) tokens.push({ kind: 'plain', text: text.slice(plain, from) });
    tokens.push({ kind, text: text.slice(from, to) });
    return (plain = to);
  };
  for (let at = 0; at < text.length;) {
    const end = findMarkEnd(text, at, grammar);
    if (end !== null) {
      at = add(end.kind, at, end.to);
      continue;
    }
    const word = matchAt(WORD, text, at);
    if (word !== '') {
      const to = at + word.length;
      const isKeyword = grammar.keywords.has(grammar.ignoresCase ? word.toLowerCase() : word);
      if (isKeyword) add('keyword', at, to);
      else if (text[to] === '(') add('call', at, to);
      at = to;
      continue;
    }
    const number = matchAt(NUMBER, text, at);
    at = number === '' ? at + 1 : add('number', at, at + number.length);
  }
  if (plain < text.length) tokens.push({ kind: 'plain', text: text.slice(plain) });
  return tokens;
}

function matchAt(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? '';
}

/** Returns where a comment or string that begins here ends; null where none begins. */
function findMarkEnd(
  text: string,
  at: number,
  { line, block, strings, multiline }: Grammar,
): { readonly kind: 'comment' | 'string'; readonly to: number } | null {
  for (const [open, close] of block)
    if (text.startsWith(open, at)) return { kind: 'comment', to: endAfter(text, close, at + open.length) };
  for (const open of line)
    // In a shell a `#` within a word begins no comment.
    if (text.startsWith(open, at) && (open !== '#' || at === 0 || /\s/.test(text[at - 1] ?? '')))
      return { kind: 'comment', to: lineEnd(text, at) };
  for (const open of strings)
    if (text.startsWith(open, at))
      return { kind: 'string', to: stringEnd(text, at + open.length, open, multiline.includes(open)) };
  return null;
}

function endAfter(text: string, close: string, from: number): number {
  const found = text.indexOf(close, from);
  return found < 0 ? text.length : found + close.length;
}

function lineEnd(text: string, from: number): number {
  const found = text.indexOf('\n', from);
  return found < 0 ? text.length : found;
}

function stringEnd(text: string, from: number, close: string, isMultiline: boolean): number {
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text.startsWith(close, at)) return at + close.length;
    else if (text[at] === '\n' && !isMultiline) return at;
  }
  return text.length;
}
