import type { ShellRedirect, ShellOperator, SimpleCommand, ShellWord } from '../../shell-command.ts';

type Token =
  | { readonly kind: 'word'; readonly word: ShellWord }
  | { readonly kind: 'joint'; readonly joint: ShellOperator; readonly newline: boolean }
  | { readonly kind: 'redirect'; readonly operator: string };

/** Characters. A longer command is in doubt: what only reads, or what a rule allows, is short. */
const MOST_JUDGED = 32_768;

/**
 * Parses a command. Null for subshells, substitutions, background jobs, here-documents, control
 * characters, and text that is incomplete or too long.
 */
export function parseShell(command: string): readonly SimpleCommand[] | null {
  const tokens = readTokens(command);
  if (tokens === null) return null;
  const commands: SimpleCommand[] = [];
  let joint: ShellOperator = ';';
  let words: ShellWord[] = [];
  let redirects: ShellRedirect[] = [];
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at] as Token;
    if (token.kind === 'word') words.push(token.word);
    else if (token.kind === 'redirect') {
      const target = tokens[++at];
      if (target?.kind !== 'word') return null;
      redirects.push({ operator: token.operator, target: target.word });
    } else if (words.length > 0) {
      commands.push({ joint, words, redirects });
      [joint, words, redirects] = [token.joint, [], []];
    } else if (!token.newline || redirects.length > 0) return null;
  }
  if (words.length > 0) commands.push({ joint, words, redirects });
  else if (redirects.length > 0 || joint !== ';') return null;
  return commands.length > 0 ? commands : null;
}

const OPERATOR = /^(?:&>>|&>|&&|\|\||\||;|\n|>>|>&|>\||<&|<>|>|<)/;
/** Digits right before a redirection are the number of a file. */
const NUMBER = /[0-9]+(?=[<>])/y;
/**
 * Control characters, but for tab and newline: the shell and this reader could take them for
 * different things.
 */
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f]/;

function readTokens(command: string): readonly Token[] | null {
  if (command.length > MOST_JUDGED || CONTROL.test(command)) return null;
  const tokens: Token[] = [];
  for (let at = 0; at < command.length;) {
    const number = readNumber(command, at);
    const rest = command.slice(at + number.length, at + number.length + 3);
    const blank = /^(?:[ \t]|\\\n)/.exec(rest)?.[0];
    const operator = OPERATOR.exec(rest)?.[0];
    if (blank !== undefined) at += blank.length;
    else if (rest.startsWith('#')) at = findLineEnd(command, at);
    else if (/^(?:[()`&]|<<|[<>]\(|;;|\|&)/.test(rest) && operator !== '&&' && !operator?.startsWith('&>')) return null;
    else if (operator !== undefined) {
      tokens.push(toOperatorToken(number + operator));
      at += number.length + operator.length;
    } else {
      const read = readWord(command, at);
      if (read === null) return null;
      tokens.push({ kind: 'word', word: read.word });
      at = read.end;
    }
  }
  return tokens;
}

function readNumber(command: string, at: number): string {
  NUMBER.lastIndex = at;
  return NUMBER.exec(command)?.[0] ?? '';
}

function findLineEnd(command: string, from: number): number {
  const newline = command.indexOf('\n', from);
  return newline === -1 ? command.length : newline;
}

function toOperatorToken(operator: string): Token {
  if (operator === '\n') return { kind: 'joint', joint: ';', newline: true };
  if (operator === ';' || operator === '|' || operator === '&&' || operator === '||') {
    return { kind: 'joint', joint: operator, newline: false };
  }
  return { kind: 'redirect', operator };
}

type Reading = { text: string; literal: boolean; glob: number; at: number };

const ENDS_WORD = /[ \t\n|&;()<>]/;
/**
 * A `$` before one of these is a variable; before others but brackets and quotes it is only a `$`.
 */
const NAMES_VARIABLE = /[A-Za-z0-9_@*#?$!-]/;

/**
 * Reads a word. Null for substitutions, words that go on after a backslash and a newline, and
 * incomplete text. `end` is where the next token begins.
 */
function readWord(command: string, start: number): { readonly word: ShellWord; readonly end: number } | null {
  const reading: Reading = { text: '', literal: true, glob: -1, at: start };
  while (reading.at < command.length && !ENDS_WORD.test(command[reading.at] as string)) {
    if (!readPart(command, reading)) return null;
  }
  const { text, literal, glob, at } = reading;
  return { word: { text, literal, glob }, end: at };
}

/** Takes one character, or one quoted part. Returns false to give up. */
function readPart(command: string, reading: Reading): boolean {
  const character = command[reading.at++] as string;
  switch (character) {
    case "'":
      return readSingleQuoted(command, reading);
    case '"':
      return readDoubleQuoted(command, reading);
    case '\\':
      return readEscaped(command, reading);
    case '`':
      return false;
    case '$':
      return readDollar(command, reading, /[({['"]/);
    case '*':
    case '?':
    case '[':
      if (reading.glob === -1) reading.glob = reading.text.length;
      break;
    case '~':
      // A tilde counts at the start of a word, and where an assignment's value or a path of a list
      // would start, quoted or not.
      if (reading.text === '' || /[=:"']/.test(command[reading.at - 2] as string)) reading.literal = false;
      break;
    default:
      // The locale decides which characters beyond ASCII are blanks.
      if (character === '{' || character === '}' || character > '\u007e') reading.literal = false;
  }
  reading.text += character;
  return true;
}

function readSingleQuoted(command: string, reading: Reading): boolean {
  const end = command.indexOf("'", reading.at);
  if (end === -1) return false;
  reading.text += command.slice(reading.at, end);
  reading.at = end + 1;
  return true;
}

function readDoubleQuoted(command: string, reading: Reading): boolean {
  while (reading.at < command.length) {
    const character = command[reading.at++] as string;
    if (character === '"') return true;
    if (character === '`') return false;
    if (character === '$') {
      if (!readDollar(command, reading, /[({[]/)) return false;
    } else if (character === '\\' && /[$`"\\\n]/.test(command[reading.at] ?? '')) {
      if (!readEscaped(command, reading)) return false;
    } else {
      reading.text += character;
    }
  }
  return false;
}

/**
 * Takes the next character after a backslash as it is. A newline is removed before anything else is
 * read: the text on either side of it may be one thing, such as the start of a substitution, so
 * within a word it is given up.
 */
function readEscaped(command: string, reading: Reading): boolean {
  const next = command[reading.at++];
  if (next === undefined || next === '\n') return false;
  reading.text += next;
  return true;
}

function readDollar(command: string, reading: Reading, substitutes: RegExp): boolean {
  const next = command[reading.at] ?? '';
  if (substitutes.test(next)) return false;
  if (NAMES_VARIABLE.test(next)) reading.literal = false;
  reading.text += '$';
  return true;
}
