// Guesses the commands in a text that could not be read for certain: cut at each possible operator,
// with a `$` where something is substituted. Each step takes time in proportion to the text.
import type { ShellWord } from '../shell-command.ts';

/** A word whose meaning cannot be known. */
export const ANYTHING: ShellWord = { text: '$_', literal: false, glob: -1 };

/**
 * Substitutions, innermost first: `$'…'`, a backquoted command, `${…}`; and then `$(…)`, which any
 * of them may stand in.
 */
const SUBSTITUTIONS = [/\$'(?:[^'\\]|\\.)*'|`((?:[^`\\]|\\.)*)`|\$\{[^{}]*\}/gs, /\$\(([^()]*)\)/g];
/** The text up to the parenthesis that ends a pattern of `case`: it closes no other. */
const CASE_PATTERN = /(?:\bcase\s[^\n;|&()]{0,200}?\sin\s|;;&?)(?!\s*esac\b)\s*\(?[^()\n;&]{0,200}\)/g;
/** The beginning of a here-document with a quoted delimiter: nothing in it is substituted. */
const QUOTED_HERE = /<<-?[ \t]*(?:'([^'\n]+)'|"([^"\n]+)"|\\(\w+))/g;
const REDIRECTION = /&?(?<![<>])[<>]+[&|]?\s*(?:"[^"]*"|'[^']*'|[^\s;&|()<>"'])+/g;
/**
 * These stand for characters in quotes: no command that is judged holds them (a text that does is
 * in doubt).
 */
const QUOTED_DOLLAR = '\u0002';
const OPERATORS = ';&|()<>\n';
const FIRST_OPERATOR = 0x0e;
const encodeOperator = (operator: string): string => String.fromCharCode(FIRST_OPERATOR + OPERATORS.indexOf(operator));
/* oxlint-disable-next-line no-control-regex */
const QUOTED_OPERATORS = / ?([\u000e-\u0015]) ?/g;
/**
 * This stands before a character which would be part of a pattern, or of braces, outside quotes.
 */
const QUOTED_PATTERN = '\u0003';
/** Deeper ones are cut apart, where their `$` is still seen. */
const MOST_GUESSED = 10;
/** Backquotes within backquotes, each escaped once more. */
const MOST_ESCAPED = 4;

export function guessCommands(text: string, escaped = 0): readonly (readonly ShellWord[])[] {
  const inner: string[] = [];
  let rest = dropQuotedDocuments(text).replaceAll('\\\n', '').replaceAll(CASE_PATTERN, replaceParentheses);
  for (let depth = 0; depth < MOST_GUESSED; depth++) {
    for (const substitution of SUBSTITUTIONS) {
      rest = rest.replaceAll(substitution, (_, command: unknown) => {
        if (typeof command === 'string') inner.push(command);
        return '$_';
      });
    }
  }
  // Within backquotes others are escaped, and those of a text that is run are none of the text's
  // own.
  const deeper = [text, ...inner].filter((each) => each.includes('\\`')).map(unescapeText);
  const pieces = [rest, ...inner].map((part) => markQuotedOperators(part).replaceAll(REDIRECTION, ' '));
  const commands = pieces.flatMap((piece) => piece.split(/[;&|()\n]+/)).map(guessWords);
  if (deeper.length > 0 && escaped >= MOST_ESCAPED) return [...commands, [ANYTHING]];
  return [...commands, ...deeper.flatMap((each) => guessCommands(each, escaped + 1))];
}

const unescapeText = (text: string): string => text.replaceAll(/\\([`$\\])/g, '$1');
const replaceParentheses = (pattern: string): string => pattern.replaceAll(/[()]/g, ' ; ');

function dropQuotedDocuments(text: string): string {
  const open: string[] = [];
  const lines = text.split('\n').filter((line) => {
    const [end] = open;
    if (end !== undefined) {
      if (line.replace(/^\t+/, '') === end) open.shift();
      return false;
    }
    for (const [, single, double, escaped] of line.matchAll(QUOTED_HERE)) open.push(single ?? double ?? escaped ?? '');
    return true;
  });
  return lines.join('\n');
}

/**
 * Marks operators within quotes, where they are characters, as is a `$` within single ones; to a
 * shell that is given the text they are operators again. A quote that is not closed is a character.
 */
function markQuotedOperators(text: string): string {
  const parts: string[] = [];
  const unclosed = new Set<string>();
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    const quote = text[at];
    if ((quote !== '"' && quote !== "'") || unclosed.has(quote)) continue;
    const end = quote === "'" ? text.indexOf("'", at + 1) : findDoubleEnd(text, at + 1);
    if (end === -1) {
      // The text after it closes no later one either.
      unclosed.add(quote);
      continue;
    }
    parts.push(text.slice(from, at), markQuoted(text.slice(at, end + 1)));
    from = end + 1;
    at = end;
  }
  return parts.join('') + text.slice(from);
}

function markQuoted(quoted: string): string {
  // The rest of a substitution that could not be taken apart may be commands.
  if (quoted.startsWith('"') && /\$\(|`|\$_.*\)/s.test(quoted)) return ` ; ${quoted.slice(1, -1)} ; `;
  const marked = quoted
    .replaceAll(/[;&|()<>\n]/g, (operator) => ` ${encodeOperator(operator)} `)
    .replaceAll(/[*?[{]/g, `${QUOTED_PATTERN}$&`);
  return quoted.startsWith("'") ? marked.replaceAll('$', QUOTED_DOLLAR) : marked;
}

/** Joins words into the text that a shell is given. */
export function toShellText(words: readonly ShellWord[]): string {
  const text = words.map((word) => word.text).join(' ');
  return text
    .replaceAll(QUOTED_OPERATORS, (_, mark: string) => OPERATORS.charAt(mark.charCodeAt(0) - FIRST_OPERATOR))
    .replaceAll(QUOTED_DOLLAR, '$');
}

function findDoubleEnd(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === '"') return at;
  }
  return -1;
}

/** The meaning of a pattern or of braces is not known, as little as that of a variable. */
/* oxlint-disable-next-line no-control-regex */
const PATTERN = /(?<![\\\u0003])[*?[]/;
/* oxlint-disable-next-line no-control-regex */
const BRACES = /(?<![\\\u0003])\{./s;

function guessWords(command: string): readonly ShellWord[] {
  const words = command.replaceAll(/["']/g, '').split(/\s+/);
  return words.filter((word) => word !== '').map(guessWord);
}

function guessWord(word: string): ShellWord {
  const text = word.replaceAll('\\', '').replaceAll(QUOTED_PATTERN, '');
  return { text, literal: !/[$`]/.test(word) && !BRACES.test(word), glob: word.search(PATTERN) };
}
