// Holds parts of programs written for in-process agents, one of each kind. They compile unchanged,
// and understand the messages that come here.
import { expect, test } from 'vitest';
import type {
  CanUseTool,
  HookCallback,
  McpServerConfig,
  Options,
  PermissionUpdate,
  PostToolUseHookInput,
  PreToolUseHookInput,
  Query,
  SDKMessage,
  SDKResultSuccess,
  SDKUserMessage,
  SettingSource,
  SyncHookJSONOutput,
} from '../../../client/agent-sdk/index.ts';
import { AbortError, createSdkMcpServer, HOOK_EVENTS, query, tool } from '../../../client/agent-sdk/index.ts';
import { z } from 'zod';
import * as z3 from 'zod/v3';

/** A chat that shows the streamed text and every other message that it knows. */
function shown(message: SDKMessage): string {
  switch (message.type) {
    case 'stream_event':
      return message.event.type === 'content_block_delta' && message.event.delta.type === 'text_delta'
        ? message.event.delta.text
        : '';
    case 'assistant':
      return message.message.content.map((block) => (block.type === 'text' ? block.text : block.type)).join(' ');
    case 'user':
      return typeof message.message.content === 'string' ? message.message.content : 'results';
    case 'result':
      return message.subtype === 'success' ? message.result : message.errors.join('; ');
    case 'tool_progress':
      return `${message.tool_name} ${message.elapsed_time_seconds}`;
    case 'rate_limit_event':
      return message.rate_limit_info.status;
    case 'system':
      if (message.subtype === 'init') return `${message.model} ${message.tools.length}`;
      if (message.subtype === 'status') return message.status ?? 'idle';
      if (message.subtype === 'task_started' || message.subtype === 'task_progress') return message.description;
      if (message.subtype === 'task_notification') return `${message.status} ${message.summary}`;
      if (message.subtype === 'session_state_changed') return message.state;
      if (message.subtype === 'permission_denied') return message.message;
      if (message.subtype === 'hook_response') return `${message.hook_event} ${message.outcome}`;
      return message.subtype;
    default:
      return message.type;
  }
}

test('a chat reads what streams, and every kind of message that it knows (Q7)', () => {
  const told = (message: object): string => shown(message as SDKMessage);
  expect(
    told({ type: 'stream_event', event: { type: 'content_block_delta', delta: { type: 'text_delta', text: 'a' } } }),
  ).toBe('a');
  expect(told({ type: 'result', subtype: 'success', result: 'Done.' } satisfies Partial<SDKResultSuccess>)).toBe(
    'Done.',
  );
  expect(told({ type: 'system', subtype: 'status', status: 'compacting' })).toBe('compacting');
});

/** A CI action that puts its options together from what it was given. */
function actionOptions(given: {
  readonly resume?: string;
  readonly sources: SettingSource[];
  readonly tools: string[];
}): Options {
  const options: Options = {
    settingSources: given.sources,
    pathToClaudeCodeExecutable: '/bin/agent',
    extraArgs: { debug: null },
  };
  options.allowedTools = given.tools;
  options.allowedTools.push('Read');
  options.env = { ...process.env, CI: '1' };
  if (given.resume) options.resume = given.resume;
  options.agents = {
    review: { description: 'd', prompt: 'p', tools: ['Read'], model: 'haiku', permissionMode: 'plan' },
  };
  options.systemPrompt = { type: 'preset', preset: 'claude_code', append: 'Be brief.' };
  options.thinking = { type: 'enabled', budgetTokens: 1_000 };
  return options;
}

test('an action puts its options together field by field (Q7)', () => {
  const tools = ['Bash(git:*)'];
  expect(actionOptions({ resume: 's-1', sources: ['project'], tools })).toMatchObject({ resume: 's-1' });
  expect(tools).toEqual(['Bash(git:*)', 'Read']);
});

/** Hooks that pair a call with its result. */
function pairing(seen: string[]): Options['hooks'] {
  const before: HookCallback = async (input) => {
    const { tool_name: name, tool_input: given } = input as PreToolUseHookInput;
    seen.push(`${name} ${JSON.stringify(given)}`);
    const output: SyncHookJSONOutput = {
      hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'allow' },
    };
    return output;
  };
  const after = async (input: PostToolUseHookInput): Promise<SyncHookJSONOutput> => {
    seen.push(String(input.tool_response));
    return {};
  };
  return {
    PreToolUse: [{ matcher: 'Bash', hooks: [before] }],
    PostToolUse: [{ hooks: [(input) => after(input as PostToolUseHookInput)] }],
  };
}

test('hooks are told what their event has, and every event has a name (Q7)', async () => {
  const seen: string[] = [];
  const hooks = pairing(seen);
  const signal = new AbortController().signal;
  for (const [event, more] of [
    ['PreToolUse', {}],
    ['PostToolUse', { tool_response: 'done' }],
  ] as const)
    for (const { hooks: callbacks } of hooks?.[event] ?? [])
      for (const callback of callbacks)
        await callback({ hook_event_name: event, tool_name: 'Bash', tool_input: {}, ...more } as never, 't-1', {
          signal,
        });
  expect(seen).toEqual(['Bash {}', 'done']);
  expect(HOOK_EVENTS).toContain('SubagentStop');
});

/** A page that asks a person, and remembers what is always allowed. */
const asking =
  (always: PermissionUpdate[]): CanUseTool =>
  async (name, input, { suggestions = [], toolUseID, signal }) => {
    if (signal.aborted) return { behavior: 'deny', message: 'late', interrupt: true, toolUseID };
    const rule: PermissionUpdate = {
      type: 'addRules',
      rules: [{ toolName: name }],
      behavior: 'allow',
      destination: 'session',
    };
    always.push(...suggestions, rule);
    return { behavior: 'allow', updatedInput: input, updatedPermissions: always };
  };

test('a page that asks answers with rules for the session (Q7)', async () => {
  const always: PermissionUpdate[] = [];
  const options = { signal: new AbortController().signal, toolUseID: 't-1', requestId: 'r-1' };
  expect(await asking(always)('Bash', {}, options)).toMatchObject({
    behavior: 'allow',
    updatedPermissions: [{ type: 'addRules' }],
  });
});

/** Tools of a program, with fields of zod 3 and of zod 4, and its other servers. */
const servers: Record<string, McpServerConfig> = {
  own: createSdkMcpServer({
    name: 'own',
    tools: [
      tool('four', 'd', { a: z.string(), b: z.number().optional() }, async ({ a, b }) => text(`${a.length} ${b ?? 0}`)),
      tool('three', 'd', { a: z3.z.string() }, async ({ a }) => text(a.toUpperCase()), {
        annotations: { readOnlyHint: true },
      }),
    ],
  }),
  files: { type: 'stdio', command: 'files', args: ['.'], timeout: 5_000 },
  shop: { type: 'http', url: 'https://shop.example/mcp', headers: { a: 'b' } },
};

const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] });

test('tools are written with fields of zod 3 and zod 4, and servers stand in one record (Q7)', () => {
  expect(Object.keys(servers)).toEqual(['own', 'files', 'shop']);
});

/** Streaming input that a program feeds while it reads. */
async function* turns(words: readonly string[]): AsyncGenerator<SDKUserMessage> {
  for (const content of words)
    yield {
      type: 'user',
      message: { role: 'user', content },
      parent_tool_use_id: null,
      session_id: '',
      uuid: crypto.randomUUID(),
    };
}

test('a query that is closed before it began yields nothing, and one that was aborted throws AbortError (Q7)', async () => {
  const closed: Query = query({
    prompt: turns(['one']),
    options: { outputFormat: { type: 'json_schema', schema: {} } },
  });
  closed.close();
  expect(await closed.next()).toEqual({ done: true, value: undefined });
  const abortController = new AbortController();
  abortController.abort();
  await expect(query({ prompt: 'p', options: { abortController } }).next()).rejects.toBeInstanceOf(AbortError);
});

test('what is known of a query is told before it runs, and what it cannot do is said in a sentence (Q7)', async () => {
  const asked = query({
    prompt: 'p',
    options: { agents: { review: { description: 'd', prompt: 'p', model: 'haiku' } } },
  });
  const models = await asked.supportedModels();
  expect(models.map(({ value }) => value)).toEqual(
    expect.arrayContaining(['claude-opus-5-5', 'claude-haiku-4-5-20251001']),
  );
  expect(models.map(({ value }) => value)).not.toContain('claude-3-opus-20240229');
  expect(models.find(({ value }) => value === 'claude-opus-5-5')?.displayName).toBe('Opus 5.5');
  expect(await asked.supportedAgents()).toEqual([{ name: 'review', description: 'd', model: 'haiku' }]);
  expect(await asked.initializationResult()).toMatchObject({
    commands: [{ name: 'compact' }, { name: 'clear' }],
    models,
    output_style: 'default',
  });
  expect(await asked.rewindFiles('m-1')).toMatchObject({ canRewind: false });
  expect(await asked.setMcpServers({})).toEqual({ added: [], removed: [], errors: {} });
  await asked.return();
});
