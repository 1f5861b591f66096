// Entries that a person takes out of the model's sight: whoever asks is told of positions that the
// session does not have, and of entries that a snip would not take out.
import { expect, test, vi } from 'vitest';
import type { Client } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import type { Entry } from '../../store/log/entries.ts';
import { memoryStore } from '../support/memory-store.ts';
import { createClient } from '../../client/client.ts';
import { createClientConverter } from '../../connection/payloads/data-converter.ts';
import type { PerdureClient } from '../../client/perdure-client.ts';
import { ClientProblem } from '../../client/problem.ts';
import type { Hash } from '../../workflows/contract/ids.ts';
import {
  boundary,
  callBlock,
  notice,
  outcome,
  outcomes,
  reply,
  runEnded,
  runStarted,
  session,
  snip,
  stored,
  textBlock,
  thinkingBlock,
  transition,
  user,
} from '../support/transcript.ts';

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
    options: { namespace: 'default', loadedDataConverter: createClientConverter(undefined) },
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

async function refused(snipping: Promise<unknown>, sentence: string): Promise<void> {
  await expect(snipping).rejects.toThrow(sentence);
  await expect(snipping).rejects.toBeInstanceOf(ClientProblem);
}

test('signals positions of entries to be snipped (L7)', async () => {
  const { client, signal } = await three();
  expect(await client.snip(session, [2, 1])).toEqual({ later: [] });
  expect(signal.mock.calls).toEqual([['snip', { entries: [2, 1] }]]);
});

test('refuses a position that the session does not have, and says which it has (L7)', async () => {
  const { client, signal } = await three();
  const has = `for it has 3 entries, the last at 2: \`perdure show ${session} --json\` lists them`;
  await refused(client.snip(session, [1, 3, 9]), `session ${session} has no entry at position 3, ${has}`);
  expect(signal).not.toHaveBeenCalled();
});

/** Positions 0 to 8. */
const worked: readonly Entry[] = [
  runStarted(1),
  user('count'),
  reply([callBlock('toolu_1')]),
  outcomes(outcome(0, 'one')),
  notice({ kind: 'stop_hook', text: 'go on' }),
  notice({ kind: 'error', text: 'overloaded' }),
  transition(1, 'next_turn'),
  reply([textBlock('One.')]),
  runEnded(1),
];

async function having(...entries: readonly Entry[]) {
  const store = memoryStore();
  return sessions(store, (await stored(store, entries)).head);
}

const cannot = `which cannot be snipped; prompts, replies and notices to the model can be snipped: \`perdure show ${session} --json\` lists them`;

test.each([
  [3, 'entry 3 is the results of calls, which go with the reply that made them: name entry 2'],
  [0, `entry 0 is the start of a run, ${cannot}`],
  [5, `entry 5 is a notice that only people see, ${cannot}`],
  [6, `entry 6 is a transition, ${cannot}`],
  [8, `entry 8 is the end of a run, ${cannot}`],
])('refuses position %i, which a snip cannot mean, and says what to name instead (L7)', async (position, sentence) => {
  const { client, signal } = await having(...worked);
  await refused(client.snip(session, [1, position]), sentence);
  expect(signal).not.toHaveBeenCalled();
});

test.each([[[1, 2, 4, 7]], [[2, 3]]])('takes what the model will no longer see: %j (L7)', async (positions) => {
  const { client, signal } = await having(...worked);
  expect(await client.snip(session, positions)).toEqual({ later: [] });
  expect(signal).toHaveBeenCalledOnce();
  const again = await having(...worked, snip(...positions.filter((each) => each !== 3)));
  expect(await again.client.snip(session, [positions[0] as number])).toEqual({ later: [] });
});

test('refuses what a summary stands for, and takes the prompt that was kept beside it (L5 L7)', async () => {
  const { client } = await having(...worked, boundary('S', 7, [1]));
  await refused(client.snip(session, [2]), 'entry 2 is a reply and out of the model’s sight already');
  await refused(client.snip(session, [9]), `entry 9 is a compaction, ${cannot}`);
  expect(await client.snip(session, [1, 7])).toEqual({ later: [] });
});

test('says which replies go only when the signed thinking they belong to is over (L7 L59)', async () => {
  const thinking = reply([thinkingBlock('Hm.'), callBlock('toolu_1')]);
  const open = [runStarted(1), user('count'), thinking, outcomes(outcome(1, 'one'))];
  expect(await (await having(...open)).client.snip(session, [1, 2, 3])).toEqual({ later: [2, 3] });
  const over = [...open, reply([textBlock('One.')])];
  expect(await (await having(...over)).client.snip(session, [2])).toEqual({ later: [] });
});

test('refuses every position of a session that has no entries yet (L7)', async () => {
  const { client, signal } = sessions(memoryStore(), null);
  await refused(client.snip(session, [0]), 'has no entry at position 0, for it has none yet');
  expect(signal).not.toHaveBeenCalled();
});

test('says first that a session is closed', async () => {
  const { client } = await three('CANCELLED');
  await refused(client.snip(session, [9]), `session ${session} was cancelled and takes nothing more`);
});

test.each<[string, (client: PerdureClient) => Promise<unknown>, string]>([
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
])('refuses %s whatever the session has (L7)', async (_what, act, sentence) => {
  await refused(act(sessions(memoryStore(), null).client), sentence);
});
