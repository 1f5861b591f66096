// A program sends `/compact` and `/clear` in the place of prompts.
import { expect, test } from 'vitest';
import { query } from '../../client/agent-sdk/query.ts';
import type { SDKMessage, SDKUserMessage } from '../../client/agent-sdk/shapes/messages.ts';
import type { Options } from '../../client/agent-sdk/shapes/options.ts';
import { type ParsedRequest, reply } from '../../scripted-model/index.ts';
import { asksForSummary } from '../support/asks-for-summary.ts';
import { cliPlace, modelFor } from '../support/cli.ts';
import { oneRuntime } from '../support/one-runtime.ts';

async function place(script: Parameters<typeof modelFor>[0]) {
  oneRuntime();
  const model = await modelFor(script);
  const { cwd, env } = cliPlace(model);
  const options: Options = { cwd, env, stderr: () => undefined };
  return { model, options };
}

const said = (content: string): SDKUserMessage => ({
  type: 'user',
  message: { role: 'user', content },
  parent_tool_use_id: null,
});

/** Sends each message once the one before it has its result. */
async function talk(prompts: readonly string[], options: Options): Promise<readonly SDKMessage[]> {
  const told: SDKMessage[] = [];
  let answered = (): void => undefined;
  const stream = async function* () {
    for (const prompt of prompts) {
      const result = new Promise<void>((resolve) => (answered = resolve));
      yield said(prompt);
      await result;
    }
  };
  for await (const message of query({ prompt: stream(), options })) {
    told.push(message);
    if (message.type === 'result') answered();
  }
  return told;
}

const kindOf = (message: SDKMessage): string => ('subtype' in message ? message.subtype : message.type);
const textOf = (request: ParsedRequest): string => JSON.stringify(request);

test('/compact sums the conversation up as it is told to, and what follows goes on with the summary alone (Q7 L10)', async () => {
  const long = 'The secret is a teapot. '.repeat(400);
  const { model, options } = await place((request) => {
    if (asksForSummary(request)) return reply('SUMMARY: a secret was told.');
    return reply(textOf(request).includes('SUMMARY') ? 'I know of a secret.' : 'I see.');
  });
  const hooked: unknown[] = [];
  const hook = (input: object) => {
    hooked.push(input);
    return Promise.resolve({});
  };
  const hooks = { PreCompact: [{ hooks: [hook] }], PostCompact: [{ hooks: [hook] }] };
  const told = await talk([long, '/compact Keep the secret.', 'And now?'], { ...options, hooks });
  expect(told.map(kindOf)).toEqual([
    'init',
    'assistant',
    'success',
    'compact_boundary',
    'success',
    'assistant',
    'success',
  ]);
  expect(told[3]).toMatchObject({ compact_metadata: { trigger: 'manual' } });
  expect(told[4]).toMatchObject({ num_turns: 0, result: '', terminal_reason: 'completed' });
  expect(told[6]).toMatchObject({ result: 'I know of a secret.' });
  const summaries = model.requests.filter(({ body }) => asksForSummary(body as ParsedRequest));
  expect(summaries).toHaveLength(1);
  expect(JSON.stringify(summaries[0]?.body)).toContain('Keep the secret.');
  const last = JSON.stringify(model.requests.at(-1)?.body);
  expect(last).not.toContain('teapot');
  expect(last).not.toContain('/compact');
  expect(hooked).toMatchObject([
    { hook_event_name: 'PreCompact', trigger: 'manual', custom_instructions: 'Keep the secret.' },
    { hook_event_name: 'PostCompact', trigger: 'manual', compact_summary: 'SUMMARY: a secret was told.' },
  ]);
});

test('/compact where there is nothing to sum up is a result that says so (Q7)', async () => {
  const { model, options } = await place([]);
  const told = await talk(['/compact'], options);
  expect(told.map(kindOf)).toEqual(['init', 'success']);
  expect(told[1]).toMatchObject({ result: 'Not compacted: there is nothing to sum up yet.' });
  expect(model.requests).toEqual([]);
});

test('/clear goes on in a new session, which knows nothing of the one before (Q7)', async () => {
  const { model, options } = await place(() => reply('Yes.'));
  const hooked: unknown[] = [];
  const hook = (input: object) => {
    const { hook_event_name: event, session_id: session, ...more } = input as Readonly<Record<string, unknown>>;
    hooked.push([event, session, more['source'] ?? more['reason']]);
    return Promise.resolve({});
  };
  const hooks = { SessionStart: [{ hooks: [hook] }], SessionEnd: [{ hooks: [hook] }] };
  const given = { ...options, hooks, env: { ...options.env, PERDURE_SESSION: 'clears' } };
  const told = await talk(['A teapot.', '/clear', 'And now?'], given);
  expect(told.map(kindOf)).toEqual([
    'init',
    'assistant',
    'success',
    'conversation_reset',
    'init',
    'success',
    'assistant',
    'success',
  ]);
  const [first, second] = [told[0]?.session_id, told[4]?.session_id];
  expect(second).not.toBe(first);
  expect(told.map(({ session_id: id }) => id)).toEqual([first, first, first, first, second, second, second, second]);
  expect(told[3]).toMatchObject({ new_conversation_id: second, trigger: 'clear' });
  expect(model.requests.map(({ body }) => JSON.stringify(body).includes('teapot'))).toEqual([true, false]);
  expect(hooked).toEqual([
    ['SessionStart', first, 'startup'],
    ['SessionEnd', first, 'clear'],
    ['SessionStart', second, 'clear'],
    ['SessionEnd', second, 'other'],
  ]);
});

test('supportedCommands() and init name them (Q7)', async () => {
  const { options } = await place([]);
  const messages = query({ prompt: '/compact', options });
  expect((await messages.supportedCommands()).map(({ name }) => name)).toEqual(['compact', 'clear']);
  const [init] = [(await messages.next()).value];
  expect(init).toMatchObject({ slash_commands: ['compact', 'clear'] });
  await messages.return();
});
