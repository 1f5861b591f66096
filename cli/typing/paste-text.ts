// Cleans pasted text of what terminals put among it: keys in numbered forms, colours, links.
/* oxlint-disable no-control-regex */

/** A key by its number, as fixterms and kitty have it, and as xterm does (modifyOtherKeys). */
const NUMBERED = /(?:\u001b\[|\u009b)(?:(\d+)(?::\d*)*(?:;(\d*)(?::\d+)?)?(?:;[\d:]*)?u|27;(\d+);(\d+)~)/g;
/** A command to the terminal with its text, such as a title or the target of a link. */
const STRING = /\u001b[\]PX^_][^\u0007\u001b\u009c]{0,10000}(?:\u0007|\u001b\\|\u009c)/g;
const CONTROL = /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]/g;
/** A choice of characters, a mode of the keypad and the like; letters alone may be of the text. */
const SHORT = /\u001b(?:[ #%()*+\-./][ -~]|[=>78cDEHMNOZ])/g;
/* oxlint-enable no-control-regex */

const [SHIFT, CTRL] = [1, 4];
const LINE_FEED = 10;

/** Returns the text as it was meant: a multiplexer may write its line ends and tabs as keys. */
export function cleanPaste(pasted: string): string {
  if (!pasted.includes('\u001b') && !pasted.includes('\u009b')) return pasted;
  return pasted
    .replaceAll(NUMBERED, (_, code?: string, modifiers?: string, otherModifiers?: string, otherCode?: string) =>
      keyText(Number(code ?? otherCode), Number(modifiers || otherModifiers || 1) - 1),
    )
    .replaceAll(STRING, '')
    .replaceAll(CONTROL, '')
    .replaceAll(SHORT, '');
}

function keyText(code: number, modifiers: number): string {
  if (code === 13 || code === LINE_FEED) return '\n';
  // Ctrl-J is the line end of a paste, and Ctrl-I its tab.
  if (modifiers === CTRL && (code === 106 || code === 109)) return '\n';
  if (code === 9 || (modifiers === CTRL && code === 105)) return '\t';
  const isText = code >= 32 && code <= 0x10ffff && (code < 0x7f || code > 0x9f) && !isPrivate(code);
  return isText && (modifiers & ~SHIFT) === 0 ? String.fromCodePoint(code) : '';
}

/** Keys without a character have numbers here. */
const isPrivate = (code: number): boolean => (code >= 0xe000 && code <= 0xf8ff) || (code >= 0xd800 && code <= 0xdfff);
