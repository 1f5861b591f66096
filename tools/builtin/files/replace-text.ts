// Replaces exact text in bytes: invalid UTF-8, byte order marks and mixed line ends pass through
// untouched. Pure, and each step takes time in proportion to the file, whatever the wanted text:
// both texts come from a model.

export type Replacement =
  /** `lines` has the line of each replacement, from 1. */
  | { readonly kind: 'replaced'; readonly bytes: Buffer; readonly lines: readonly number[] }
  | { readonly kind: 'same' }
  | { readonly kind: 'absent' }
  | { readonly kind: 'too_many' }
  | { readonly kind: 'too_large' }
  | { readonly kind: 'ambiguous'; readonly lines: readonly number[] }
  /** The match stands where the second half of a character may be. */
  | { readonly kind: 'half'; readonly lines: readonly number[] };

/** More than an edit ever means, and more than memory likes. */
const MAX_PLACES = 100_000;

type ReplaceOptions = {
  readonly all: boolean;
  /** The most bytes of the result. */
  readonly most: number;
  /**
   * The encoding of the bytes is unknown: a character may be a byte above ASCII followed by one
   * that ASCII has, too.
   */
  readonly unknown?: boolean;
};

/** Replaces text. A model writes LF; in a file of CRLF lines both texts are taken to mean CRLF. */
export function replaceText(bytes: Buffer, before: string, after: string, options: ReplaceOptions): Replacement {
  if (before === after) return { kind: 'same' };
  const asIs = replaceExact(bytes, before, isWhollyCrlf(bytes) ? toCrlf(after) : after, options);
  return asIs.kind === 'absent' && before.includes('\n')
    ? replaceExact(bytes, toCrlf(before), toCrlf(after), options)
    : asIs;
}

function replaceExact(
  bytes: Buffer,
  before: string,
  after: string,
  { all, most, unknown = false }: ReplaceOptions,
): Replacement {
  const wanted = Buffer.from(before);
  const places = findAll(bytes, wanted);
  if (places.length === 0) return { kind: 'absent' };
  if (places.length > MAX_PLACES) return { kind: 'too_many' };
  const lines = countLineNumbers(bytes, places);
  if (places.length > 1 && !all) return { kind: 'ambiguous', lines };
  if (unknown && places.some((place) => mayBeHalf(bytes, place))) return { kind: 'half', lines };
  const put = Buffer.from(after);
  if (bytes.length + places.length * (put.length - wanted.length) > most) return { kind: 'too_large' };
  const parts: Buffer[] = [];
  let from = 0;
  for (const place of places) {
    parts.push(bytes.subarray(from, place), put);
    from = place + wanted.length;
  }
  return { kind: 'replaced', bytes: Buffer.concat([...parts, bytes.subarray(from)]), lines };
}

/**
 * Finds where `wanted` begins, from left to right and not overlapping; stops when there are too
 * many. After Knuth, Morris and Pratt: `Buffer.indexOf` compares a long text anew at nearly each
 * byte of a file that looks like it.
 */
function findAll(bytes: Buffer, wanted: Buffer): number[] {
  if (wanted.length > bytes.length) return [];
  const borders = computeBorders(wanted);
  const places: number[] = [];
  let matched = 0;
  for (let at = 0; at < bytes.length && places.length <= MAX_PLACES; at++) {
    while (matched > 0 && wanted[matched] !== bytes[at]) matched = borders[matched - 1] as number;
    if (wanted[matched] === bytes[at]) matched++;
    if (matched < wanted.length) continue;
    places.push(at + 1 - matched);
    matched = 0;
  }
  return places;
}

/**
 * Computes for each beginning of the text the length of the longest shorter beginning that it ends
 * with.
 */
export function computeBorders(text: Buffer | string): Int32Array {
  const borders = new Int32Array(text.length);
  let length = 0;
  for (let at = 1; at < text.length; at++) {
    while (length > 0 && text[length] !== text[at]) length = borders[length - 1] as number;
    if (text[length] === text[at]) length++;
    borders[at] = length;
  }
  return borders;
}

/**
 * Tells whether a byte may be the second half of a character, as in Shift-JIS, GBK, Big5 and GB
 * 18030, whose second and fourth bytes are digits, letters and some marks.
 */
function mayBeHalf(bytes: Buffer, at: number): boolean {
  const [before = 0, byte = 0] = [bytes[at - 1], bytes[at]];
  return before >= 0x80 && ((byte >= 0x30 && byte <= 0x39) || (byte >= 0x40 && byte <= 0x7e));
}

function countLineNumbers(bytes: Buffer, places: readonly number[]): number[] {
  let line = 1;
  let at = 0;
  return places.map((place) => {
    for (; at < place; at++) if (bytes[at] === 10) line++;
    return line;
  });
}

function toCrlf(text: string): string {
  return text.replaceAll(/\r?\n/g, '\r\n');
}

export function isWhollyCrlf(bytes: Buffer): boolean {
  let lines = 0;
  for (let at = 0; at < bytes.length; at++) {
    if (bytes[at] !== 10) continue;
    if (bytes[at - 1] !== 13) return false;
    lines++;
  }
  return lines > 0;
}
