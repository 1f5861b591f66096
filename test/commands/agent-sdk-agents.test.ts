// A program is told of agents and of commands in the background, and steers them.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { query } from '../../client/agent-sdk/query.ts';
import type { HookInput } from '../../client/agent-sdk/shapes/hooks.ts';
import type { SDKMessage, SDKResultMessage } from '../../client/agent-sdk/shapes/messages.ts';
import type { Options } from '../../client/agent-sdk/shapes/options.ts';
import { reply, text, toolUse } from '../../scripted-model/index.ts';
import { agentCall, byPrompt } from '../support/by-prompt.ts';
import { cliPlace, modelFor } from '../support/cli.ts';
import { oneRuntime } from '../support/one-runtime.ts';

async function place(script: Parameters<typeof modelFor>[0]) {
  oneRuntime();
  const model = await modelFor(script);
  const { cwd, env } = cliPlace(model);
  const said: string[] = [];
  const options: Options = { cwd, env, permissionMode: 'bypassPermissions', stderr: (line) => said.push(line) };
  return { cwd, model, said, options };
}

type Facts = Readonly<Record<string, unknown>>;

/** It tells one message from another. */
function shown(message: SDKMessage): string {
  const { parent_tool_use_id: parent, message: said } = message as { parent_tool_use_id?: string; message?: Facts };
  const kind = 'subtype' in message ? message.subtype : message.type;
  const blocks = Array.isArray(said?.['content'])
    ? (said['content'] as Facts[]).map((block) => block['name'] ?? block['text'] ?? block['type'])
    : [];
  return [parent ? `${parent}:` : '', kind, ...blocks].filter((part) => part !== '').join(' ');
}

const isLasting = (message: SDKMessage): boolean => message.type !== 'tool_progress' && message.type !== 'stream_event';

async function all(
  messages: AsyncIterable<SDKMessage>,
  heard: (line: string, message: SDKMessage) => unknown = () => undefined,
): Promise<readonly SDKMessage[]> {
  const told: SDKMessage[] = [];
  for await (const message of messages) {
    if (!isLasting(message)) continue;
    told.push(message);
    await heard(shown(message), message);
  }
  return told;
}

const WAITS = 'until [ -e may-end ]; do sleep 0.1; done; echo two';

const resultOf = (told: readonly SDKMessage[]): SDKResultMessage =>
  told.find((message): message is SDKResultMessage => message.type === 'result')!;

const lead = (more: object = {}) => ({ ...agentCall('Count.', { type: 'counter', ...more }), id: 'toolu_lead' });

const counting = (first: ReturnType<typeof reply>, more: object = {}) =>
  byPrompt({
    'Go.': [reply([text('I ask.'), lead(more)]), reply('Two files.')],
    'Count.': [first, reply('Two.')],
  });

const counter = { description: 'Counts.', prompt: 'You count.', model: 'haiku' };

test('an agent’s calls and results come with the id of its call before its outcome, and its task from start to end (Q7 L66)', async () => {
  const { cwd, options, model } = await place(
    counting(reply([text('I look.'), toolUse('bash', { command: WAITS }, 'toolu_bash')])),
  );
  const hooked: HookInput[] = [];
  const told = await all(
    query({
      prompt: 'Go.',
      options: {
        ...options,
        agents: { counter },
        hooks: {
          SubagentStart: [
            {
              matcher: 'counter',
              hooks: [
                (input) => {
                  hooked.push(input);
                  const specific = { hookEventName: 'SubagentStart', additionalContext: 'Count twice.' } as const;
                  return Promise.resolve({ hookSpecificOutput: specific });
                },
              ],
            },
          ],
          SessionStart: [{ hooks: [(input) => (hooked.push(input), Promise.resolve({}))] }],
        },
      },
    }),
    // It is told while the agent works.
    (line) => line === 'toolu_lead: assistant Bash' && writeFileSync(join(cwd, 'may-end'), ''),
  );
  expect(told.map(shown)).toEqual([
    'init',
    'assistant I ask. Agent',
    'task_started',
    'toolu_lead: assistant Bash',
    'task_progress',
    'toolu_lead: user tool_result',
    'task_notification',
    'user tool_result',
    'assistant Two files.',
    'success',
  ]);
  const [init] = told;
  const ofTask = told.filter((message) => 'task_id' in message) as unknown as Facts[];
  const [started, progress, ended] = ofTask;
  const id = started?.['task_id'] as string;
  expect(id).toMatch(/^agent-[0-9a-f]{16}-1$/);
  const common = { task_id: id, tool_use_id: 'toolu_lead', session_id: init?.session_id };
  expect(started).toMatchObject({
    ...common,
    description: 'Title of Count.',
    prompt: 'Count.',
    subagent_type: 'counter',
    is_backgrounded: false,
    spawn_depth: 1,
    task_type: 'local_agent',
  });
  expect(progress).toMatchObject({ ...common, last_tool_name: 'Bash', usage: { tool_uses: 1 } });
  expect(ended).toMatchObject({ ...common, status: 'completed', usage: { tool_uses: 1 } });
  expect(told.find((message) => shown(message) === 'toolu_lead: assistant Bash')).toMatchObject({
    session_id: init?.session_id,
    agent_id: id,
    subagent_type: 'counter',
    task_description: 'Title of Count.',
  });
  expect(hooked).toMatchObject([
    { hook_event_name: 'SessionStart', session_id: init?.session_id },
    { hook_event_name: 'SubagentStart', session_id: init?.session_id, agent_id: id, agent_type: 'counter' },
  ]);
  const asked = model.requests.map(({ body }) => JSON.stringify(body));
  expect(asked.filter((body) => body.includes('Count twice.'))).toHaveLength(2);
});

test('with forwardSubagentText all that an agent says comes, and modelUsage has what it spent (Q7 L69)', async () => {
  const { options } = await place(counting(reply([text('I look.'), toolUse('bash', { command: 'echo two' })])));
  const told = await all(
    query({ prompt: 'Go.', options: { ...options, model: 'opus', agents: { counter }, forwardSubagentText: true } }),
  );
  expect(told.map(shown).filter((line) => line.startsWith('toolu_lead'))).toEqual([
    'toolu_lead: user Count.',
    'toolu_lead: assistant I look. Bash',
    'toolu_lead: user tool_result',
    'toolu_lead: assistant Two.',
  ]);
  const { modelUsage, total_cost_usd: total } = resultOf(told);
  const costs = Object.entries(modelUsage).map(([model, { costUSD }]) => [model, costUSD] as const);
  expect(costs.map(([model]) => model)).toEqual([
    expect.stringContaining('opus') as string,
    expect.stringContaining('haiku') as string,
  ]);
  expect(costs.every(([, usd]) => usd > 0)).toBe(true);
  expect(costs.reduce((sum, [, usd]) => sum + usd, 0)).toBeCloseTo(total, 6);
});

test('an agent of an agent comes with the id of the call that began it, and a denied call begins none (Q7 L66)', async () => {
  const inner = { ...agentCall('Deeper.'), id: 'toolu_inner' };
  const { options } = await place(
    byPrompt({
      'Go.': [reply([agentCall('No.', { type: 'explore' }), lead()]), reply('Over.')],
      'Count.': [reply([inner]), reply('Two.')],
      'Deeper.': [reply([toolUse('bash', { command: 'true' })]), reply('Deep.')],
    }),
  );
  const told = await all(
    query({ prompt: 'Go.', options: { ...options, agents: { counter }, disallowedTools: ['Agent(explore)'] } }),
  );
  const lines = told.map(shown);
  expect(lines.filter((line) => line.includes(':'))).toEqual([
    'toolu_lead: assistant Agent',
    'toolu_inner: assistant Bash',
    'toolu_inner: user tool_result',
    'toolu_lead: user tool_result',
  ]);
  const started = told.filter((message) => shown(message) === 'task_started') as unknown as Facts[];
  expect(started).toMatchObject([{ spawn_depth: 1 }, { spawn_depth: 2, parent_task_id: started[0]?.['task_id'] }]);
});

test('asked again under its name, a query tells each message of an agent once, and what was under way as it ended (Q9)', async () => {
  const { options } = await place(counting(reply([toolUse('bash', { command: 'echo two' })])));
  const asked = { prompt: 'Go.', options: { ...options, agents: { counter }, sessionId: 'agents-once' } };
  const first: SDKMessage[] = [];
  for await (const message of query(asked)) {
    if (!isLasting(message)) continue;
    first.push(message);
    if (shown(message) === 'toolu_lead: user tool_result') break;
  }
  expect(first.map(shown).slice(1)).toEqual([
    'assistant I ask. Agent',
    'task_started',
    'toolu_lead: assistant Bash',
    'task_progress',
    'toolu_lead: user tool_result',
  ]);
  const again = await all(query(asked));
  const before = new Set(first.slice(1).map(({ uuid }) => uuid));
  // A program that asked for no further message may not have had the last one.
  expect(
    again
      .slice(1)
      .filter(({ uuid }) => before.has(uuid))
      .map(shown),
  ).toEqual(['toolu_lead: user tool_result']);
  const lines = again.map(shown);
  expect(lines).toContain('task_notification');
  // The end of the first query asked the run to stop, which may have ended before.
  expect(lines.at(-1)).toMatch(/^(success|error_during_execution)$/);
  if (lines.at(-1) === 'success') expect(lines).toContain('assistant Two files.');
  expect(lines).not.toContain('task_started');
});

test('a command in the background is a task from its start to the end that the model is told (Q7 L84)', async () => {
  const command = 'until [ -e may-end ]; do sleep 0.1; done; exit 3';
  const { options } = await place(({ messages }) => {
    if (messages.length === 1) return reply([toolUse('bash', { command, background: true }, 'toolu_bg')]);
    const isTold = JSON.stringify(messages).includes('has ended with exit status 3');
    return isTold ? reply('Over.') : reply([toolUse('bash', { command: 'touch may-end; sleep 0.1' })]);
  });
  const told = await all(query({ prompt: 'Go.', options }));
  const tasks = told.filter((message) => 'task_id' in message) as unknown as Facts[];
  expect(tasks).toMatchObject([
    {
      subtype: 'task_started',
      task_id: expect.stringMatching(/^bg-/) as string,
      tool_use_id: 'toolu_bg',
      description: command,
      task_type: 'local_bash',
      is_backgrounded: true,
    },
    { subtype: 'task_notification', task_id: tasks[0]?.['task_id'], tool_use_id: 'toolu_bg', status: 'failed' },
  ]);
});

test('stopTask() ends an agent and a command, which are told as stopped, and the run goes on (Q7)', async () => {
  const forever = toolUse('bash', { command: 'sleep 3600' });
  const { options } = await place(
    byPrompt({
      'Go.': [
        reply([toolUse('bash', { command: 'sleep 3600', background: true }, 'toolu_bg')]),
        reply([lead()]),
        reply('Over.'),
      ],
      'Count.': [reply([forever])],
    }),
  );
  const messages = query({ prompt: 'Go.', options: { ...options, agents: { counter } } });
  await expect(messages.stopTask('agent-none')).rejects.toThrow(/^nothing runs yet, or no more/);
  let [usage, unknown] = [null as unknown, null as unknown];
  const told = await all(messages, async (line, message) => {
    const { task_id: id, task_type: kind } = message as unknown as { task_id: string; task_type?: string };
    if (kind === 'local_bash' && line === 'task_started') await messages.stopTask(id);
    if (line !== 'toolu_lead: assistant Bash') return;
    usage = await messages.getContextUsage();
    unknown = await messages.stopTask('agent-none').catch((error: Error) => error.message);
    await messages.stopTask((message as { agent_id?: string }).agent_id ?? '');
  });
  const ended = told.filter((message) => shown(message) === 'task_notification') as unknown as Facts[];
  expect(ended).toMatchObject([
    { tool_use_id: 'toolu_bg', status: 'stopped' },
    { tool_use_id: 'toolu_lead', status: 'stopped' },
  ]);
  expect(resultOf(told)).toMatchObject({ subtype: 'success', result: 'Over.' });
  expect(usage).toMatchObject({
    totalTokens: expect.any(Number) as number,
    categories: [{ kind: 'used' }, { kind: 'free' }],
  });
  expect(unknown).toBe('there is no task "agent-none" of this query: task_started names those there are');
});
