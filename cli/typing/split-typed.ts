// Splits what a terminal sends into keys and pastes, and swallows the rest. A terminal also sends
// what nobody typed: clicks, answers to queries of programs that ran before, keys in forms of their
// own. Their digits and letters must not count as keys, wherever the input is cut. A paste stands
// between two marks and comes whole, so that a large one costs no more than its characters.

export type TypedPart =
  /** Text, or keys in the forms that node:readline knows. */
  | { readonly kind: 'keys'; readonly text: string }
  | { readonly kind: 'paste'; readonly text: string }
  | { readonly kind: 'escape' }
  /** Enter with Shift, Ctrl or Alt. */
  | { readonly kind: 'line break' }
  /** The answer to a query where the cursor is; columns count from 1. */
  | { readonly kind: 'cursor'; readonly column: number };

type TypedSplitter = {
  /** Takes the next piece of the input, and returns the parts that are whole. */
  take(input: string): readonly TypedPart[];
  /** The kind of the unfinished rest: Escape may be a key of its own, or begin a sequence. */
  readonly open: 'nothing' | 'escape' | 'sequence';
  /** Ends what is open, for nothing more came of it. */
  end(): readonly TypedPart[];
};

const ESCAPE = '\u001b';
/** A paste ends with the kind of introducer that began it; the other kind is text. */
const PASTE_END = '\u001b[201~';
const SHORT_PASTE_END = '\u009b201~';
/** Introducers, also in the form of one character. */
/* oxlint-disable-next-line no-control-regex */
const BEGIN = /[\u001b\u008f\u0090\u0098\u009b\u009d-\u009f]/;
/** Device strings, operating system commands and the like run on until they are ended. */
const STRINGS = new Set(['P', 'X', '^', '_', ']']);
/* oxlint-disable-next-line no-control-regex */
const STRING_END = /\u0007|\u0018|\u001a|\u009c|\u001b\\|\u001b(?=[^\\])/;
/** Characters that follow the letter of a click in forms without digits. */
const CLICKS: Readonly<Record<string, number>> = { M: 3, t: 2, T: 6 };
/** Keys in the forms of xterm, rxvt and the like that mean something here. */
const KEYS = /^(?:\[(?:1;\d{1,2})?[ABCDFH]|\[[abcdZ]|\[[1-8](?:;\d{1,2})?[~^$@]|O\d?[ABCDFHabcd])$/;
/** Where the cursor is. Shift-F3 looks alike, and means nothing here. */
const CURSOR = /^\[\d+;(\d+)R$/;
/** A key by its number, as fixterms and kitty have it, and as xterm does (modifyOtherKeys). */
const NUMBERED = /^\[(?:(\d+)(?::\d*)*(?:;(\d*)(?::(\d+))?)?(?:;[\d:]*)?u|27;(\d+);(\d+)~)$/;

export function typedSplitter(): TypedSplitter {
  let pending = '';
  let pasted: string[] | null = null;
  let pasteEnd = PASTE_END;
  let isInString = false;
  let parts: TypedPart[] = [];

  /** Each step takes some of the text and returns the rest, or null when it needs more. */
  const step = (text: string): string | null => {
    if (pasted !== null) return takePaste(text);
    if (isInString) return takeString(text);
    const at = text.search(BEGIN);
    if (at !== 0) {
      parts.push({ kind: 'keys', text: at < 0 ? text : text.slice(0, at) });
      return at < 0 ? '' : text.slice(at);
    }
    return takeSequence(text, text.startsWith(ESCAPE) ? text : spellOut(text));
  };

  const takePaste = (text: string): string | null => {
    const at = text.indexOf(pasteEnd);
    const overlap = at < 0 ? measureHeld(text, pasteEnd) : 0;
    pasted?.push(text.slice(0, at < 0 ? text.length - overlap : at));
    pending = at < 0 ? text.slice(text.length - overlap) : '';
    if (at < 0) return null;
    parts.push({ kind: 'paste', text: pasted?.join('') ?? '' });
    pasted = null;
    return text.slice(at + pasteEnd.length);
  };

  const takeString = (text: string): string | null => {
    const end = STRING_END.exec(text);
    if (end === null) {
      pending = text.endsWith(ESCAPE) ? ESCAPE : '';
      return null;
    }
    isInString = false;
    // An Escape that ends no string begins something new.
    return text.slice(end.index + (end[0] === ESCAPE ? 0 : end[0].length));
  };

  const takeSequence = (text: string, spelled: string): string | null => {
    const length = sequenceLength(spelled);
    if (length === null) {
      pending = text;
      return null;
    }
    const body = spelled.slice(1, length);
    if (body === '[200~') {
      pasted = [];
      pasteEnd = text === spelled ? PASTE_END : SHORT_PASTE_END;
    } else if (STRINGS.has(body)) isInString = true;
    else parts.push(...partsOf(body));
    return spelled.slice(length);
  };

  return {
    take: (input) => {
      parts = [];
      let rest: string | null = pending + input;
      pending = '';
      while (rest !== null && rest !== '') rest = step(rest);
      return parts;
    },
    get open() {
      if (pasted !== null) return 'nothing';
      if (isInString) return 'sequence';
      return pending === '' ? 'nothing' : isOnlyEscapes(pending) ? 'escape' : 'sequence';
    },
    end: () => {
      const escapes = !isInString && isOnlyEscapes(pending) ? pending.length : 0;
      pending = '';
      isInString = false;
      return Array.from({ length: escapes }, () => ({ kind: 'escape' }));
    },
  };
}

const isOnlyEscapes = (text: string): boolean => text !== '' && text.replaceAll(ESCAPE, '') === '';

/** An introducer of one character stands for Escape and another one. */
const spellOut = (text: string): string => ESCAPE + String.fromCharCode(text.charCodeAt(0) - 0x40) + text.slice(1);

/**
 * Returns the length of the sequence at the beginning of `text`, of which a string counts only the
 * introducer; null when it is not whole.
 */
function sequenceLength(text: string): number | null {
  const second = text[1];
  if (second === undefined) return null;
  if (second === ESCAPE) {
    // Some terminals tell Alt and an arrow by two Escapes; or a person presses it twice, or before
    // the terminal sends something else.
    if (text.length === 2) return null;
    const more = /^[[O]/.test(text.slice(2)) ? sequenceLength(text.slice(1)) : 0;
    return more === null ? null : KEYS.test(text.slice(2, more + 1)) ? more + 1 : 1;
  }
  if (BEGIN.test(second)) return 1;
  if (second === '[') return controlLength(text);
  if (second === 'O') return wholeLength(text, /^.O[\d;]*/s, /[ -~]/);
  return (text.codePointAt(1) ?? 0) > 0xffff ? 3 : 2;
}

function controlLength(text: string): number | null {
  // Clicks in the oldest forms have characters of any kind, but for those of control.
  const clicks = CLICKS[text[2] ?? ''];
  if (clicks !== undefined) return wholeClick(text, 3 + clicks);
  // rxvt has keys with Shift in a form that is no whole sequence by the standard.
  if (/^.\[[1-8]\$/s.test(text)) return 4;
  return wholeLength(text, /^.\[\[?[0-?]*[ -/]*/s, /[@-~]/);
}

/** Terminals tell places beyond their bytes by fewer characters, and something else follows. */
function wholeClick(text: string, most: number): number | null {
  /* oxlint-disable-next-line no-control-regex */
  const early = text.slice(3, most).search(/[\u0000-\u001f]/);
  if (early >= 0) return 3 + early;
  return text.length < most ? null : most;
}

/** Adds the last character, if it can be one: another one belongs to what follows. */
function wholeLength(text: string, body: RegExp, last: RegExp): number | null {
  const [{ length } = ''] = body.exec(text) ?? [];
  const next = text[length];
  return next === undefined ? null : length + (last.test(next) ? 1 : 0);
}

/** Returns what a whole sequence means; `body` follows its Escape. */
function partsOf(body: string): readonly TypedPart[] {
  if (body === '') return [{ kind: 'escape' }];
  const single = body.startsWith(ESCAPE) ? body.slice(1) : body;
  if (KEYS.test(single) || !/^[[O]/.test(single)) return [{ kind: 'keys', text: ESCAPE + body }];
  const [, column] = CURSOR.exec(body) ?? [];
  if (column !== undefined) return [{ kind: 'cursor', column: Number(column) }];
  const numbered = NUMBERED.exec(body);
  if (numbered === null) return [];
  const [, code, modifiers, event, otherModifiers, otherCode] = numbered;
  // 3 tells that the key was let go.
  return event === '3' ? [] : keyOf(Number(code ?? otherCode), Number(modifiers || otherModifiers || 1) - 1);
}

const [SHIFT, ALT, CTRL] = [1, 2, 4];

function keyOf(code: number, modifiers: number): readonly TypedPart[] {
  const active = modifiers & (SHIFT | ALT | CTRL);
  if (code === 27) return [{ kind: 'escape' }];
  if (code === 13 && active !== 0) return [{ kind: 'line break' }];
  if (code === 9 && active === SHIFT) return [{ kind: 'keys', text: '\u001b[Z' }];
  if (active === 0 && [9, 13, 127].includes(code)) return [{ kind: 'keys', text: String.fromCharCode(code) }];
  const isLetter = code >= 97 && code <= 122;
  return active === CTRL && isLetter ? [{ kind: 'keys', text: String.fromCharCode(code & 31) }] : [];
}

/** Characters at the end of `text` that may be the beginning of `mark`. */
function measureHeld(text: string, mark: string): number {
  for (let length = mark.length - 1; length > 0; length -= 1) if (text.endsWith(mark.slice(0, length))) return length;
  return 0;
}
