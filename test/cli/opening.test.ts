import { expect, test, vi } from 'vitest';
import { openUnlessTold } from '../../cli/signals.ts';

const signals = () => {
  const [interrupt, terminate] = [new AbortController(), new AbortController()];
  return { told: interrupt, signals: { interrupt: interrupt.signal, terminate: terminate.signal } };
};

test('gives what was opened', async () => {
  const opened = { close: vi.fn(() => Promise.resolve()) };
  expect(await openUnlessTold(signals().signals, Promise.resolve(opened))).toBe(opened);
  expect(opened.close).not.toHaveBeenCalled();
});

test('at a Ctrl-C leaves what is nearly open, and gives nothing', async () => {
  const { told, signals: both } = signals();
  const opened = { close: vi.fn(() => Promise.resolve()) };
  let open = (_opened: typeof opened): void => {};
  const opening = openUnlessTold(both, new Promise<typeof opened>((resolve) => (open = resolve)));
  told.abort();
  open(opened);
  expect(await opening).toBeNull();
  expect(opened.close).toHaveBeenCalledOnce();
});

test('at a Ctrl-C does not wait for what takes long', async () => {
  const { told, signals: both } = signals();
  told.abort();
  expect(await openUnlessTold(both, new Promise<never>(() => undefined))).toBeNull();
});

test('says why it could not be opened, unless nobody waits any more', async () => {
  const { told, signals: both } = signals();
  await expect(openUnlessTold(both, Promise.reject(new Error('no binary')))).rejects.toThrow('no binary');
  let fail = (_error: Error): void => {};
  const opening = openUnlessTold(both, new Promise<never>((_resolve, reject) => (fail = reject)));
  told.abort();
  fail(new Error('no binary'));
  expect(await opening).toBeNull();
});
