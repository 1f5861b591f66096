// The commands in a text that could not be read for certain: cut at whatever may be an operator, with a `$` where something is
// substituted. Each step takes time in proportion to the text.
import type { Word } from '../builtin/shell/read-word.ts';

/** What is substituted, innermost: `$'…'`, a backquoted command, `${…}`; and then `$(…)`, which any of them may stand in. */
const SUBSTITUTIONS = [/\$'(?:[^'\\]|\\.)*'|`([^`]*)`|\$\{[^{}]*\}/gs, /\$\(([^()]*)\)/g];
/** What begins a here-document with a quoted delimiter: nothing in it is substituted. */
const QUOTED_HERE = /<<-?[ \t]*(?:'([^'\n]+)'|"([^"\n]+)"|\\(\w+))/g;
const REDIRECTION = /&?(?<![<>])[<>]+[&|]?\s*(?:"[^"]*"|'[^']*'|[^\s;&|()<>"'])+/g;
/** Stand for characters in quotes: no command that is judged holds them (a text that does is in doubt). */
const QUOTED_OPERATOR = '\u0001';
const QUOTED_DOLLAR = '\u0002';
/** Deeper ones are cut apart, where their `$` is still seen. */
const MOST_NESTED = 10;

export function guessedCommands(text: string): readonly (readonly Word[])[] {
  const inner: string[] = [];
  let rest = withoutQuotedDocuments(text).replaceAll('\\\n', '');
  for (let depth = 0; depth < MOST_NESTED; depth++) {
    for (const substitution of SUBSTITUTIONS) {
      rest = rest.replaceAll(substitution, (_, command: unknown) => {
        if (typeof command === 'string') inner.push(command);
        return '$_';
      });
    }
  }
  const pieces = [rest, ...inner].map((part) => withoutQuotedOperators(part).replaceAll(REDIRECTION, ' '));
  return pieces.flatMap((piece) => piece.split(/[;&|()\n]+/)).map(guessedWords);
}

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
      // What follows it closes no later one either.
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
  const marked = quoted.replaceAll(/[;&|()<>\n]/g, ` ${QUOTED_OPERATOR} `);
  return quoted.startsWith("'") ? marked.replaceAll('$', QUOTED_DOLLAR) : marked;
}

/** What a shell makes of words that it is given as a text. */
export function asText(words: readonly Word[]): string {
  const text = words.map((word) => word.text).join(' ');
  return text.replaceAll(QUOTED_OPERATOR, ';').replaceAll(QUOTED_DOLLAR, '$');
}

function doubleEnd(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === '"') return at;
  }
  return -1;
}

function guessedWords(command: string): readonly Word[] {
  const words = command.replaceAll(/["'\\]/g, '').split(/\s+/);
  return words.filter((word) => word !== '').map((word) => ({ text: word, literal: !word.includes('$'), glob: -1 }));
}
