// Colours, where there is a terminal that shows them and nobody asked for none.
export type Paint = {
  readonly on: boolean;
  dim(text: string): string;
  bold(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  cyan(text: string): string;
};

type Stream = { readonly isTTY?: boolean | undefined };

/** `NO_COLOR` set to anything, or TERM=dumb, turns them off. */
export function paint(stream: Stream, env: Readonly<Record<string, string | undefined>>): Paint {
  return painter(stream.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb');
}

export function painter(on: boolean): Paint {
  const style =
    (code: number, end: number) =>
    (text: string): string =>
      on && text !== '' ? `\u001b[${code}m${text}\u001b[${end}m` : text;
  return {
    on,
    dim: style(2, 22),
    bold: style(1, 22),
    red: style(31, 39),
    green: style(32, 39),
    yellow: style(33, 39),
    cyan: style(36, 39),
  };
}

// Text from a model, a tool, a file or another workflow is not allowed to drive a person's terminal, and not allowed to hide: control
// characters, marks that turn the direction of text around, and what no one sees are shown by their names, and nothing is left out. Line
// breaks and tabs stay.

/** What acts on a terminal, and what takes no room: also lone halves of characters. */
const UNSEEN = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;
/** Joiners and variation selectors that make one picture of two, and joiners of scripts that are written with them. */
const JOINED =
  /(?<=\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)\u200d(?=\p{Extended_Pictographic})|(?<=\p{Emoji})\ufe0f|(?<=[\p{scx=Arab}\p{scx=Deva}\p{scx=Beng}\p{scx=Mlym}\p{scx=Sinh}])[\u200c\u200d]/gu;

export function plain(text: string): string {
  const joined = new Set([...text.matchAll(JOINED)].map(({ index }) => index));
  return text.replace(UNSEEN, (character, at: number) =>
    character === '\n' || character === '\t' || joined.has(at) ? character : nameOf(character),
  );
}

/** \r, \x1b, \u202e, \u{e0041} */
function nameOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (character === '\r') return '\\r';
  const hex = code.toString(16);
  if (code <= 0xff) return `\\x${hex.padStart(2, '0')}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\u{${hex}}`;
}

/** On one line, at most `most` characters. */
export function oneLine(text: string, most: number): string {
  const { shown, left } = cutLine(text, most);
  return left === 0
    ? shown
    : `${Array.from(shown)
        .slice(0, most - 1)
        .join('')}…`;
}

/** On one line; what goes beyond `most` characters is cut, and it is said how much. */
export function measuredLine(text: string, most: number): string {
  const { shown, left } = cutLine(text, most);
  return left === 0 ? shown : `${shown}… (+${left.toLocaleString('en')} characters)`;
}

/** `left`: characters of `text` that are not in `shown`. */
function cutLine(text: string, most: number): { readonly shown: string; readonly left: number } {
  const looked = text.slice(0, most * 4);
  const line = Array.from(plain(looked).trim().replace(/\s+/g, ' '));
  const beyond = text.length - looked.length;
  if (line.length <= most && beyond === 0) return { shown: line.join(''), left: 0 };
  // Once more: a joiner whose second half was cut off joins nothing.
  return { shown: plain(line.slice(0, most).join('')), left: Math.max(0, line.length - most) + beyond };
}

/** JSON that no terminal acts on, and that reads back the same: what JSON leaves as it is although nobody sees it. */
export function jsonLine(value: unknown): string {
  const escape = (character: string): string =>
    Array.from({ length: character.length }, (_, at) => character.charCodeAt(at))
      .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
      .join('');
  return JSON.stringify(value).replace(UNSEEN, escape);
}
