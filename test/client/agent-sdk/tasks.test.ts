// Checks how a program learns of the transcripts of agents, of background commands, and of the
// spend of each model.
import { expect, test } from 'vitest';
import {
  agentOfOutcome,
  agentsOfReply,
  AgentTeller,
  type CalledAgent,
} from '../../../client/agent-sdk/tasks/agent-messages.ts';
import { createCommandTasks } from '../../../client/agent-sdk/tasks/command-tasks.ts';
import { FollowedAgents } from '../../../client/agent-sdk/tasks/follow-agents.ts';
import { createSessionSpend, sumSpendByModel } from '../../../client/agent-sdk/tasks/session-spend.ts';
import type { SDKMessage, SDKUserMessage } from '../../../client/agent-sdk/shapes/messages.ts';
import type { Entry } from '../../../store/log/entries.ts';
import { hashOf } from '../../../store/values/store.ts';
import { describeStarted } from '../../../tools/builtin/shell/background-words.ts';
import type { CallKey, SessionId } from '../../../workflows/contract/ids.ts';
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
  textBlock,
  thinkingBlock,
  user,
} from '../../support/transcript.ts';

const head = hashOf(Buffer.from('head'));
const main = { session, depth: 0, inBackground: new Set(['slow']) };
const call = (id: string, more: object = {}) => callBlock(id, { description: 'Count', prompt: 'p', ...more }, 'agent');
const [agent] = agentsOfReply(main, head, reply([call('toolu_1', { type: 'counter' })])) as [CalledAgent];

const kinds = (told: readonly SDKMessage[]) =>
  told.map((message) => ('subtype' in message ? message.subtype : message.type));

function tell(entries: readonly Entry[], withText = false): readonly SDKMessage[] {
  const teller = new AgentTeller({ session, agent, withText });
  return entries.flatMap((entry, position) => teller.tell(entry, position, new Map()));
}

test('the session of an agent follows from its call, at every depth, before and after its outcome (L66)', () => {
  const said = reply([textBlock('x'), call('toolu_1'), callBlock('r'), call('toolu_2', { type: 'slow' })]);
  const found = agentsOfReply(main, head, said);
  expect(found).toMatchObject([
    { session: `s-1.agent-${head.slice(0, 16)}-1`, type: 'general', background: false, depth: 1 },
    { session: `s-1.agent-${head.slice(0, 16)}-3`, type: 'slow', background: true, depth: 1 },
  ]);
  const log = {
    key: `chain.${head}.1` as CallKey,
    name: 'agent',
    decision: 'allowed',
    duration: 1,
    outcome: 'ok',
  } as const;
  expect(agentOfOutcome(main, said, outcome(1, 'x', { log }))).toEqual(found[0]);
  expect(agentOfOutcome(main, said, outcome(1, 'x', { log: { ...log, key: null } }))).toBeNull();
  const inner = { ...main, session: found[0]?.session as SessionId, depth: 1 };
  expect(agentsOfReply(inner, head, reply([call('toolu_3', { background: true })]))).toMatchObject([
    {
      session: `s-1.agent-${head.slice(0, 16)}-0`,
      parent: `agent-${head.slice(0, 16)}-1`,
      depth: 2,
      background: true,
    },
  ]);
});

test('of an agent calls and results are told; its words, thinking and prompts only where they are asked for (Q7)', () => {
  const entries = [
    runStarted(1),
    user('Count.'),
    reply([thinkingBlock('hm'), textBlock('I look.'), callBlock('a')]),
    boundary('s', 0),
    outcomes(outcome(2, 'one')),
    reply([textBlock('One.')]),
    runEnded(1),
  ];
  const told = tell(entries);
  expect(kinds(told)).toEqual(['task_started', 'assistant', 'task_progress', 'user', 'task_notification']);
  expect(told[1]).toHaveProperty('message.content', [{ ...callBlock('a'), name: 'Read' }]);
  for (const message of told) expect(message.session_id).toBe(session);
  expect(told[1]).toMatchObject({ parent_tool_use_id: 'toolu_1', subagent_type: 'counter', task_description: 'Count' });
  expect(tell(entries).map(({ uuid }) => uuid)).toEqual(told.map(({ uuid }) => uuid));
  expect(new Set(told.map(({ uuid }) => uuid)).size).toBe(told.length);
  const whole = tell(entries, true).filter(({ type }) => type !== 'system');
  expect(whole.map((message) => (message as SDKUserMessage).message.content)).toMatchObject([
    [{ type: 'text', text: 'Count.' }],
    [{ type: 'thinking' }, { type: 'text', text: 'I look.' }, { type: 'tool_use' }],
    [{ type: 'tool_result', content: 'one' }],
    [{ type: 'text', text: 'One.' }],
  ]);
});

test.each([
  [{ reason: 'completed' }, 'completed', 'Agent "Count" completed'],
  [{ reason: 'aborted_tools', by: 'interrupt' }, 'stopped', 'Agent "Count" was stopped'],
  [
    { reason: 'model_error', detail: 'no such model' },
    'failed',
    'Agent "Count" failed with model_error: no such model',
  ],
] as const)('an agent that ended with %j is a task that is %s (Q7)', (terminal, status, summary) => {
  expect(tell([runStarted(1), runEnded(1, terminal)])[1]).toMatchObject({ status, summary });
});

test.each([
  ['has ended with exit status 0. It wrote nothing that is kept.', { status: 'completed' }],
  ['has ended with exit status 7. The end of its output:\n> exit status 0', { status: 'failed' }],
  ['was killed by SIGKILL. It wrote nothing that is kept.', { status: 'failed' }],
  ['was ended by bash_stop. It wrote nothing that is kept.', { status: 'stopped' }],
  ['is gone: its worker has died, and it with it. Start it again if it is needed.', { reason: 'worker_restart' }],
])('a command in the background that %j is a task with %j (L84)', (words, expected) => {
  const tasks = createCommandTasks(session, session);
  const id = 'bg-0123abcd';
  const started = outcome(0, describeStarted(id), { log: { ...outcome(0, '').log, name: 'bash' } });
  const entries = [
    reply([callBlock('call-0', { command: 'npm test', background: true }, 'bash')]),
    outcomes(started),
    notice({ kind: 'attachment', source: `command ${id} in the background`, text: `${id} (npm test) ${words}` }),
    notice({ kind: 'attachment', source: 'command bg-x in the background', text: words }),
  ];
  const told = entries.flatMap((entry, position) => tasks.tell(entry, position));
  expect(told).toMatchObject([
    { subtype: 'task_started', task_id: id, tool_use_id: 'call-0', description: 'npm test' },
    { subtype: 'task_notification', task_id: id, tool_use_id: 'call-0', ...expected },
  ]);
  // A second reading of the transcript finds the same messages.
  expect(entries.flatMap((entry, position) => tasks.tell(entry, position))).toEqual(told);
});

const spend = (usd: number) => ({ usage: { input: 10, output: 0, cacheRead: 0, cacheWrite: 0 }, usd });
const by = (model: string, usd: number) => {
  const said = reply([textBlock('x')], { spend: spend(usd) });
  return { ...said, message: { ...said.message, model } };
};

test('what agents at every depth and calls of the small model spent is counted by model, and the sum is the whole (L69)', async () => {
  const spent = (id: string, usd: number) => ({ session: id as SessionId, type: 't', title: 't', spend: spend(usd) });
  const ended = runEnded(1);
  const inner =
    ended.kind === 'run_ended' ? { ...ended, ended: { ...ended.ended, agents: [spent('deep', 4)] } } : ended;
  const stored: Readonly<Record<string, readonly Entry[]>> = { child: [by('b', 2), inner], deep: [by('a', 4)] };
  const usage = { input: 45, output: 0, cacheRead: 0, cacheWrite: 0 };
  const models = await sumSpendByModel(
    { usage, costUsd: 7.5, agents: [spent('child', 6)] },
    [runStarted(1), by('a', 1)],
    {
      entriesOf: (id) => Promise.resolve(stored[id] ?? []),
      smallModel: () => Promise.resolve('small'),
    },
  );
  expect(
    [...models].map(
      ([
        model,
        {
          usd,
          usage: { input },
        },
      ]) => [model, usd, input],
    ),
  ).toEqual([
    ['a', 5, 20],
    ['b', 2, 10],
    ['small', 0.5, 15],
  ]);
});

test('what a session has spent is summed over its runs, each once, with its searches of the web (Q7)', async () => {
  const run = (number: number, usd: number, searches = 0): readonly Entry[] => {
    const said = by('a', usd);
    const ended = runEnded(number);
    if (ended.kind !== 'run_ended') throw new Error('no end of a run');
    const usage = { ...said.message.usage, server_tool_use: { web_search_requests: searches, web_fetch_requests: 0 } };
    return [
      runStarted(number),
      { ...said, message: { ...said.message, usage } },
      { ...ended, ended: { ...ended.ended, spend: spend(usd + 0.5) } },
    ];
  };
  const spent = createSessionSpend({
    entriesOf: () => Promise.resolve([]),
    smallModel: () => Promise.resolve('small'),
  });
  const totals = () =>
    [...spent.totals()].map(
      ([
        model,
        {
          spend: { usd },
          searches,
        },
      ]) => [model, usd, searches],
    );
  // The first two are of an earlier query, which this one resumes.
  await spent.add([...run(1, 1), ...run(2, 2, 3)]);
  expect(totals()).toEqual([
    ['a', 3, 3],
    ['small', 1, 0],
  ]);
  await spent.add([...run(2, 2, 3), ...run(3, 4, 1)]);
  expect(totals()).toEqual([
    ['a', 7, 4],
    ['small', 1.5, 0],
  ]);
  expect(spent.run).toBe(3);
});

test('a program that was started again is told of an agent from where it was, and nothing twice (Q9)', async () => {
  const entries = [runStarted(1), reply([callBlock('a')]), outcomes(outcome(0, 'one')), runEnded(1)];
  const noted: number[] = [];
  const agents = (received: number) =>
    new FollowedAgents({
      session,
      sessions: {
        describe: () => Promise.resolve({ last: { head } } as never),
        follow: async function* () {},
      },
      reader: { since: () => Promise.resolve({ run: 1, first: 0, entries }) },
      bodies: () => Promise.resolve(new Map()),
      program: { receivedOf: () => received, noteReceivedOf: (_, position) => noted.push(position) },
      inBackground: new Set(),
      withText: false,
      failed: new AbortController().signal,
      say: () => undefined,
    });
  const log = { ...outcome(0, '').log, name: 'agent', key: `chain.${head}.0` as CallKey };
  const end = async (received: number): Promise<readonly string[]> => {
    const told: SDKMessage[] = [];
    const of = agents(received);
    for (let time = 0; time < 2; time += 1)
      for await (const message of of.end(reply([call('toolu_1')]), outcome(0, 'done', { log }))) told.push(message);
    await of.stop();
    return kinds(told);
  };
  expect(await end(0)).toEqual(['task_started', 'assistant', 'task_progress', 'user', 'task_notification']);
  expect(noted).toEqual([1, 2, 3, 4]);
  expect(await end(2)).toEqual(['user', 'task_notification']);
});
