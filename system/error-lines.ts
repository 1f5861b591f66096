// Finds the lines of a long text that look like errors, for places where its middle is left out.
import { toUSVString } from 'node:util';

const ERROR =
  /\b(?:err(?:or)?s?|fail(?:ed|s|ure|ures)?|fatal|panic(?:ked)?|exceptions?|traceback|abort(?:ed)?|denied|undefined reference|segmentation fault|core dumped|not found|no such file|no space left|unable to|cannot|can't|could not|killed)\b|[a-z](?:Error|Exception)\b|[✖✗✘]/i;
/** Matches a count of none, as in a summary. */
const NONE =
  /\b(?:0|no) (?:\w+ )?(?:errors?|failures?|failed|failing|exceptions?)\b|\b(?:errors?|failures?|failed)[:=] ?0\b/gi;
/** Characters that are looked at, and shown, of one line. */
const MOST_OF_LINE = 300;
/** The first errors often are the cause of the others. */
const FIRST_SHARE = 0.7;

export type ErrorLine = { readonly number: number; readonly text: string };

/** Lists lines that look like errors, each text once. The first line of `text` is `from`. */
export function listErrorLines(text: string, from = 1): readonly ErrorLine[] {
  if (!ERROR.test(text)) return [];
  const found = new Map<string, ErrorLine>();
  for (let [number, start] = [from, 0]; start < text.length; number++) {
    const end = text.indexOf('\n', start);
    const line = text.slice(start, end === -1 ? undefined : end).slice(0, MOST_OF_LINE);
    if (isErrorLine(line) && !found.has(line)) found.set(line, { number, text: toUSVString(line.trimEnd()) });
    start = end === -1 ? text.length : end + 1;
  }
  return [...found.values()];
}

/** Chooses of `lines` the first and the last ones that fit into `room` characters, in order. */
export function chooseErrorLines(lines: readonly ErrorLine[], room: number): readonly string[] {
  const numbered = lines.map(({ number, text }) => `${number}: ${text}`);
  const first = takeFitting(numbered, room * FIRST_SHARE);
  const last = takeFitting(numbered.slice(first.length).toReversed(), room * (1 - FIRST_SHARE));
  return [...first, ...last.toReversed()];
}

function takeFitting(lines: readonly string[], room: number): string[] {
  let left = room;
  const end = lines.findIndex((line) => (left -= line.length + 1) < 0);
  return lines.slice(0, end === -1 ? undefined : end);
}

function isErrorLine(line: string): boolean {
  return ERROR.test(line) && ERROR.test(line.replaceAll(NONE, ''));
}
