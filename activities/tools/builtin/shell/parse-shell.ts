// Reads a shell command as a list of simple commands, and gives up on anything else: it is used to judge, never to run, so what
// it cannot read for certain is `null`, and null is never read-only.
import { readWord, type Word } from './read-word.ts';

export type Redirect = { readonly operator: string; readonly target: Word };

/** What joins a command to the one before it; a newline is `;`. */
export type Joint = ';' | '|' | '&&' | '||';

export type SimpleCommand = {
  readonly joint: Joint;
  readonly words: readonly Word[];
  readonly redirects: readonly Redirect[];
};

type Token =
  | { readonly kind: 'word'; readonly word: Word }
  | { readonly kind: 'joint'; readonly joint: Joint; readonly newline: boolean }
  | { readonly kind: 'redirect'; readonly operator: string };

/** Characters. A longer command is in doubt: what only reads, or what a rule allows, is short. */
const MOST_JUDGED = 32_768;

/** Null for subshells, substitutions, background jobs, here-documents, control characters, what is not complete, and what is too long. */
export function parseShell(command: string): readonly SimpleCommand[] | null {
  const tokens = tokenize(command);
  if (tokens === null) return null;
  const commands: SimpleCommand[] = [];
  let joint: Joint = ';';
  let words: Word[] = [];
  let redirects: Redirect[] = [];
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
/** Control characters, but for tab and newline: the shell and this reader could take them for different things. */
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f]/;

function tokenize(command: string): readonly Token[] | null {
  if (command.length > MOST_JUDGED || CONTROL.test(command)) return null;
  const tokens: Token[] = [];
  for (let at = 0; at < command.length;) {
    const number = numberAt(command, at);
    const rest = command.slice(at + number.length, at + number.length + 3);
    const blank = /^(?:[ \t]|\\\n)/.exec(rest)?.[0];
    const operator = OPERATOR.exec(rest)?.[0];
    if (blank !== undefined) at += blank.length;
    else if (rest.startsWith('#')) at = lineEnd(command, at);
    else if (/^(?:[()`&]|<<|[<>]\(|;;|\|&)/.test(rest) && operator !== '&&' && !operator?.startsWith('&>')) return null;
    else if (operator !== undefined) {
      tokens.push(operatorToken(number + operator));
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

function numberAt(command: string, at: number): string {
  NUMBER.lastIndex = at;
  return NUMBER.exec(command)?.[0] ?? '';
}

function lineEnd(command: string, from: number): number {
  const newline = command.indexOf('\n', from);
  return newline === -1 ? command.length : newline;
}

function operatorToken(operator: string): Token {
  if (operator === '\n') return { kind: 'joint', joint: ';', newline: true };
  if (operator === ';' || operator === '|' || operator === '&&' || operator === '||') {
    return { kind: 'joint', joint: operator, newline: false };
  }
  return { kind: 'redirect', operator };
}
