// One word of a shell command, with its quotes taken away, and what the shell would still do to it.

export type Word = {
  readonly text: string;
  /** False when the shell would put something else in its place: a variable, braces, a tilde. */
  readonly literal: boolean;
  /** Where in `text` the first unquoted `*`, `?` or `[` stands; -1 when nowhere. */
  readonly glob: number;
};

type Reading = { text: string; literal: boolean; glob: number; at: number };

const ENDS_WORD = /[ \t\n|&;()<>]/;
/** A `$` before one of these is a variable; before others but brackets and quotes it is only a `$`. */
const NAMES_VARIABLE = /[A-Za-z0-9_@*#?$!-]/;

/** Null for substitutions, words that go on after a backslash and a newline, and what is not complete. `end` is where the next token begins. */
export function readWord(command: string, start: number): { readonly word: Word; readonly end: number } | null {
  const reading: Reading = { text: '', literal: true, glob: -1, at: start };
  while (reading.at < command.length && !ENDS_WORD.test(command[reading.at] as string)) {
    if (!step(command, reading)) return null;
  }
  const { text, literal, glob, at } = reading;
  return { word: { text, literal, glob }, end: at };
}

/** Takes one character, or one quoted part. False to give up. */
function step(command: string, reading: Reading): boolean {
  const character = command[reading.at++] as string;
  switch (character) {
    case "'":
      return singleQuoted(command, reading);
    case '"':
      return doubleQuoted(command, reading);
    case '\\':
      return escaped(command, reading);
    case '`':
      return false;
    case '$':
      return dollar(command, reading, /[({['"]/);
    case '*':
    case '?':
    case '[':
      if (reading.glob === -1) reading.glob = reading.text.length;
      break;
    case '~':
      // At the start of a word, and where an assignment's value or a path of a list would start, quoted or not.
      if (reading.text === '' || /[=:"']/.test(command[reading.at - 2] as string)) reading.literal = false;
      break;
    default:
      // What counts as a blank beyond ASCII depends on the locale.
      if (character === '{' || character === '}' || character > '\u007e') reading.literal = false;
  }
  reading.text += character;
  return true;
}

function singleQuoted(command: string, reading: Reading): boolean {
  const end = command.indexOf("'", reading.at);
  if (end === -1) return false;
  reading.text += command.slice(reading.at, end);
  reading.at = end + 1;
  return true;
}

function doubleQuoted(command: string, reading: Reading): boolean {
  while (reading.at < command.length) {
    const character = command[reading.at++] as string;
    if (character === '"') return true;
    if (character === '`') return false;
    if (character === '$') {
      if (!dollar(command, reading, /[({[]/)) return false;
    } else if (character === '\\' && /[$`"\\\n]/.test(command[reading.at] ?? '')) {
      if (!escaped(command, reading)) return false;
    } else {
      reading.text += character;
    }
  }
  return false;
}

/**
 * After a backslash: the next character as it is. A newline is nothing at all, before anything else is read: what stands on either
 * side of it may be one thing, such as the start of a substitution, so within a word it is given up.
 */
function escaped(command: string, reading: Reading): boolean {
  const next = command[reading.at++];
  if (next === undefined || next === '\n') return false;
  reading.text += next;
  return true;
}

function dollar(command: string, reading: Reading, substitutes: RegExp): boolean {
  const next = command[reading.at] ?? '';
  if (substitutes.test(next)) return false;
  if (NAMES_VARIABLE.test(next)) reading.literal = false;
  reading.text += '$';
  return true;
}
