// Commands that run another, which their arguments name: where in a command others may begin. In doubt one does.
import type { Word } from '../shell-command.ts';

/** Words, and which of them may be the name of a command that is run. */
export type Reading = { readonly words: readonly Word[]; readonly starts: ReadonlySet<number> };

/** Stand before a command without being one; so does the number or name of a redirection. */
const KEYWORDS = new Set(['!', '{', '}', 'do', 'elif', 'else', 'if', 'then', 'until', 'while']);
const BEFORE_COMMAND = /^(?:\w+(?:\[.*\])?\+?=|\d+$|\{\w+\}$)/s;
/** Run the command that stands after their options. */
const PREFIXES = new Set(
  (
    'builtin busybox choom command coproc dbus-run-session doas env eval exec fakeroot i386 ionice jobs linux32 linux64 ltrace nice nohup npx nsenter numactl ' +
    'parallel pkexec prlimit runuser setpriv setsid stdbuf strace sudo systemd-run time unbuffer unshare watch x86_64 xargs'
  ).split(' '),
);
/** The same with something else before it: a time, a folder, a file. */
const PREFIXES_OF_TWO = new Set('chroot chrt flock setarch sg taskset timeout'.split(' '));
const SHELLS = new Set('ash bash dash fish ksh lksh mksh posh rbash rksh rzsh sh yash zsh'.split(' '));
/** Take a command as a text. */
const TEXT_RUNNERS = new Set([
  ...SHELLS,
  ...'compgen complete env eval flock mapfile npx parallel readarray runuser script sg su trap watch'.split(' '),
]);
/** A text may begin within an option: `env -S"rm x"`, `su -c"rm x"`. */
const TEXT_OPTION = /^(?:-[A-Za-z0-9]{0,8}?[Sc]|--[a-z-]{1,30}=)(?=.)/s;
const OTHERS = new Set('. find function source ssh'.split(' '));
/** Texts within texts, their characters, and the commands in them: beyond any nobody can say what is run. */
const MOST_NESTED = 6;
const MOST_CHARACTERS = 1_000_000;
const MOST_READINGS = 5_000;
const UNKNOWN: Reading = { words: [{ text: '$_', literal: false, glob: -1 }], starts: new Set([0]) };

/** Whether any word of it may be run. */
export function isRunner(words: readonly Word[]): boolean {
  const name = nameAt(words, firstOf(words));
  return [PREFIXES, PREFIXES_OF_TWO, TEXT_RUNNERS, OTHERS].some((known) => known.has(name));
}

/** The command itself, with those it runs, and those in texts it runs, however deep; where that goes on for too long, one that may be anything. */
export function runIn(words: readonly Word[]): readonly Reading[] {
  const found: Reading[] = [];
  const seen = new Set<string>();
  let left = MOST_CHARACTERS;
  let level: readonly (readonly Word[])[] = [words];
  for (let nested = 0; level.length > 0; nested++) {
    if (nested > MOST_NESTED || found.length + level.length > MOST_READINGS) return [...found, UNKNOWN];
    const readings = level.map((each) => ({ words: each, starts: startsFrom(each, firstOf(each)) }));
    found.push(...readings);
    const texts: string[] = [];
    for (const text of textsOf(readings)) {
      if ((left -= text.length) < 0) return [...found, UNKNOWN];
      if (!seen.has(text)) texts.push(text);
      seen.add(text);
    }
    level = texts.flatMap((text) => guessCommands(text));
  }
  return found;
}

function* textsOf(readings: readonly Reading[]): Iterable<string> {
  for (const reading of readings) yield* textsIn(reading);
}

/** What any of its commands that run a text may take for it. An option is looked at once, whichever of them it belongs to. */
function* textsIn({ words, starts }: Reading): Iterable<string> {
  const runners = [...starts].filter((at) => TEXT_RUNNERS.has(nameAt(words, at)));
  // A shell runs a text when an option says so, else a file.
  const others = runners.filter((at) => !SHELLS.has(nameAt(words, at)));
  for (const at of others) yield asText(words.slice(at + 1));
  const [first, firstOther] = [Math.min(...runners), Math.min(...others)];
  for (let option = first + 1; option < words.length; option++) {
    const word = words[option]!;
    if (isTextOption(word.text)) yield asText(words.slice(option + 1));
    const [within] = (option > firstOther && TEXT_OPTION.exec(word.text)) || [];
    if (within !== undefined)
      yield asText([{ ...word, text: word.text.slice(within.length) }, ...words.slice(option + 1)]);
  }
}

const isTextOption = (word: string): boolean => /^-\w+$/.test(word) && /[cC]/.test(word);

/** Each word is looked at twice at most, however many runners stand in a row. */
function startsFrom(words: readonly Word[], first: number): ReadonlySet<number> {
  const starts = new Set<number>();
  const seen = new Set<number>();
  const open: (readonly [at: number, operands: number])[] = [[first, 0]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [at, operands] = next;
    const word = words[at];
    if (word === undefined || seen.has(2 * at + operands)) continue;
    seen.add(2 * at + operands);
    starts.add(at);
    if (word.text.startsWith('-')) open.push([at + 1, operands], [at + 2, operands]);
    else if (/^\w+=/.test(word.text)) open.push([at + 1, operands]);
    else if (operands > 0) open.push([at + 1, operands - 1]);
    const name = nameAt(words, at);
    if (PREFIXES_OF_TWO.has(name)) open.push([at + 1, 1]);
    else if (PREFIXES.has(name) && !isLookup(words, at)) open.push([at + 1, 0]);
  }
  return starts;
}

function isLookup(words: readonly Word[], at: number): boolean {
  return words[at]?.text === 'command' && /^-[vV]$/.test(words[at + 1]?.text ?? '');
}

function firstOf(words: readonly Word[]): number {
  const first = words.findIndex(({ text }) => !KEYWORDS.has(text) && !BEFORE_COMMAND.test(text));
  return first === -1 ? words.length : first;
}

function nameAt(words: readonly Word[], at: number): string {
  const text = words[at]?.text ?? '';
  return text.slice(text.lastIndexOf('/') + 1);
}

// The commands in a text that could not be read for certain: cut at whatever may be an operator, with a `$` where something is
// substituted. Each step takes time in proportion to the text.

/** Substitutions, innermost first: `$'…'`, a backquoted command, `${…}`; and then `$(…)`, which any of them may stand in. */
const SUBSTITUTIONS = [/\$'(?:[^'\\]|\\.)*'|`((?:[^`\\]|\\.)*)`|\$\{[^{}]*\}/gs, /\$\(([^()]*)\)/g];
/** Up to the parenthesis that ends a pattern of `case`: it closes none. */
const CASE_PATTERN = /(?:\bcase\s[^\n;|&()]{0,200}?\sin\s|;;&?)(?!\s*esac\b)\s*\(?[^()\n;&]{0,200}\)/g;
/** The beginning of a here-document with a quoted delimiter: nothing in it is substituted. */
const QUOTED_HERE = /<<-?[ \t]*(?:'([^'\n]+)'|"([^"\n]+)"|\\(\w+))/g;
const REDIRECTION = /&?(?<![<>])[<>]+[&|]?\s*(?:"[^"]*"|'[^']*'|[^\s;&|()<>"'])+/g;
/** Stand for characters in quotes: no command that is judged holds them (a text that does is in doubt). */
const QUOTED_DOLLAR = '\u0002';
const OPERATORS = ';&|()<>\n';
const FIRST_OPERATOR = 0x0e;
const quotedOperator = (operator: string): string => String.fromCharCode(FIRST_OPERATOR + OPERATORS.indexOf(operator));
/* oxlint-disable-next-line no-control-regex */
const QUOTED_OPERATORS = / ?([\u000e-\u0015]) ?/g;
/** Before a character which would be part of a pattern, or of braces, outside quotes. */
const QUOTED_PATTERN = '\u0003';
/** Deeper ones are cut apart, where their `$` is still seen. */
const MOST_GUESSED = 10;
/** Backquotes within backquotes, each escaped once more. */
const MOST_ESCAPED = 4;

export function guessCommands(text: string, escaped = 0): readonly (readonly Word[])[] {
  const inner: string[] = [];
  let rest = withoutQuotedDocuments(text).replaceAll('\\\n', '').replaceAll(CASE_PATTERN, withoutParentheses);
  for (let depth = 0; depth < MOST_GUESSED; depth++) {
    for (const substitution of SUBSTITUTIONS) {
      rest = rest.replaceAll(substitution, (_, command: unknown) => {
        if (typeof command === 'string') inner.push(command);
        return '$_';
      });
    }
  }
  // Within backquotes others are escaped, and those of a text that is run are none of the text's own.
  const deeper = [text, ...inner].filter((each) => each.includes('\\`')).map(unescaped);
  const pieces = [rest, ...inner].map((part) => withoutQuotedOperators(part).replaceAll(REDIRECTION, ' '));
  const commands = pieces.flatMap((piece) => piece.split(/[;&|()\n]+/)).map(guessedWords);
  if (deeper.length > 0 && escaped >= MOST_ESCAPED) return [...commands, UNKNOWN.words];
  return [...commands, ...deeper.flatMap((each) => guessCommands(each, escaped + 1))];
}

const unescaped = (text: string): string => text.replaceAll(/\\([`$\\])/g, '$1');
const withoutParentheses = (pattern: string): string => pattern.replaceAll(/[()]/g, ' ; ');

function withoutQuotedDocuments(text: string): string {
  const open: string[] = [];
  const kept = text.split('\n').filter((line) => {
    const [end] = open;
    if (end !== undefined) {
      if (line.replace(/^\t+/, '') === end) open.shift();
      return false;
    }
    for (const [, single, double, escaped] of line.matchAll(QUOTED_HERE)) open.push(single ?? double ?? escaped ?? '');
    return true;
  });
  return kept.join('\n');
}

/**
 * Within quotes they are none, and a `$` within single ones is a character; to a shell that is given the text they are again. A
 * quote that is not closed is a character.
 */
function withoutQuotedOperators(text: string): string {
  const parts: string[] = [];
  const unclosed = new Set<string>();
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    const quote = text[at];
    if ((quote !== '"' && quote !== "'") || unclosed.has(quote)) continue;
    const end = quote === "'" ? text.indexOf("'", at + 1) : doubleEnd(text, at + 1);
    if (end === -1) {
      // The text after it closes no later one either.
      unclosed.add(quote);
      continue;
    }
    parts.push(text.slice(from, at), withMarks(text.slice(at, end + 1)));
    from = end + 1;
    at = end;
  }
  return parts.join('') + text.slice(from);
}

function withMarks(quoted: string): string {
  // What is left of a substitution that could not be taken apart: all of it may be commands.
  if (quoted.startsWith('"') && /\$\(|`|\$_.*\)/s.test(quoted)) return ` ; ${quoted.slice(1, -1)} ; `;
  const marked = quoted
    .replaceAll(/[;&|()<>\n]/g, (operator) => ` ${quotedOperator(operator)} `)
    .replaceAll(/[*?[{]/g, `${QUOTED_PATTERN}$&`);
  return quoted.startsWith("'") ? marked.replaceAll('$', QUOTED_DOLLAR) : marked;
}

/** Reads words as a shell does that is given them as a text. */
function asText(words: readonly Word[]): string {
  const text = words.map((word) => word.text).join(' ');
  return text
    .replaceAll(QUOTED_OPERATORS, (_, mark: string) => OPERATORS.charAt(mark.charCodeAt(0) - FIRST_OPERATOR))
    .replaceAll(QUOTED_DOLLAR, '$');
}

function doubleEnd(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === '"') return at;
  }
  return -1;
}

/** What a pattern or braces stand for is not known, as little as what a variable does. */
/* oxlint-disable-next-line no-control-regex */
const PATTERN = /(?<![\\\u0003])[*?[]/;
/* oxlint-disable-next-line no-control-regex */
const BRACES = /(?<![\\\u0003])\{./s;

function guessedWords(command: string): readonly Word[] {
  const words = command.replaceAll(/["']/g, '').split(/\s+/);
  return words.filter((word) => word !== '').map(guessedWord);
}

function guessedWord(word: string): Word {
  const text = word.replaceAll('\\', '').replaceAll(QUOTED_PATTERN, '');
  return { text, literal: !/[$`]/.test(word) && !BRACES.test(word), glob: word.search(PATTERN) };
}
