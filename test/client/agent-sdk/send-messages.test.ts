// Checks how a program's messages reach its session: in order, each under its id, until no more can
// come.
import { expect, test } from 'vitest';
import { type Running, sendMessages } from '../../../client/agent-sdk/send-messages.ts';
import type { SDKUserMessage } from '../../../client/agent-sdk/shapes/messages.ts';
import { gate } from '../../../scripted-model/index.ts';
import { createServerChanges } from '../../../client/agent-sdk/server-changes.ts';

const U2 = '00000000-0000-4000-8000-000000000002';

const user = (content: string, more: Partial<SDKUserMessage> = {}): SDKUserMessage => ({
  type: 'user',
  message: { role: 'user', content },
  parent_tool_use_id: null,
  ...more,
});

function running(options: object = {}) {
  const calls: unknown[][] = [];
  const record =
    (name: string) =>
    (...given: unknown[]) => {
      calls.push([name, ...given]);
      return Promise.resolve();
    };
  const steering: Running['steering'] = {
    changes: {},
    interrupt: () => Promise.resolve(),
    grantMode: null,
    add: null,
    sent: {},
    servers: createServerChanges(),
    stopTask: null,
    rewindFiles: null,
    contextUsage: null,
    closeIfRead: new AbortController(),
  };
  const given = {
    workplace: { session: 's-1', sessions: { start: record('start'), send: record('send') }, workers: undefined },
    program: { messageId: (content: string) => `m-${content}` },
    options,
    runOptions: { cwd: '/w', maxTurns: 3 },
    steering,
    say: () => undefined,
  };
  return { calls, steering, given: given as unknown as Running };
}

async function* streamOf(...messages: readonly (SDKUserMessage | Promise<unknown>)[]): AsyncGenerator<SDKUserMessage> {
  for (const message of messages)
    if (message instanceof Promise) await message;
    else yield message;
}

test('the first message opens the session with its options, later ones bring what was changed since (Q7)', async () => {
  const { calls, steering, given } = running();
  const more = gate();
  const { messages } = sendMessages(
    given,
    streamOf(user('one'), more.hold, user('two', { uuid: U2, priority: 'now' }), user('three')),
  );
  const ids: string[] = [];
  for await (const item of messages) {
    ids.push('id' in item ? item.id : String(item.error));
    if (ids.length === 1) steering.changes = { model: 'other' };
    more.release();
  }
  expect(ids).toEqual(['m-"one"', U2, 'm-"three"']);
  expect(calls).toEqual([
    ['start', 'one', { cwd: '/w', maxTurns: 3, newId: 's-1', messageId: 'm-"one"', workers: undefined }],
    ['send', 's-1', 'two', { messageId: U2, options: { model: 'other' }, now: true }],
    ['send', 's-1', 'three', { messageId: 'm-"three"', options: {} }],
  ]);
});

test('a session that is named takes the options with the first message (Q7 Q9)', async () => {
  const { calls, given } = running({ resume: 's-1' });
  for await (const _ of sendMessages(given, 'one').messages);
  expect(calls).toEqual([
    ['start', 'one', { cwd: '/w', maxTurns: 3, session: 's-1', messageId: 'm-"one"', workers: undefined }],
  ]);
});

test('what is added while the last message is answered is waited for, however slowly it comes (Q7)', async () => {
  const { given, steering } = running();
  const [slow, ids] = [gate(), [] as string[]];
  for await (const item of sendMessages(given, 'one').messages) {
    ids.push('id' in item ? item.id : String(item.error));
    if (ids.length > 1) continue;
    // The prompt is sent, and it has no further messages.
    void steering.add?.(streamOf(slow.hold, user('two'), user('three')));
    setImmediate(slow.release);
  }
  expect(ids).toEqual(['m-"one"', 'm-"two"', 'm-"three"']);
});

test('a stream that fails ends the messages with its error, after those that came (Q7)', async () => {
  const { given } = running();
  const items: unknown[] = [];
  for await (const item of sendMessages(given, streamOf(user('one'), Promise.reject(new Error('gone')))).messages) {
    items.push('id' in item ? item.id : (item.error as Error).message);
    if ('error' in item) break;
  }
  expect(items).toEqual(['m-"one"', 'gone']);
});
