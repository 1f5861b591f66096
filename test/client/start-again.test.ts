// A start that names its message and no session is one start, however often it is sent. The server
// is a fake.
import type { Client } from '@temporalio/client';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { expect, test, vi } from 'vitest';
import { memoryStore } from '../support/memory-store.ts';
import { createClient } from '../../client/client.ts';
import type { CreateClient } from '../../client/sessions/start.ts';
import { createClientConverter } from '../../connection/payloads/data-converter.ts';

type Call = () => Promise<unknown>;

function sessions({ signalWithStart, describe }: Readonly<Record<string, Call>>, more: Partial<CreateClient> = {}) {
  const temporal = {
    workflow: { signalWithStart, getHandle: () => ({ describe }) },
    withDeadline: <T>(_deadline: unknown, call: () => Promise<T>): Promise<T> => call(),
    options: { namespace: 'default', loadedDataConverter: createClientConverter(undefined) },
  } as unknown as Client;
  const live = (): never => {
    throw new Error('nothing is followed here');
  };
  const client = createClient({
    temporal,
    store: memoryStore(),
    live,
    visibility: () => Promise.resolve(true),
    ...more,
  });
  return { client };
}

test('a start that is sent again under its message’s id opens one session, of each sender its own (L61)', async () => {
  const signalWithStart = vi.fn<Call>(() => Promise.resolve());
  const start = (by: string | undefined, messageId: string, own?: string) =>
    sessions({ signalWithStart }, own === undefined ? {} : { by: own }).client.start('do it', {
      messageId,
      ...(by !== undefined && { by }),
    });
  const sent = await start(undefined, 'order-1');
  expect(sent).toEqual({ session: expect.stringMatching(/^s-[0-9a-f]{20}$/) as string, messageId: 'order-1' });
  expect(await start(undefined, 'order-1')).toEqual(sent);
  const ana = await start('Ana', 'order-1');
  expect(await start(undefined, 'order-1', 'Ana')).toEqual(ana);
  const others = [await start(undefined, 'order-2'), await start('Bob', 'order-1')];
  expect(new Set([sent, ana, ...others].map(({ session }) => session)).size).toBe(4);
  const named = sessions({ signalWithStart }).client.start('do it', { messageId: 'order-1', newId: 'mine' });
  expect(await named).toEqual({ session: 'mine', messageId: 'order-1' });
});

test('a start that is sent again when its session is closed is answered with that one; one that names it is not (L61)', async () => {
  const taken = new WorkflowExecutionAlreadyStartedError('taken', 's-1', 'perdure.agentSession');
  const signalWithStart = vi.fn<Call>().mockResolvedValueOnce(undefined).mockRejectedValue(taken);
  const { client } = sessions({ signalWithStart });
  const first = await client.start('do it', { messageId: 'order-1' });
  expect(await client.start('do something else', { messageId: 'order-1', maxTurns: 1 })).toEqual(first);
  const named = client.start('do it', { messageId: 'order-1', session: first.session });
  await expect(named).rejects.toThrow('is closed and takes no more messages');
});

test('a start that is sent again to another store than its session’s is refused (L61)', async () => {
  const signalWithStart = vi.fn<Call>(() => Promise.resolve());
  const memo = { perdureStore: 'st-other' };
  const describe = () =>
    Promise.resolve({ workflowId: 's-1', status: { name: 'RUNNING' }, memo, startTime: new Date(), raw: {} });
  const { client } = sessions({ signalWithStart, describe }, { storeId: () => Promise.resolve('st-here') });
  const again = client.start('do it', { messageId: 'order-1' });
  await expect(again).rejects.toThrow('is kept in store st-other, and here is store st-here');
  expect(signalWithStart).not.toHaveBeenCalled();
});
