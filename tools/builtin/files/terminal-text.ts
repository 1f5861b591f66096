// Renders what a command writes as a terminal would show it: a progress bar that is drawn again and
// again is one line, in its last state (L36). Memory is bounded, and any pieces give the same text.
import { eastAsianWidth } from 'get-east-asian-width';
import { dropPartialEnd } from './encoding.ts';
import { TerminalScreen } from './terminal-screen.ts';

type TerminalText = {
  /** Takes the next bytes, cut anywhere. The view may be reused. */
  write(bytes: Uint8Array): void;
  /** Passes on what is still on the screen. Nothing can be written after it. */
  end(): void;
};

/* oxlint-disable no-control-regex */
/** Characters of a title or a device string; a longer one is text. */
const MOST_STRING = 4_096;
const TOKEN = new RegExp(
  [
    '[^\\u0000-\\u001f\\u007f-\\u009f]+',
    `\\u001b\\][^\\u0007\\u001b\\n]{0,${MOST_STRING}}(?:\\u0007|\\u001b\\\\)`, // title and links
    '\\u001b\\[([0-?]{0,64})[ -/]{0,8}([@-~])', // colour, cursor, modes
    `\\u001b[PX^_][^\\u001b\\n]{0,${MOST_STRING}}\\u001b\\\\`, // device strings
    '\\u001b[ -/]{0,8}[0-~]', // two or three characters
    '[\\u0000-\\u001f\\u007f-\\u009f]',
  ].join('|'),
  'gy',
);
/** Matches the beginning of a sequence whose rest may come. */
const PARTIAL = new RegExp(
  `^\\u001b(?:\\[[0-?]{0,64}[ -/]{0,8}|[ -/]{0,8}|\\][^\\u0007\\u001b\\n]{0,${MOST_STRING}}\\u001b?|[PX^_][^\\u001b\\n]{0,${MOST_STRING}}\\u001b?)$`,
);
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
/* oxlint-enable no-control-regex */
const PLAIN = /^[ -~]+$/;
const MARK = /^[\p{Mn}\p{Me}\p{Cf}]/u;

const [BACKSPACE, TAB, NEWLINE, RETURN, ESCAPE] = [0x08, 0x09, 0x0a, 0x0d, 0x1b] as const;
/** The lines at the end of plain output that later output may still change. */
const REACHED_LINES = 16;

/** `emit` gets lines that can't change again, as UTF-8, and at the end the rest. */
export function createTerminalText(emit: (bytes: Uint8Array) => void): TerminalText {
  let out: string[] = [];
  const screen = new TerminalScreen((text) => out.push(text));
  let partial: Buffer = Buffer.alloc(0);
  let pending = '';
  const pass = (): void => {
    if (out.length > 0) emit(Buffer.from(out.join('')));
    out = [];
  };
  const interpret = (bytes: Uint8Array): void => {
    const all = partial.length === 0 ? Buffer.from(bytes) : Buffer.concat([partial, bytes]);
    const whole = dropPartialEnd(all);
    partial = all.subarray(whole.length);
    const text = pending + whole.toString('utf8');
    const length = text.length - measureHeld(text);
    pending = text.slice(length);
    drawText(screen, text.slice(0, length));
  };
  return {
    write(bytes) {
      const plain = pending === '' && partial.length === 0 && screen.isAtEnd() ? findPlainLines(bytes) : null;
      if (plain === null) interpret(bytes);
      else {
        interpret(bytes.subarray(0, plain.from));
        screen.flush();
        pass();
        emit(bytes.subarray(plain.from, plain.to));
        interpret(bytes.subarray(plain.to));
      }
      pass();
    },
    end() {
      drawText(screen, pending + partial.toString('utf8'));
      screen.flush();
      pass();
    },
  };
}

/** Renders a whole output. Control characters that draw nothing are dropped. */
export function renderTerminal(bytes: Uint8Array): string {
  const parts: Uint8Array[] = [];
  const terminal = createTerminalText((part) => parts.push(Buffer.from(part)));
  terminal.write(bytes);
  terminal.end();
  return decodePlain(Buffer.concat(parts));
}

/** Decodes what `createTerminalText` has passed on. Invalid UTF-8 becomes U+FFFD. */
export function decodePlain(bytes: Buffer): string {
  return bytes.toString('utf8').replaceAll(CONTROLS, '');
}

/**
 * Finds whole lines that need no drawing, so that a flood of plain output costs little: those after
 * the first line end of a piece without control characters, but for the last few.
 */
function findPlainLines(piece: Uint8Array): { readonly from: number; readonly to: number } | null {
  const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
  if ([ESCAPE, RETURN, BACKSPACE].some((control) => bytes.includes(control))) return null;
  const from = bytes.indexOf(NEWLINE) + 1;
  let to = bytes.length;
  for (let line = 0; line <= REACHED_LINES && to > from; line++) to = bytes.lastIndexOf(NEWLINE, to - 2) + 1;
  return from > 0 && to > from ? { from, to } : null;
}

/** Returns how many characters at the end may be the beginning of a sequence. */
function measureHeld(text: string): number {
  const last = text.lastIndexOf('\u001b');
  if (last === -1) return 0;
  // The end of a string is a sequence of its own: its beginning is the escape before.
  const before = last === text.length - 1 && last > 0 ? text.lastIndexOf('\u001b', last - 1) : -1;
  const start = [before, last].find(
    (at) => at !== -1 && text.length - at <= MOST_STRING + 3 && PARTIAL.test(text.slice(at)),
  );
  return start === undefined ? 0 : text.length - start;
}

function drawText(screen: TerminalScreen, text: string): void {
  for (const [token, parameters = '', final] of text.matchAll(TOKEN)) {
    const code = token.charCodeAt(0);
    if (code === ESCAPE && final !== undefined) screen.control(final, parameters);
    else if (code === ESCAPE) screen.escape(token.slice(1));
    else if (code === NEWLINE) screen.newLine();
    else if (code === RETURN) screen.carriageReturn();
    else if (code === BACKSPACE) screen.backspace();
    else if (code === TAB) screen.tab();
    else if (code >= 0x20 && (code < 0x7f || code > 0x9f)) drawRun(screen, token);
  }
}

function drawRun(screen: TerminalScreen, run: string): void {
  if (PLAIN.test(run)) {
    screen.putPlain(run);
    return;
  }
  for (const character of run) screen.put(character, widthOf(character));
}

function widthOf(character: string): 0 | 1 | 2 {
  if (character < '\u0300') return 1;
  return MARK.test(character) ? 0 : eastAsianWidth(character.codePointAt(0) ?? 0);
}
