// What a query tells its program and asks it, from beginning to end: hooks, decisions that hold, a
// server of its own, and what is left of it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { cliPlace, modelFor } from '../support/cli.ts';

const at = (path: string): string => JSON.stringify(join(import.meta.dirname, '../..', path));

const PROGRAM = `
  const { query, getSessionInfo } = await import(${at('dist/client/agent-sdk/index.js')});
  const { McpServer } = await import(${at('node_modules/@modelcontextprotocol/sdk/dist/esm/server/mcp.js')});
  const instance = new McpServer({ name: 'My Shop', version: '1' });
  instance.registerTool('get.stock', { annotations: { readOnlyHint: true } }, async () => ({ content: [{ type: 'text', text: 'seven' }] }));
  const told = (name, value) => console.log(JSON.stringify({ name, value }));
  const hook = async (input, id) => {
    told(input.hook_event_name, [id, input.tool_use_id, input.tool_name, input.source ?? input.reason, input.permission_mode, input.tool_response]);
    return input.source === 'resume' ? { hookSpecificOutput: { hookEventName: 'SessionStart', additionalContext: 'The shop is open.' } } : {};
  };
  const of = (...events) => Object.fromEntries(events.map((event) => [event, [{ hooks: [hook] }]]));
  const common = {
    mcpServers: { 'My Shop': { type: 'sdk', name: 'My Shop', instance } },
    hooks: of('PreToolUse', 'PostToolUse', 'SessionStart', 'SessionEnd', 'Notification'),
    includeHookEvents: true,
    canUseTool: async (name, input, { suggestions }) => {
      told('asked', input.command);
      return { behavior: 'allow', updatedPermissions: suggestions };
    },
  };
  const ask = async (prompt, options) => {
    const types = [];
    try {
      for await (const message of query({ prompt, options: { ...common, ...options } })) {
        types.push(message.subtype ?? message.type);
        if (message.type === 'result') told('result', message.result ?? message.errors);
        if (message.type === 'result') ask.session = message.session_id;
      }
    } catch (error) {
      told('error', [types, error.message]);
    }
    return types;
  };
  told('types', await ask('Touch it twice.'));
  const { session } = ask;
  await ask('And now?', { resume: session, extraArgs: { 'append-system-prompt': 'Say please.' } });
  await ask('Forget this.', { persistSession: false });
  told('kept', [await getSessionInfo(session) !== undefined, await getSessionInfo(ask.session) !== undefined]);
  await ask('Go on.', { resume: 'never-was' });
  await ask('Hello.', { env: { PATH: process.env.PATH } });`;

/** Runs the program to its end, and returns the lines that it printed, as JSON. */
async function run(program: string, { cwd, env }: ReturnType<typeof cliPlace>): Promise<unknown[]> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { cwd, env, stdio: 'pipe' });
  onTestFinished(() => void child.kill('SIGKILL'));
  let [out, err] = ['', ''];
  child.stdout.on('data', (bytes: Buffer) => (out += bytes.toString()));
  child.stderr.on('data', (bytes: Buffer) => (err += bytes.toString()));
  const [status] = (await once(child, 'close')) as [number | null];
  expect({ status, err }).toMatchObject({ status: 0 });
  return out
    .trim()
    .split('\n')
    .map((line): unknown => JSON.parse(line));
}

test('hooks pair by id, a decision holds, a server of the program is called, and what is not to be kept is gone (Q7 Q8)', async () => {
  const touch = (id: string) => toolUse('bash', { command: 'touch a' }, id);
  const model = await modelFor([
    reply([touch('toolu_1')]),
    reply([touch('toolu_2')]),
    reply([toolUse('mcp__My_Shop__get_stock', {}, 'toolu_3')]),
    reply('Twice.'),
    reply('Nothing.'),
    reply('Forgotten.'),
  ]);
  const told = (await run(PROGRAM, cliPlace(model))) as { readonly name: string; readonly value: unknown[] }[];
  const of = (name: string) => told.filter((each) => each.name === name).map(({ value }) => value);
  expect(of('asked')).toEqual(['touch a']);
  expect(of('Notification')).toHaveLength(1);
  const ids = ['toolu_1', 'toolu_2', 'toolu_3'];
  expect(of('PreToolUse').map(([id, same]) => [id, same])).toEqual(ids.map((id) => [id, id]));
  expect(of('PostToolUse').map(([id]) => id)).toEqual(ids);
  expect(of('PostToolUse').map(({ 5: response }) => response)).toMatchObject([
    { stdout: expect.any(String) as string, interrupted: false },
    { interrupted: false },
    [{ type: 'text', text: 'seven' }],
  ]);
  expect(of('SessionStart').map(({ 3: source }) => source)).toEqual(['startup', 'resume', 'startup']);
  expect(of('SessionEnd').map(({ 3: reason }) => reason)).toEqual(['other', 'other', 'other']);
  expect(of('types')[0]).toEqual(expect.arrayContaining(['hook_started', 'hook_response']));
  expect(of('result')).toEqual(['Twice.', 'Nothing.', 'Forgotten.']);
  const resumed = model.requests.map(({ body }) => JSON.stringify(body)).find((body) => body.includes('And now?'));
  expect(resumed).toContain('The shop is open.');
  expect(resumed).toContain('Say please.');
  expect(of('kept')).toEqual([[true, false]]);
  expect(of('error')).toEqual([
    [[], expect.stringMatching(/^No conversation found with session ID: never-was/)],
    [[], expect.stringMatching(/^query\(\) has no key of the model API: set ANTHROPIC_API_KEY/)],
  ]);
});

const ORDER = `
  const { query } = await import(${at('dist/client/agent-sdk/index.js')});
  const say = (...parts) => console.log(JSON.stringify(parts));
  const hook = async (input, id) => (say(input.hook_event_name, id), {});
  const hooks = Object.fromEntries(['PostToolUse', 'PostToolUseFailure'].map((event) => [event, [{ hooks: [hook] }]]));
  const common = { permissionMode: 'bypassPermissions', allowDangerouslySkipPermissions: true, includeHookEvents: true };
  const ask = async (prompt, options) => {
    for await (const message of query({ prompt, options: { ...common, ...options } })) {
      if (message.type === 'assistant') for (const { type, id } of message.message.content) if (type === 'tool_use') say('assistant', id);
      if (message.type === 'user') say('user', message.message.content[0].tool_use_id, message.tool_use_result);
      if (message.type === 'tool_progress') say('progress', message.tool_use_id);
      if (message.subtype === 'hook_started') say('started', message.hook_event);
    }
  };
  await ask('Do them.', { hooks });
  await ask('And this.', {});`;

test('a program hears of a call first by the message that has it, then by its hooks and progress, then by its result (Q7)', async () => {
  const bash = (command: string, id: string) => toolUse('bash', { command }, id);
  const model = await modelFor([
    reply([bash('echo hi', 'toolu_read'), bash('touch a', 'toolu_write')]),
    reply([bash('false', 'toolu_fails')]),
    reply('Done.'),
    reply([bash('echo early', 'toolu_early')]),
    reply('Done.'),
  ]);
  const told = (await run(ORDER, cliPlace(model))) as [string, string, unknown?][];
  const of = (id: string) => told.filter(([, each]) => each === id).map(([what]) => what);
  const distinct = (whats: readonly string[]) => [...new Set(whats)];
  for (const [id, event] of [
    ['toolu_read', 'PostToolUse'],
    ['toolu_write', 'PostToolUse'],
    ['toolu_fails', 'PostToolUseFailure'],
  ] as const) {
    const whats = distinct(of(id));
    expect([whats[0], whats.at(-1)]).toEqual(['assistant', 'user']);
    expect(whats.slice(1, -1).sort()).toEqual([event, 'progress']);
  }
  expect(distinct(of('toolu_early'))).toEqual(['assistant', 'progress', 'user']);
  const started = told.flatMap(([what, event]) => (what === 'started' ? [event] : []));
  expect(started).toEqual(['PostToolUse', 'PostToolUse', 'PostToolUseFailure']);
  const results = new Map(told.flatMap(([what, id, result]) => (what === 'user' ? [[id, result] as const] : [])));
  expect(results.get('toolu_read')).toMatchObject({ stdout: 'hi', stderr: '', interrupted: false });
  expect(results.get('toolu_fails')).toMatch(/^Error: /);
});
