// Checks that what a program is asked about a call waits for the message that has the call, and
// waits for nothing that does not come.
import { setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { CallOrder, MOST_WAIT_MS } from '../../../client/agent-sdk/program-hooks.ts';
import type { SDKMessage } from '../../../client/agent-sdk/shapes/messages.ts';
import { createMailbox } from '../../../client/async.ts';

const signal = new AbortController().signal;
const calling = (...ids: string[]) =>
  ({ type: 'assistant', message: { content: ids.map((id) => ({ type: 'tool_use', id })) } }) as unknown as SDKMessage;
const init = { type: 'system', subtype: 'init' } as unknown as SDKMessage;

function watched(order = new CallOrder()) {
  const box = createMailbox<SDKMessage>();
  const messages = order.watch(box, (session) => session === 's-1');
  const heard: string[] = [];
  const wait = (id: string, session = 's-1') =>
    order.awaitCall(session, id, signal).then(() => void heard.push(`asked about ${id}`));
  return { order, box, messages, heard, wait };
}

/** Lets what is ready run. */
async function settle(): Promise<void> {
  for (let at = 0; at < 10; at += 1) await turn();
}

test('a hook waits for the message with its call, and the program works on that one first (Q7)', async () => {
  const { box, messages, heard, wait } = watched();
  const reading = (async () => {
    for await (const message of messages) heard.push(message.type);
  })();
  const asked = wait('toolu_1');
  box.push(init);
  await settle();
  expect(heard).toEqual(['system']);
  box.push(calling('toolu_0', 'toolu_1'));
  await asked;
  expect(heard).toEqual(['system', 'assistant', 'asked about toolu_1']);
  await wait('toolu_0');
  box.close();
  await reading;
});

test('a hook waits no longer for a program that is busy with an earlier message, which may wait for it (Q7)', async () => {
  const { box, messages, heard, wait } = watched();
  const first = messages.next();
  const asked = wait('toolu_1');
  box.push(init);
  await first;
  await asked;
  expect(heard).toEqual(['asked about toolu_1']);
  await messages.return(undefined);
});

test('a hook waits for no message of a session that is not read, nor of one that is told to nobody (Q7)', async () => {
  const { order, box, messages, heard, wait } = watched();
  await wait('before');
  const next = messages.next();
  await wait('of an agent', 's-1.agent-1');
  order.pass(['passed']);
  await wait('passed');
  const late = wait('late');
  box.close();
  await Promise.all([next, late]);
  expect(heard).toEqual(['before', 'of an agent', 'passed', 'late'].map((id) => `asked about ${id}`));
});

test('a message that never comes holds a hook for ten seconds, and a stop ends the wait at once (Q7)', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { order, box, messages, heard, wait } = watched();
  const next = messages.next();
  const stop = new AbortController();
  const stopped = order.awaitCall('s-1', 'stopped', stop.signal);
  stop.abort();
  await stopped;
  const asked = wait('lost');
  await settle();
  expect(heard).toEqual([]);
  vi.advanceTimersByTime(MOST_WAIT_MS);
  order.pass(['another']);
  await asked;
  box.close();
  await next;
});
