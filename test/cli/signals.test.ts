import { EventEmitter } from 'node:events';
import { expect, test, vi } from 'vitest';
import { listenForSignals } from '../../cli/signals.ts';

function listening() {
  const source = new EventEmitter();
  const kill = vi.fn();
  const signals = listenForSignals(source as unknown as Pick<NodeJS.Process, 'on' | 'off'>, kill);
  const send = (...names: string[]): void => names.forEach((name) => void source.emit(name, name));
  const state = () => [signals.interrupt.aborted, signals.terminate.aborted, signals.abandon.aborted];
  return { source, kill, signals, send, state };
}

test('tells the first Ctrl-C, the second, and ends the process on the third', () => {
  const { kill, send, state, signals } = listening();
  send('SIGINT');
  expect(state()).toEqual([true, false, false]);
  send('SIGINT');
  expect(state()).toEqual([true, false, true]);
  expect(kill).not.toHaveBeenCalled();
  send('SIGINT');
  expect(kill).toHaveBeenCalledExactlyOnceWith(130);
  expect(signals.status()).toBe(130);
});

test.each([
  ['SIGTERM', 143],
  ['SIGHUP', 129],
])('takes %s as a wish to go in good order, and a second one as an order', (name, status) => {
  const { kill, send, state, signals } = listening();
  send(name);
  expect(state()).toEqual([false, true, false]);
  expect(signals.status()).toBe(status);
  send(name);
  expect(kill).toHaveBeenCalledExactlyOnceWith(status);
});

test('leaves the process as it found it', () => {
  const { source, signals } = listening();
  signals.end();
  expect(source.eventNames()).toEqual([]);
});
