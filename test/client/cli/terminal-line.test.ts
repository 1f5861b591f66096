// Asking the person at the terminal. The terminal is two streams.
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { terminalLine } from '../../../client/cli/cli.ts';
import { until } from '../../support/until.ts';

type Terminal = Parameters<typeof terminalLine>[0];

function terminal(isTTY = true) {
  const stdin = Object.assign(new PassThrough(), { isTTY });
  const written: string[] = [];
  const stderr = { isTTY: true, write: (text: string) => written.push(text) };
  return { stdin, written, read: terminalLine({ stdin, stderr } as unknown as Terminal) };
}

const never = new AbortController().signal;

test('asks nobody where there is no terminal', () => {
  expect(terminal(false).read).toBeNull();
});

test('takes the line that follows the question, and none that was typed before it', async () => {
  const { stdin, read, written } = terminal();
  stdin.write('y\n');
  const answers: (string | null)[] = [];
  void read?.('sure? ', never).then((line) => answers.push(line));
  await until(() => stdin.readableLength === 0);
  await until(() => {
    stdin.write('no\n');
    return answers.length > 0;
  });
  expect([answers, written]).toEqual([['no'], ['sure? ']]);
});

test('gives up when the question is withdrawn, and when nothing more comes', async () => {
  const gone = new AbortController();
  const { stdin, read } = terminal();
  const first = read?.('sure? ', gone.signal);
  gone.abort();
  expect(await first).toBeNull();
  expect(await read?.('sure? ', gone.signal)).toBeNull();
  const last = read?.('sure? ', never);
  stdin.end();
  expect(await last).toBeNull();
});
