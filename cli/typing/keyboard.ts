// Reads the terminal key by key, without echo and with marks around pasted text. It restores the
// terminal however the process ends.
import { EventEmitter } from 'node:events';
import { emitKeypressEvents } from 'node:readline';
import { StringDecoder } from 'node:string_decoder';
import type { Keyboard } from './input.ts';
import type { KeyPress } from './line-editor.ts';
import { type TypedPart, typedSplitter } from './split-typed.ts';

type Terminal = {
  readonly stdin: Pick<NodeJS.ReadStream, 'on' | 'off' | 'pause' | 'resume' | 'setRawMode'>;
  readonly write: (text: string) => unknown;
  /** Asks the terminal where the cursor is, once keys are read; the answer is a column from 1. */
  readonly query?: {
    /** Returns false where it cannot be asked now. */
    ask(): boolean;
    answer(column: number): void;
  };
};

/** Milliseconds after which an Escape is a key of its own and not the beginning of another. */
const ESCAPE_MS = 60;
/** The same for more of a sequence. */
const SEQUENCE_MS = 1_000;
/** A terminal's own answer may come this late after its Escape, which was taken for a key. */
const LATE = /^(?:\[[?<>=\d]|\]\d|P[\d>!$+])/;
const ESCAPE = '\u001b';
const PASTE_ON = '\u001b[?2004h';
const PASTE_OFF = '\u001b[?2004l';

export function openKeyboard({ stdin, write, query }: Terminal): Keyboard {
  let stop: (() => void) | null = null;
  let hasAsked = false;
  let isAnswered = false;
  // Shift-F3 looks like an answer, so only the first one counts.
  const answered = (column: number): void => {
    if (hasAsked && !isAnswered) query?.answer(column);
    isAnswered = hasAsked;
  };
  return {
    start: (onKey) => {
      if (stop) return;
      const keys = new EventEmitter();
      emitKeypressEvents(keys as NodeJS.ReadStream);
      let isTogether = false;
      keys.on('keypress', (typed: string | undefined, key: KeyPress) =>
        onKey(typed, isTogether ? { ...key, together: true } : key),
      );
      const decode = keyDecoder();
      const splitter = typedSplitter();
      let waiting: NodeJS.Timeout | undefined;
      let escapedAt = -Infinity;
      const give = (parts: readonly TypedPart[]): void => {
        isTogether = countCharacters(parts) > 1;
        for (const part of parts) {
          if (part.kind === 'keys') keys.emit('data', part.text);
          else if (part.kind === 'paste') onKey(cleanPaste(part.text), { name: 'paste' });
          else if (part.kind === 'cursor') answered(part.column);
          else if (part.kind === 'escape') onKey(undefined, { name: 'escape' });
          else onKey(undefined, { name: 'enter', meta: true });
        }
      };
      const take = (bytes: Buffer): void => {
        clearTimeout(waiting);
        const text = decode(bytes);
        const isLate = Date.now() - escapedAt < SEQUENCE_MS && LATE.test(text);
        escapedAt = -Infinity;
        give(splitter.take(isLate ? ESCAPE + text : text));
        const { open } = splitter;
        if (open === 'nothing' || stop === null) return;
        waiting = setTimeout(giveUp, open === 'escape' ? ESCAPE_MS : SEQUENCE_MS);
      };
      const giveUp = (): void => {
        if (splitter.open === 'escape') escapedAt = Date.now();
        give(splitter.end());
      };
      const end = (): void => {
        process.off('exit', end);
        clearTimeout(waiting);
        stdin.off('data', take);
        stdin.setRawMode(false);
        stdin.pause();
        write(PASTE_OFF);
        stop = null;
      };
      stop = end;
      process.on('exit', end);
      stdin.on('data', take);
      stdin.setRawMode(true);
      stdin.resume();
      write(PASTE_ON);
      if (query && !hasAsked) hasAsked = query.ask();
    },
    stop: () => stop?.(),
  };
}

/** Counts what was typed without Ctrl or Alt. */
function countCharacters(parts: readonly TypedPart[]): number {
  const texts = parts.flatMap((part) => (part.kind === 'keys' && !part.text.startsWith(ESCAPE) ? [part.text] : []));
  return Array.from(texts.join('')).filter((character) => !/\p{Cc}/u.test(character)).length;
}

/**
 * Reads UTF-8. A terminal may send an introducer as one byte (S8C1T), where no character of UTF-8
 * has such a byte.
 */
function keyDecoder(): (bytes: Buffer) => string {
  const decoder = new StringDecoder('utf8');
  let missing = 0;
  return (bytes) => {
    const known: number[] = [];
    for (const byte of bytes) {
      const isRest = (byte & 0xc0) === 0x80;
      if (isRest && missing === 0 && byte < 0xa0) known.push(0xc2);
      missing = isRest ? Math.max(0, missing - 1) : restLength(byte);
      known.push(byte);
    }
    return decoder.write(Buffer.from(known));
  };
}

/** Bytes that follow the first of a character. */
const restLength = (byte: number): number => (byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : byte >= 0xc2 ? 1 : 0);

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
