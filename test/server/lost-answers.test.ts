// What the server took without the client hearing of it is sent again, and counts once.
import { expect, it } from 'vitest';
import type { Client } from '@temporalio/client';
import { memoryStore } from '../../activities/transcript/memory-store.ts';
import { createClient } from '../../client/client.ts';
import { gate, reply } from '../../worker/scripted-model/index.ts';
import { harness } from '../support/harness.ts';
import type { SignalRequest } from '../support/signal-service.ts';
import { until } from '../support/until.ts';

it('L47 L61 an interrupt whose answer was lost is in the history once, and leaves the next run alone', async () => {
  const held = gate();
  const h = await harness({ script: [reply('On and on', { hold: held.hold }), reply('Another.')] });
  const session = await h.open('Talk.');
  await until(() => h.bodies().length === 1);
  await clientOf(losingFirstAnswer(h.client)).interrupt(session.id);
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'aborted_streaming', by: 'interrupt' } });
  held.release();
  await session.send('Now something else.');
  expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' } });
  const { events } = await session.handle.fetchHistory();
  const signals = events?.map((event) => event.workflowExecutionSignaledEventAttributes?.signalName);
  expect(signals?.filter((name) => name === 'interrupt')).toHaveLength(1);
});

/** The first signal arrives, and the connection breaks before the server has answered. */
function losingFirstAnswer(client: Client): Client {
  const { workflowService } = client;
  let lost = false;
  const signalWorkflowExecution = async (request: SignalRequest): Promise<unknown> => {
    const answer = await workflowService.signalWorkflowExecution(request);
    if (lost) return answer;
    lost = true;
    throw Object.assign(new Error('unavailable'), { code: 14, details: 'unavailable', metadata: {} });
  };
  return new Proxy(client, {
    get: (_, key) => (key === 'workflowService' ? { signalWorkflowExecution } : Reflect.get(client, key, client)),
  });
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
