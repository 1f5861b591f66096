// Entries that a person takes out of the model's sight: whoever asks is told of positions that the session does not have.
import { expect, it, vi } from 'vitest';
import type { Client } from '@temporalio/client';
import { defaultDataConverter, defaultPayloadConverter } from '@temporalio/common';
import { memoryStore } from '../../activities/transcript/memory-store.ts';
import { createClient, type PerdureClient } from '../../client/client.ts';
import { ClientProblem } from '../../client/problem.ts';
import type { Hash } from '../../workflows/contract/ids.ts';
import { reply, runStarted, session, stored, textBlock, user } from '../support/transcript.ts';

/** `head`: of the session's transcript, as the server's history has it. */
function sessions(store: ReturnType<typeof memoryStore>, head: Hash | null, status = 'RUNNING') {
  const signal = vi.fn().mockResolvedValue(undefined);
  const memo = { perdure: { phase: 'idle', head: null, cwd: '/w', title: 't', runs: 1, last: null } };
  const execution = { workflowId: session, status: { name: status }, memo, startTime: new Date(0), raw: {} };
  const input = { payloads: [defaultPayloadConverter.toPayload({ head })] };
  const history = { events: [{ activityTaskScheduledEventAttributes: { input } }] };
  const temporal = {
    workflow: { getHandle: () => ({ describe: () => Promise.resolve(execution), signal }) },
    workflowService: { getWorkflowExecutionHistoryReverse: () => Promise.resolve({ history }) },
    withDeadline: <T>(_deadline: unknown, call: () => Promise<T>): Promise<T> => call(),
    options: { namespace: 'default', loadedDataConverter: defaultDataConverter },
  } as unknown as Client;
  const live = () => {
    throw new Error('nothing is followed here');
  };
  return { client: createClient({ temporal, store, live, visibility: () => Promise.resolve(true) }), signal };
}

/** A transcript of three entries, at positions 0 to 2. */
async function three(status?: string) {
  const store = memoryStore();
  const view = await stored(store, [runStarted(1), user('hello')], [reply([textBlock('Hello.')])]);
  return sessions(store, view.head, status);
}

async function refused(snipping: Promise<void>, sentence: string): Promise<void> {
  await expect(snipping).rejects.toThrow(sentence);
  await expect(snipping).rejects.toBeInstanceOf(ClientProblem);
}

it('L7 signals positions of entries to be snipped', async () => {
  const { client, signal } = await three();
  await client.snip(session, [2, 0]);
  expect(signal.mock.calls).toEqual([['snip', { entries: [2, 0] }]]);
});

it('L7 refuses a position that the session does not have, and says which it has', async () => {
  const { client, signal } = await three();
  const has = `for it has 3 entries, the last at 2: \`perdure show ${session} --json\` lists them`;
  await refused(client.snip(session, [1, 3, 9]), `session ${session} has no entry at position 3, ${has}`);
  expect(signal).not.toHaveBeenCalled();
});

it('L7 refuses every position of a session that has no entries yet', async () => {
  const { client, signal } = sessions(memoryStore(), null);
  await refused(client.snip(session, [0]), 'has no entry at position 0, for it has none yet');
  expect(signal).not.toHaveBeenCalled();
});

it('says first that a session is closed', async () => {
  const { client } = await three('CANCELLED');
  await refused(client.snip(session, [9]), `session ${session} was cancelled and takes nothing more`);
});

it.each<[string, (client: PerdureClient) => Promise<void>, string]>([
  ['no entries', (client) => client.snip(session, []), 'no entry is named'],
  ['a position that is none', (client) => client.snip(session, [1.5]), '1.5 is no position'],
  [
    'too many at once',
    (client) =>
      client.snip(
        session,
        Array.from({ length: 1_001 }, () => 0),
      ),
    'give at most 1000',
  ],
])('L7 refuses %s whatever the session has', async (_what, act, sentence) => {
  await refused(act(sessions(memoryStore(), null).client), sentence);
});
