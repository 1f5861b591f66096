// Whole lines from a terminal without colours: answers to questions, and messages. The terminal is
// two streams.
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { readTypedLines } from '../../../cli/typing/typed-lines.ts';
import { until } from '../../support/until.ts';

function terminal() {
  const stdin = new PassThrough();
  const [written, sent, left]: [string[], string[], string[]] = [[], [], []];
  const input = readTypedLines(
    { stdin, write: (text) => written.push(text), style: (text) => text, runEditor: () => Promise.resolve(null) },
    { submit: (text) => void sent.push(text), interrupt: () => undefined, leave: () => void left.push('left') },
  );
  return { stdin, written, sent, left, input };
}

const never = new AbortController().signal;

test('takes the line that follows a question; one that was typed before it answers nothing and is not lost (O18)', async () => {
  const { stdin, input, written, sent } = terminal();
  stdin.write('y\n');
  const answers: (string | null)[] = [];
  void input.ask('sure? ', never).then((line) => answers.push(line));
  await until(() => sent.length > 0);
  expect(answers).toEqual([]);
  while (answers.length === 0) {
    await until.tick();
    const before = sent.length;
    stdin.write('no\n');
    await until(() => answers.length > 0 || sent.length > before);
  }
  expect([answers, written, sent[0]]).toEqual([['no'], ['sure? '], 'y']);
  input.close();
});

test('gives up when the question is withdrawn, and when nothing more comes: that leaves (O18)', async () => {
  const gone = new AbortController();
  const { stdin, input, left } = terminal();
  const first = input.ask('sure? ', gone.signal);
  gone.abort();
  expect(await first).toBeNull();
  expect(await input.ask('sure? ', gone.signal)).toBeNull();
  const last = input.ask('sure? ', never);
  stdin.end();
  expect([await last, left]).toEqual([null, ['left']]);
});

test('lines that answer no question are messages, blank ones are not (O18)', async () => {
  const { stdin, input, sent } = terminal();
  stdin.write('  \nuse make\n');
  await until(() => sent.length > 0);
  expect(sent).toEqual(['use make']);
  input.close();
});

test('a line for a question that was decided elsewhere answers neither the next one nor the model (L55)', async () => {
  const gone = new AbortController();
  const { stdin, input, sent, written } = terminal();
  void input.ask('one? ', gone.signal);
  gone.abort();
  const answers: (string | null)[] = [];
  void input.ask('two? ', never).then((line) => answers.push(line));
  stdin.write('y\n');
  await until(() => written.some((text) => text.includes('not taken: the question before was decided elsewhere')));
  expect([answers, sent]).toEqual([[], []]);
  input.close();
});

test('a pasted block answers no question, and is no message; a line that is typed then does (O18)', async () => {
  const { stdin, input, sent, written } = terminal();
  const answers: (string | null)[] = [];
  void input.ask('sure? ', never).then((line) => answers.push(line));
  while (written.length === 1) {
    await until.tick();
    const before = sent.length;
    stdin.write('y\nrm -rf build\nexit\n');
    await until(() => written.length > 1 || sent.length === before + 3);
  }
  expect([answers, written.slice(1)]).toEqual([[], ['(not taken: pasted text answers no question)\nsure? ']]);
  const messages = [...sent];
  stdin.write('no\n');
  await until(() => answers.length > 0);
  expect([answers, sent]).toEqual([['no'], messages]);
  input.close();
});
