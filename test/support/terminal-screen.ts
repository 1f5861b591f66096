// What a terminal shows of what is written to it: as much of one as we use, cursor up, right and to
// a column, erasing, and styles passed over.

import { eastAsianWidth } from 'get-east-asian-width';

/* oxlint-disable-next-line no-control-regex */
const TOKEN = /\u001b\[(\??)([\d;]*)([A-Za-z])|\r|\n|[^\u001b\r\n]/gu;

/** As most do: each code point by itself. */
function cellsOf(character: string, ambiguousAsWide: boolean): number {
  if (/^[\p{Mn}\p{Me}\p{Cf}]$/u.test(character)) return 0;
  return /^\p{Emoji_Presentation}$/u.test(character)
    ? 2
    : eastAsianWidth(character.codePointAt(0) ?? 0, { ambiguousAsWide });
}

/** `ambiguousAsWide`: as a terminal that is set up for East Asian text. */
export function terminalScreen(columns: number, { ambiguousAsWide = false } = {}) {
  const rows: string[][] = [[]];
  let [row, column, count] = [0, 0, 0];
  let wraps = true;
  const put = (character: string): void => {
    const width = cellsOf(character, ambiguousAsWide);
    if (width > 0 && column + width > columns) [row, column] = wraps ? [row + 1, 0] : [row, columns - width];
    rows[row] ??= [];
    const line = rows[row] ?? [];
    while (line.length < column) line.push(' ');
    if (width === 0) line[Math.max(0, column - 1)] += character;
    else line[column] = character;
    if (width === 2) line[column + 1] = '';
    column += width;
  };
  const act = (final: string, n: number): void => {
    if (final === 'A') row = Math.max(0, row - n);
    if (final === 'C') column += n;
    if (final === 'G') column = n - 1;
    if (final === 'K') rows[row]?.splice(column);
    if (final !== 'J') return;
    rows[row]?.splice(column);
    rows.splice(row + 1);
  };
  const write = (text: string): void => {
    count += 1;
    for (const [whole, mode, n = '', final = ''] of text.matchAll(TOKEN)) {
      if (mode === '?' && n === '7') wraps = final === 'h';
      if (final !== '') act(mode === '?' ? '' : final, n === '' ? 1 : Number(n));
      else if (whole === '\r') column = 0;
      else if (whole === '\n') {
        [row, column] = [row + 1, 0];
        rows[row] ??= [];
      } else put(whole);
    }
  };
  return {
    write,
    lines: () => rows.map((line) => line.join('').trimEnd()),
    cursor: () => ({ row, column }),
    writes: () => count,
  };
}
