// The rows at the bottom of a terminal, as a terminal shows them.
import { expect, test } from 'vitest';
import { BottomArea } from '../../../cli/terminal/bottom-area.ts';
import { terminalScreen } from '../../support/terminal-screen.ts';

function terminal(columns = 40, rows = 24) {
  const shown = terminalScreen(columns);
  const size = { columns, rows };
  const area = new BottomArea({ write: shown.write, columns: () => size.columns, rows: () => size.rows });
  return { area, size, print: (text: string) => area.above(text, shown.write), ...shown };
}

test('the rows stay below what is written, in their order, and leave nothing behind (O18)', () => {
  const { area, print, lines } = terminal();
  area.show('input', ['› he'], { row: 0, column: 4 });
  area.show('status', ['asks']);
  print('one\n');
  expect(lines()).toEqual(['one', 'asks', '› he']);
  area.show('said', ['It is']);
  area.show('status', ['the model writes']);
  print('two\n');
  expect(lines()).toEqual(['one', 'two', 'It is', 'the model writes', '› he']);
  for (const part of ['said', 'status', 'input'] as const) area.show(part, []);
  expect(lines()).toEqual(['one', 'two', '']);
});

test('the cursor is where the person types, whatever is drawn above (O18)', () => {
  const { area, print, cursor } = terminal();
  area.show('status', ['asks']);
  area.show('input', ['› hello', '  you'], { row: 0, column: 3 });
  print('one\n');
  expect(cursor()).toEqual({ row: 2, column: 3 });
  area.show('status', []);
  expect(cursor()).toEqual({ row: 1, column: 3 });
});

test('what is complete and what is not change at once: nothing is drawn in between (O18)', () => {
  const { area, print, lines, writes } = terminal();
  area.show('said', ['half']);
  const before = writes();
  area.together(() => {
    area.show('said', ['rest']);
    print('half a line\n');
  });
  expect(lines()).toEqual(['half a line', 'rest']);
  expect(writes() - before).toBe(3);
});

test('text that is not at the start of a line is never drawn over (O18)', () => {
  const { area, print, lines } = terminal();
  area.show('status', ['asks']);
  print('Hel');
  area.show('status', ['asks, 1 s']);
  print('lo\n');
  expect(lines()).toEqual(['Hello', 'asks, 1 s']);
});

test('while another program has the terminal nothing is written; then it comes, in its order (O18)', () => {
  const { area, print, lines } = terminal();
  area.show('status', ['asks']);
  const release = area.hold();
  print('one\n');
  print('two\n');
  expect(lines()).toEqual(['']);
  release();
  release();
  expect(lines()).toEqual(['one', 'two', 'asks']);
});

test('a row is cut to the width with its colours, more rows than fit show their end, a narrow terminal has none (O18)', () => {
  const wide = terminal(20, 4);
  wide.area.show('status', ['\u001b[2m0123456789012345678901234\u001b[22m']);
  expect(wide.lines()).toEqual(['012345678901234567…']);
  wide.area.show('said', ['a', 'b', 'c', 'd']);
  expect(wide.lines()).toEqual(['c', 'd', '012345678901234567…']);
  const narrow = terminal(10);
  narrow.area.show('status', ['asks']);
  expect(narrow.lines()).toEqual(['']);
});
