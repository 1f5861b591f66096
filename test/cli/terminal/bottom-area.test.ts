// The rows at the bottom of a terminal, as a terminal shows them.
import { expect, onTestFinished, test } from 'vitest';
import { displayWidth, setAmbiguousWide, truncateToWidth } from '../../../client/render/width.ts';
import { ambiguousWidth } from '../../../cli/cli.ts';
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

test('rows that the terminal draws wider than reckoned are drawn again in their places (O18)', () => {
  const shown = terminalScreen(40, { ambiguousAsWide: true });
  const area = new BottomArea({ write: shown.write, columns: () => 40, rows: () => 24 });
  const rows = Array.from({ length: 22 }, (_, at) => `${at} ${'─'.repeat(36)}`);
  for (let tick = 0; tick < 15; tick += 1) {
    area.show('said', rows);
    area.show('status', [`asks, ${tick} s`]);
  }
  area.above('done\n', shown.write);
  expect(shown.lines()).toHaveLength(24);
  expect(shown.lines()[0]).toBe('done');
  expect(shown.lines().at(-1)).toBe('asks, 14 s');
});

test('a query takes a row that is empty again, and rows are laid out by its answer (O18)', () => {
  const { area, print, lines, write } = terminal();
  onTestFinished(() => setAmbiguousWide(false));
  print('one\n');
  area.show('status', ['─'.repeat(60)]);
  expect(lines()).toEqual(['one', `${'─'.repeat(38)}…`]);
  const width = ambiguousWidth({});
  area.query(width?.query ?? '');
  expect(lines()).toEqual(['one', `${'─'.repeat(38)}…`]);
  expect(width?.answer(3)).toBe(true);
  area.resize();
  expect(lines()).toEqual(['one', `${'─'.repeat(18)}…`]);
  write('two');
  expect(width?.answer(3)).toBe(false);
});

test('the width of ambiguous characters is said by a variable, and nothing is asked then (O18)', () => {
  onTestFinished(() => setAmbiguousWide(false));
  expect(ambiguousWidth({ PERDURE_AMBIGUOUS_WIDTH: '2' })).toBeNull();
  expect(displayWidth('…─a')).toBe(5);
  expect(truncateToWidth('──────', 6)).toBe('──…');
  expect(ambiguousWidth({ PERDURE_AMBIGUOUS_WIDTH: '1' })).toBeNull();
  expect(displayWidth('…─a')).toBe(3);
  expect(() => ambiguousWidth({ PERDURE_AMBIGUOUS_WIDTH: 'wide' })).toThrow('set it to 1 or 2');
});
