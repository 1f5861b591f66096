// What the server took without the client hearing of it is sent again, and counts once.
import { expect, test } from 'vitest';
import type { Client } from '@temporalio/client';
import { memoryStore } from '../support/memory-store.ts';
import { createClient } from '../../client/client.ts';
import { gate, reply, toolUse } from '../../scripted-model/index.ts';
import { defaultHandover, QUERIES } from '../../workflows/contract/session.ts';
import { harness } from '../support/harness.ts';
import { until } from '../support/until.ts';

test('an interrupt whose answer was lost leaves the next run alone, also after a handover (L4 L47 L61)', async () => {
  const [held, second] = [gate(), gate()];
  const look = reply([toolUse('glob', { pattern: '*' })]);
  const h = await harness({
    script: [reply('On and on', { hold: held.hold }), look, { ...look, hold: second.hold }, reply('Done.')],
    handover: { ...defaultHandover, iterations: 1 },
  });
  const session = await h.open('Talk.');
  await until(() => h.bodies().length === 1);
  const nextRuns = until(() => h.bodies().length === 3);
  const interrupted = clientOf(losingFirstAnswer(h.client, nextRuns)).interrupt(session.id);
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'aborted_streaming', by: 'interrupt' } });
  held.release();
  await session.send('Now something else.');
  await nextRuns;
  await interrupted;
  // It has been taken, whatever came of it.
  await session.handle.query(QUERIES.view);
  second.release();
  expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' } });
});

/**
 * The first signal arrives, and the connection breaks before the server has answered. The next is
 * sent after `pause`.
 */
function losingFirstAnswer(client: Client, pause: Promise<unknown>): Client {
  let sent = 0;
  const getHandle = (id: string) => ({
    signal: async (name: string, ...args: [unknown]): Promise<void> => {
      sent += 1;
      if (sent > 1) await pause;
      await client.workflow.getHandle(id).signal(name, ...args);
      if (sent === 1) throw Object.assign(new Error('unavailable'), { code: 14, details: 'unavailable', metadata: {} });
    },
  });
  const withDeadline = <T>(_at: unknown, call: () => Promise<T>): Promise<T> => call();
  return { options: client.options, workflow: { getHandle }, withDeadline } as unknown as Client;
}

function clientOf(temporal: Client) {
  return createClient({
    temporal,
    store: memoryStore(),
    live: () => {
      throw new Error('nothing is followed here');
    },
    visibility: () => Promise.resolve(true),
  });
}
