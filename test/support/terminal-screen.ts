// What a terminal shows of what is written to it: as much of one as we use, cursor up and right, erasing, and styles passed over.

/* oxlint-disable-next-line no-control-regex */
const TOKEN = /\u001b\[(\??)([\d;]*)([A-Za-z])|\r|\n|[^\u001b\r\n]/gu;

export function terminalScreen(columns: number) {
  const rows: string[][] = [[]];
  let [row, column, count] = [0, 0, 0];
  const put = (character: string): void => {
    if (column >= columns) [row, column] = [row + 1, 0];
    rows[row] ??= [];
    const line = rows[row] ?? [];
    while (line.length < column) line.push(' ');
    line[column] = character;
    column += 1;
  };
  const act = (final: string, n: number): void => {
    if (final === 'A') row = Math.max(0, row - n);
    if (final === 'C') column += n;
    if (final === 'K') rows[row]?.splice(column);
    if (final !== 'J') return;
    rows[row]?.splice(column);
    rows.splice(row + 1);
  };
  const write = (text: string): void => {
    count += 1;
    for (const [whole, mode, n = '', final = ''] of text.matchAll(TOKEN)) {
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
