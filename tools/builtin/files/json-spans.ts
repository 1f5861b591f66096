// Finds where values stand in a JSON text, so that one of them can be replaced and all the rest
// stays as it was written. For texts that JSON.parse takes.

/** Where a value begins, and where it has ended. */
export type Span = { readonly start: number; readonly end: number };

const BLANK = /[\s,:]/;

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (at < text.length && BLANK.test(text[at] as string)) at += 1;
  return at;
}

function skipString(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

function skipValue(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    const now = text[at] as string;
    if (now === '"') at = skipString(text, at) - 1;
    else if (now === '{' || now === '[') depth += 1;
    else if (now === '}' || now === ']') depth -= 1;
    // A number or a word ends before what follows it.
    else if (depth === 0 && !BLANK.test(text[at + 1] ?? ' ') && !/[}\]]/.test(text[at + 1] ?? '')) continue;
    if (depth === 0) return at + 1;
  }
  return text.length;
}

/** Lists the elements of the list, or keys and values of the object in turn, that stand there. */
function listInner(text: string, { start, end }: Span): readonly Span[] {
  const found: Span[] = [];
  for (let at = skipBlanks(text, start + 1); at < end - 1; at = skipBlanks(text, at)) {
    const after = skipValue(text, at);
    found.push({ start: at, end: after });
    at = after;
  }
  return found;
}

export const spanOfAll = (text: string): Span => ({ start: skipBlanks(text, 0), end: text.trimEnd().length });

export function listElements(text: string, span: Span): readonly Span[] {
  return text[span.start] === '[' ? listInner(text, span) : [];
}

/** Finds the value of a key; of a key that is there twice, the last, as JSON.parse does. */
export function findMember(text: string, span: Span, key: string): Span | undefined {
  if (text[span.start] !== '{') return undefined;
  const inner = listInner(text, span);
  const at = inner.findLastIndex((one, index) => index % 2 === 0 && JSON.parse(text.slice(one.start, one.end)) === key);
  return at === -1 ? undefined : inner[at + 1];
}
