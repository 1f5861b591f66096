// Rows in which a person types, on a terminal that is a text; keys are pressed by hand.
import { afterEach, expect, test, vi } from 'vitest';
import { BottomArea } from '../../../cli/terminal/bottom-area.ts';
import type { Hands } from '../../../cli/typing/input.ts';
import type { KeyPress } from '../../../cli/typing/line-editor.ts';
import type { Menu } from '../../../cli/typing/picker.ts';
import { openTypedRows } from '../../../cli/typing/typed-rows.ts';
import { terminalScreen } from '../../support/terminal-screen.ts';
import { until } from '../../support/until.ts';

function terminal(edited: string | null = null) {
  const screen = terminalScreen(60);
  const area = new BottomArea({ write: screen.write, columns: () => 60, rows: () => 20 });
  const [sent, said]: [string[], string[]] = [[], []];
  let onKey: ((typed: string | undefined, key: KeyPress) => void) | null = null;
  const hands: Hands = {
    submit: (text, now) => void sent.push(`${now ? 'now ' : ''}${text}`),
    interrupt: () => void sent.push('interrupt'),
    leave: () => void sent.push('leave'),
    escape: () => void sent.push('escape'),
  };
  const keyboard = { start: (on: NonNullable<typeof onKey>) => void (onKey = on), stop: () => void (onKey = null) };
  const place = {
    area,
    keyboard,
    columns: () => 60,
    style: (text: string) => text,
    dim: (text: string) => text,
    say: (line: string) => void said.push(line),
    runEditor: () => Promise.resolve(edited),
    suspend: () => Promise.resolve(),
  };
  const press = (key: KeyPress, typed?: string): void => onKey?.(typed, key);
  const type = (text: string): void => Array.from(text).forEach((one) => press({ name: one }, one));
  return { ...screen, sent, said, press, type, input: openTypedRows(place, hands), takesKeys: () => onKey !== null };
}

const enter: KeyPress = { name: 'return' };
const never = new AbortController().signal;

test('a text goes with Enter or Ctrl-S, its row is empty then, and nothing is sent of nothing (O18)', () => {
  const { type, press, sent, lines } = terminal();
  type('use make');
  expect(lines()).toEqual(['› use make']);
  press(enter);
  press(enter);
  type('stop');
  press({ name: 's', ctrl: true });
  expect([sent, lines()]).toEqual([['use make', 'now stop'], ['›']]);
});

test('what was typed before there was a row is sent with the Enter that the terminal told of then (O18)', () => {
  const { type, press, sent } = terminal();
  type('early');
  press({ name: 'enter' });
  expect(sent).toEqual(['early']);
});

test('a question waits until nothing is being typed, so that no letter of a message answers it (O18)', async () => {
  const { type, press, sent, said, lines, input } = terminal();
  type('yes, and');
  const answer = input.ask('bash? ', never);
  expect(lines()).toEqual([expect.stringContaining('(a question waits until this line is sent'), '› yes, and']);
  type(' test');
  press(enter);
  expect(sent).toEqual(['yes, and test']);
  await until(() => lines()[0] === 'bash?');
  type('n no');
  press(enter);
  expect([await answer, said, lines()]).toEqual(['n no', ['bash? n no'], ['›']]);
});

test('a question that is withdrawn gives the row back, asked or not; Ctrl-D leaves and answers nothing (O18)', async () => {
  const { press, sent, lines, input } = terminal();
  const [first, second] = [new AbortController(), new AbortController()];
  const asked = input.ask('bash? ', first.signal);
  const queued = input.ask('edit? ', second.signal);
  await until(() => lines()[0] === 'bash?');
  second.abort();
  first.abort();
  expect([await asked, await queued, lines()]).toEqual([null, null, ['›']]);
  const last = input.ask('bash? ', never);
  await until(() => lines()[0] === 'bash?');
  press({ name: 'd', ctrl: true });
  expect(sent).toEqual(['leave']);
  input.close();
  expect(await last).toBeNull();
});

test('the person’s editor has the terminal for itself, and what it leaves is typed (O18)', async () => {
  const { type, press, lines, takesKeys, input } = terminal('a longer\ntext\n');
  type('a');
  press({ name: 'g', ctrl: true });
  expect([takesKeys(), lines()]).toEqual([false, ['']]);
  await until(() => takesKeys());
  await until(() => lines().length === 2);
  expect(lines()).toEqual(['› a longer', '  text']);
  expect([input.close(), takesKeys(), lines()]).toEqual(['a longer\ntext', false, ['']]);
});

test('a suggestion stands where nothing is typed: Tab writes it, Enter alone sends nothing of it (L56)', () => {
  const { type, press, sent, lines, input } = terminal();
  input.suggest?.('Run the tests too.');
  expect(lines()).toEqual(['› Run the tests too.  (Tab)']);
  press(enter);
  type('x');
  press({ name: 'tab' });
  expect([sent, lines()]).toEqual([[], ['› x']]);
  press({ name: 'backspace' });
  press({ name: 'tab' });
  expect([sent, lines()]).toEqual([[], ['› Run the tests too.']]);
  press(enter);
  input.suggest?.(null);
  press({ name: 'tab' });
  expect([sent, lines()]).toEqual([['Run the tests too.'], ['›']]);
});

test('a suggestion that is wider than the terminal is cut, and no question is answered by it (L56)', async () => {
  const { press, lines, input } = terminal();
  input.suggest?.(`${'word '.repeat(30)}end`);
  expect(lines()).toHaveLength(1);
  expect(lines()[0]).toMatch(/^› word .*…$/);
  const answer = input.ask('bash? ', never);
  await until(() => lines()[0] === 'bash?');
  press({ name: 'tab' });
  press(enter);
  expect(await answer).toBe('');
});

test('Esc in a question that a line answers gives the answer named for it, and interrupts nothing (O18)', async () => {
  const { press, type, sent, said, lines, input } = terminal();
  const answer = input.ask('why not? ', never, 'back');
  await until(() => lines()[0] === 'why not?');
  type('too');
  press({ name: 'escape' });
  expect([await answer, sent, said, lines()]).toEqual(['back', [], [], ['›']]);
  void input.ask('bash? ', never);
  await until(() => lines()[0] === 'bash?');
  press({ name: 'escape' });
  expect(sent).toEqual(['escape']);
});

afterEach(() => vi.useRealTimers());

const menuOf = (heading: string): Menu => ({
  heading,
  options: [
    { answer: 'y', words: 'yes', keys: ['y'] },
    { answer: 'n', words: 'no', keys: ['n'] },
  ],
  escape: 'n',
});

test('a key typed for a question that was decided elsewhere does not reach the one in its place (L55)', async () => {
  vi.useFakeTimers();
  const { type, press, sent, lines, input } = terminal();
  const first = new AbortController();
  const decidedElsewhere = input.pick?.(menuOf('Allow one?'), first.signal);
  const second = input.pick?.(menuOf('Allow two?'), never);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(lines().slice(0, 2)).toEqual([' Allow one?', ' ▸ 1 yes']);
  first.abort();
  expect([await decidedElsewhere, lines().slice(0, 2)]).toEqual([null, [' Allow two?', '   1 yes']]);
  await vi.advanceTimersByTimeAsync(900);
  type('y');
  press(enter);
  press({ name: 'escape' });
  await vi.advanceTimersByTimeAsync(200);
  expect([lines().slice(0, 2), sent]).toEqual([[' Allow two?', ' ▸ 1 yes'], []]);
  type('n');
  expect([await second, lines()]).toEqual(['n', ['›']]);
});

test('an Escape for a question that was decided elsewhere does not stop the run (L55)', async () => {
  vi.useFakeTimers();
  const { press, sent, input } = terminal();
  const gone = new AbortController();
  void input.pick?.(menuOf('Allow one?'), gone.signal);
  await vi.advanceTimersByTimeAsync(2_000);
  gone.abort();
  press({ name: 'escape' });
  expect(sent).toEqual([]);
  await vi.advanceTimersByTimeAsync(1_000);
  press({ name: 'escape' });
  expect(sent).toEqual(['escape']);
});

test('a letter that comes as a question appears begins a message, and the question waits for it (L55)', async () => {
  vi.useFakeTimers();
  const { type, press, sent, lines, input } = terminal();
  const answer = input.pick?.(menuOf('Allow one?'), never);
  expect(lines()[0]).toBe(' Allow one?');
  type('yes');
  expect(lines().at(-1)).toBe('› yes');
  press(enter);
  await vi.advanceTimersByTimeAsync(2_000);
  type('y');
  expect([await answer, sent]).toEqual(['y', ['yes']]);
});

test('letters behind one that means nothing answer no question, and a paste says so, until it takes keys again (L55)', async () => {
  vi.useFakeTimers();
  const { type, press, said, lines, input } = terminal();
  const answer = input.pick?.(menuOf('Allow one?'), never);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(lines()[1]).toContain('▸');
  press({ name: 'paste' }, 'y');
  expect(said).toEqual(['not taken: pasted text does not answer a question']);
  type(' xyz');
  expect(lines()[1]).not.toContain('▸');
  await vi.advanceTimersByTimeAsync(299);
  type('y');
  await vi.advanceTimersByTimeAsync(299);
  expect(lines()[1]).not.toContain('▸');
  await vi.advanceTimersByTimeAsync(2);
  expect(lines()[1]).toContain('▸');
  type('y');
  expect(await answer).toBe('y');
});

test('a picker finds by what is typed, shows what its item is about, and Esc leaves it (O20)', async () => {
  const { type, press, lines, input } = terminal();
  const items = ['payment', 'report', 'pages'].map((label) => ({ answer: label, label, about: '3 h' }));
  const preview = (answer: string): Promise<readonly string[]> => Promise.resolve([`about ${answer}`]);
  const picker = { heading: 'Which?', verb: 'opens', items, preview };
  const picked = input.choose?.(picker, never);
  type('pa');
  await until(() => lines().at(-1) === '   about payment');
  expect(lines().map((line) => line.replace(/ +/g, ' '))).toEqual([
    ' Which? ↑↓ move ↵ opens Esc leaves',
    ' search: pa',
    ' ▸ payment 3 h',
    ' pages 3 h',
    '',
    ' about payment',
  ]);
  press({ name: 'down' });
  await until(() => lines().at(-1) === '   about pages');
  press(enter);
  expect(await picked).toBe('pages');
  const again = input.choose?.(picker, never);
  press({ name: 'escape' });
  expect([await again, lines()]).toEqual([null, ['›']]);
});
