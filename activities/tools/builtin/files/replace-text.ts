// Exact replacement in bytes: invalid UTF-8, byte order marks and mixed line ends pass through untouched. Pure.

export type Replacement =
  /** `lines` are where, one for each replacement, from 1. */
  | { readonly kind: 'replaced'; readonly bytes: Buffer; readonly lines: readonly number[] }
  | { readonly kind: 'same' }
  | { readonly kind: 'absent' }
  | { readonly kind: 'too_many' }
  | { readonly kind: 'ambiguous'; readonly lines: readonly number[] };

/** More than an edit ever means, and more than memory likes. */
const MAX_PLACES = 100_000;

/** A model writes LF; in a file of CRLF lines both texts are taken to mean CRLF. */
export function replaceText(bytes: Buffer, before: string, after: string, all: boolean): Replacement {
  if (before === after) return { kind: 'same' };
  const asIs = attempt(bytes, before, isWhollyCrlf(bytes) ? toCrlf(after) : after, all);
  return asIs.kind === 'absent' && before.includes('\n') ? attempt(bytes, toCrlf(before), toCrlf(after), all) : asIs;
}

function attempt(bytes: Buffer, before: string, after: string, all: boolean): Replacement {
  const wanted = Buffer.from(before);
  const places = findAll(bytes, wanted);
  if (places.length === 0) return { kind: 'absent' };
  if (places.length > MAX_PLACES) return { kind: 'too_many' };
  const lines = lineNumbers(bytes, places);
  if (places.length > 1 && !all) return { kind: 'ambiguous', lines };
  const put = Buffer.from(after);
  const parts: Buffer[] = [];
  let from = 0;
  for (const place of places) {
    parts.push(bytes.subarray(from, place), put);
    from = place + wanted.length;
  }
  return { kind: 'replaced', bytes: Buffer.concat([...parts, bytes.subarray(from)]), lines };
}

function findAll(bytes: Buffer, wanted: Buffer): number[] {
  const places: number[] = [];
  for (let at = bytes.indexOf(wanted); at !== -1; at = bytes.indexOf(wanted, at + wanted.length)) {
    places.push(at);
    if (places.length > MAX_PLACES) break;
  }
  return places;
}

function lineNumbers(bytes: Buffer, places: readonly number[]): number[] {
  let line = 1;
  let from = 0;
  return places.map((place) => {
    for (let at = bytes.indexOf(10, from); at !== -1 && at < place; at = bytes.indexOf(10, from)) {
      line++;
      from = at + 1;
    }
    return line;
  });
}

function toCrlf(text: string): string {
  return text.replaceAll(/\r?\n/g, '\r\n');
}

function isWhollyCrlf(bytes: Buffer): boolean {
  let at = bytes.indexOf(10);
  if (at === -1) return false;
  for (; at !== -1; at = bytes.indexOf(10, at + 1)) if (bytes[at - 1] !== 13) return false;
  return true;
}
