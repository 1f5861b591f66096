import { expect, onTestFinished, test, vi } from 'vitest';
import type { MessageId } from '../../../workflows/contract/ids.ts';
import type { UserMessage } from '../../../workflows/contract/session.ts';
import { Inbox } from '../../../workflows/session/inbox.ts';

const message = (id: string, text: string): UserMessage => ({ id: id as MessageId, body: { kind: 'text', text } });

test('measures each message once, however often it is asked whether a handover can carry them (L4 L61)', () => {
  const measured = vi.spyOn(JSON, 'stringify');
  onTestFinished(() => measured.mockRestore());
  const inbox = new Inbox({ queue: [], seen: [] });
  for (let n = 0; n < 100; n += 1) {
    inbox.push(message(`m-${n}`, 'Hi.'));
    expect(inbox.isCarriable).toBe(true);
  }
  expect(measured).toHaveBeenCalledTimes(100);
});

test('a handover can carry what waits once enough of it was taken (L4)', () => {
  const inbox = new Inbox({ queue: [message('m-0', 'Hi.')], seen: [] });
  for (const id of ['m-1', 'm-2', 'm-3']) inbox.push(message(id, 'x'.repeat(50_000)));
  expect(inbox.isCarriable).toBe(false);
  inbox.remove(inbox.next());
  expect(inbox.isCarriable).toBe(true);
  inbox.push(message('m-4', 'x'.repeat(60_000)));
  expect(inbox.isCarriable).toBe(false);
  inbox.takeAll();
  expect(inbox.isCarriable).toBe(true);
  expect(inbox.count).toBe(0);
});

test('a message that asks for a compaction goes alone, after those before it (L10)', () => {
  const inbox = new Inbox({ queue: [], seen: [] });
  const ids = (): readonly string[] => inbox.next().map(({ id }) => id);
  for (const each of [
    message('a', 'x'),
    { ...message('b', '/compact'), compact: {} },
    { ...message('c', '/compact'), compact: {} },
    message('d', 'x'),
    message('e', 'x'),
  ])
    inbox.push(each);
  const steps: (readonly string[])[] = [];
  for (; inbox.count > 0; inbox.remove(inbox.next())) steps.push(ids());
  expect(steps).toEqual([['a'], ['b'], ['c'], ['d', 'e']]);
});
