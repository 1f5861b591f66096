// Checks the inputs of a program's hooks and `canUseTool`, and the effect of their answers.
import { expect, test } from 'vitest';
import {
  contextOf,
  createHookRelay,
  createProgramHooks,
  type HookNews,
  MOST_WAIT_MS,
} from '../../../client/agent-sdk/program-hooks.ts';
import { toHookConfig, unknownEvents } from '../../../client/agent-sdk/callbacks.ts';
import {
  createApprovalHandler,
  createGrants,
  createQuestionHandler,
  type SessionGrant,
} from '../../../client/agent-sdk/can-use-tool.ts';
import type { HookCallbackMatcher, HookEvent, HookJSONOutput } from '../../../client/agent-sdk/shapes/hooks.ts';
import type { CanUseTool, PermissionUpdate } from '../../../client/agent-sdk/shapes/facts.ts';
import type { WaitingApproval } from '../../../client/sessions/waiting-approval.ts';

const signal = new AbortController().signal;

/** Calls the program's hook, and returns its input and our reading of its answer. */
async function asked(
  event: HookEvent,
  said: HookJSONOutput,
  input: object,
  matcher: Partial<HookCallbackMatcher> = {},
) {
  const [told, ids]: [unknown[], unknown[]] = [[], []];
  const lines: string[] = [];
  const hooks = [
    (given: unknown, toolUseId: string | undefined) => {
      told.push(given);
      ids.push(toolUseId);
      return Promise.resolve(said);
    },
  ];
  const news: HookNews[] = [];
  const relay = { ...createHookRelay(), onNews: (each: HookNews) => void news.push(each) };
  const config = toHookConfig({ [event]: [{ hooks, ...matcher }] }, (line) => lines.push(line), { relay });
  const [[hook] = []] = Object.values(config) as unknown as {
    run: (given: unknown, how: object) => Promise<unknown>;
  }[][];
  const answer = await hook?.run({ session: 's-1', cwd: '/w', ...input }, { signal });
  return { told, ids, news, answer: answer as Record<string, unknown> | null, lines, names: Object.keys(config), hook };
}

const call = { tool: 'write', input: { path: 'a', content: 'x' }, toolUseId: 'toolu_1', mode: 'dontAsk' };

test('a hook is told calls in the program’s words, and what it changes comes back in ours (Q7 Q8)', async () => {
  const hookSpecificOutput = {
    hookEventName: 'PreToolUse',
    permissionDecision: 'allow',
    permissionDecisionReason: 'fine',
    updatedInput: { file_path: 'b', content: 'x' },
  } as const;
  const { told, ids, answer, names } = await asked('PreToolUse', { hookSpecificOutput }, call, {
    matcher: 'Write|Edit',
  });
  expect([names, ids]).toEqual([['preTool'], ['toolu_1']]);
  expect(told).toEqual([
    {
      hook_event_name: 'PreToolUse',
      session_id: 's-1',
      transcript_path: '',
      cwd: '/w',
      permission_mode: 'default',
      tool_name: 'Write',
      tool_input: { file_path: 'a', content: 'x' },
      tool_use_id: 'toolu_1',
    },
  ]);
  expect(answer).toEqual({ decision: 'allow', reason: 'fine', input: { path: 'b', content: 'x' }, stop: undefined });
});

test.each([
  ['Write', 1],
  ['Writ', 0],
  ['.*', 1],
  ['*', 1],
  ['', 1],
  ['Bash|Read', 0],
] as const)('a matcher %j means whole names: a call of Write asks %d times (Q7)', async (matcher, times) => {
  expect((await asked('PreToolUse', {}, call, { matcher })).told).toHaveLength(times);
});

test('a call that went well and one that failed are events of their own (Q7)', async () => {
  const told = async (event: HookEvent, isError: boolean) =>
    (await asked(event, {}, { ...call, isError, content: 'said' })).told;
  expect(await told('PostToolUse', false)).toMatchObject([
    { tool_response: { type: 'update', filePath: 'a', content: 'x', structuredPatch: [] } },
  ]);
  expect(await told('PostToolUse', true)).toEqual([]);
  expect(await told('PostToolUseFailure', true)).toMatchObject([{ error: 'said' }]);
  expect(await told('PostToolUseFailure', false)).toEqual([]);
});

test.each([
  ['PreToolUse', { decision: 'block', reason: 'no' }, { decision: 'deny', reason: 'no' }],
  ['PreToolUse', { decision: 'approve' }, { decision: 'allow' }],
  ['PreToolUse', { continue: false, stopReason: 'enough' }, { stop: 'enough' }],
  ['PostToolUse', { decision: 'block', reason: 'look again' }, { context: 'look again' }],
  [
    'PostToolUse',
    { hookSpecificOutput: { hookEventName: 'PostToolUse', additionalContext: 'by the way' } },
    { context: 'by the way' },
  ],
  ['UserPromptSubmit', { decision: 'block', reason: 'not this' }, { stop: 'not this' }],
  ['UserPromptSubmit', { continue: false }, { stop: 'a UserPromptSubmit hook of the program said so' }],
  ['Stop', { decision: 'block', reason: 'run the tests' }, { block: 'run the tests' }],
  ['Stop', { continue: false, stopReason: 'enough' }, { prevent: 'enough' }],
] as const)('%s that says %j comes to %j (Q7)', async (event, said, expected) => {
  const input = { ...call, isError: false, content: '', prompts: ['p', 'q'], active: false, text: 't' };
  const { answer } = await asked(event, said, input);
  expect(Object.fromEntries(Object.entries(answer ?? {}).filter(([, value]) => value !== undefined))).toEqual(expected);
});

test('a hook’s message goes to a person, its timeout is in seconds, and an event that never comes is known (Q7)', async () => {
  const { lines, hook, told } = await asked(
    'UserPromptSubmit',
    { systemMessage: 'hello' },
    { prompts: ['p', 'q'] },
    { timeout: 1.5 },
  );
  const timeoutMs = 1_500 + MOST_WAIT_MS;
  expect([lines, hook]).toEqual([['hello'], expect.objectContaining({ timeoutMs, name: 'UserPromptSubmit' })]);
  expect(told).toMatchObject([{ prompt: 'p\n\nq' }]);
  expect(unknownEvents({ Stop: [], Notification: [], Setup: [] })).toEqual(['Setup']);
});

const waiting = {
  tool: 'edit',
  input: { path: 'a', old: 'x' },
  toolUseId: 't-1',
  reason: 'r',
} as unknown as WaitingApproval;

test.each<[string, Awaited<ReturnType<CanUseTool>>, object]>([
  ['allows', { behavior: 'allow' }, { kind: 'allow' }],
  ['allows with the same input', { behavior: 'allow', updatedInput: { file_path: 'a', old: 'x' } }, { kind: 'allow' }],
  [
    'changes the input',
    { behavior: 'allow', updatedInput: { file_path: 'b' } },
    { kind: 'allow', input: { path: 'b' } },
  ],
  ['denies', { behavior: 'deny', message: 'no' }, { kind: 'deny', reason: 'no', interrupt: false }],
  [
    'stops',
    { behavior: 'deny', message: '', interrupt: true },
    { kind: 'deny', reason: 'the program denied it', interrupt: true },
  ],
])('canUseTool that %s (Q8)', async (_, said, expected) => {
  const asks: unknown[] = [];
  const canUseTool: CanUseTool = (name, input, { toolUseID, decisionReason }) => {
    asks.push([name, structuredClone(input), toolUseID, decisionReason]);
    // Changing the input object in place is not an answer.
    input['file_path'] = 'changed';
    return Promise.resolve(said);
  };
  expect(await createApprovalHandler(canUseTool, { say: () => undefined })(waiting, { signal })).toEqual(expected);
  expect(asks).toEqual([['Edit', { file_path: 'a', old: 'x' }, 't-1', 'r']]);
});

test('canUseTool that throws, or is not there, denies, and the model reads why (Q8)', async () => {
  const lines: string[] = [];
  const fails = () => Promise.reject(new Error('out of order'));
  expect(await createApprovalHandler(fails, { say: (line) => void lines.push(line) })(waiting, { signal })).toEqual({
    kind: 'deny',
    reason: 'the program could not decide: out of order',
  });
  expect(lines).toEqual(['canUseTool failed about Edit: out of order']);
  expect(await createApprovalHandler(undefined, { say: () => undefined })(waiting, { signal })).toEqual({
    kind: 'deny',
    reason: 'the program does not answer',
  });
});

test('a question is a call of AskUserQuestion, answered in its input, and anything else declines it (Q8 L81)', async () => {
  const question = {
    ...waiting,
    tool: 'ask_user',
    input: { question: 'Which?', options: ['a', 'b'] },
  } as WaitingApproval;
  const asks: unknown[] = [];
  const answering = (said: Awaited<ReturnType<CanUseTool>>) => {
    const canUseTool: CanUseTool = (...given) => {
      asks.push(given.slice(0, 2));
      return Promise.resolve(said);
    };
    return createQuestionHandler(canUseTool, { say: () => undefined })(question, { signal });
  };
  const answers = (of: object) => answering({ behavior: 'allow', updatedInput: { answers: of } });
  expect(await answers({ 'Which?': 'b' })).toEqual({ kind: 'answer', text: 'b' });
  expect(await answers({ 'Other?': 'b' })).toEqual({ kind: 'deny', reason: 'the program does not answer' });
  expect(await answering({ behavior: 'allow' })).toEqual({ kind: 'deny', reason: 'the program does not answer' });
  expect(await answering({ behavior: 'deny', message: 'later' })).toEqual({ kind: 'deny', reason: 'later' });
  const labels = ['a', 'b'].map((label) => ({ label, description: '' }));
  expect(asks[0]).toEqual([
    'AskUserQuestion',
    { questions: [{ question: 'Which?', header: '', options: labels, multiSelect: false }] },
  ]);
});

test('several questions are asked at once, and a question with options may be answered in other words (Q8 L81)', async () => {
  const answering = (input: object, answers: object) => {
    const canUseTool: CanUseTool = (_, shown) => {
      expect(shown).toMatchObject({ questions: expect.arrayContaining([expect.objectContaining({ header: 'Kind' })]) });
      return Promise.resolve({ behavior: 'allow', updatedInput: { ...shown, answers } });
    };
    const question = { ...waiting, tool: 'ask_user', input } as WaitingApproval;
    return createQuestionHandler(canUseTool, { say: () => undefined })(question, { signal });
  };
  const text = '1. [Kind] Which?\n- A\n- B\n\n2. What else? (choose any)\n- C\n- D';
  expect(await answering({ question: text }, { 'Which?': 'A', 'What else?': ['C', 'D'] })).toEqual({
    kind: 'answer',
    text: 'Which? A\nWhat else? C, D',
  });
  const choice = { question: '[Kind] Which?', options: ['A', 'B'] };
  expect(await answering(choice, { 'Which?': 'neither' })).toEqual({
    kind: 'deny',
    reason: 'the user chose none of the options, and answered: neither',
  });
});

test('a program hears that a hook started and what it said, of the hooks that ran and no others (Q7)', async () => {
  const ended = { ...call, isError: false, content: 'said' };
  const { news } = await asked('PostToolUse', { systemMessage: 'well' }, ended);
  const facts = { type: 'system', hook_name: 'PostToolUse', hook_event: 'PostToolUse' };
  expect(news).toMatchObject([
    { ...facts, subtype: 'hook_started' },
    { ...facts, subtype: 'hook_response', output: '{"systemMessage":"well"}', outcome: 'success' },
  ]);
  expect(news[0]?.hook_id).toBe(news[1]?.hook_id);
  expect((await asked('PostToolUseFailure', {}, ended)).news).toEqual([]);
  expect((await asked('PreToolUse', {}, call, { matcher: 'Bash' })).news).toEqual([]);
});

test('a hook that throws, or takes longer than its timeout, has failed for watchers, too (Q7)', async () => {
  const news: HookNews[] = [];
  const relay = { ...createHookRelay(), onNews: (each: HookNews) => void news.push(each) };
  const run = async (hook: () => Promise<never>, timeout: number) => {
    const config = toHookConfig({ PreToolUse: [{ hooks: [hook], timeout }] }, () => undefined, { relay });
    const [each] = (config.preTool ?? []) as { run: (given: unknown, how: object) => Promise<unknown> }[];
    await expect(each?.run({ session: 's-1', ...call }, { signal })).rejects.toThrow();
  };
  await run(() => Promise.reject(new Error('ill')), 60);
  await run(() => new Promise<never>(() => undefined), 0.01);
  const ends = news.flatMap((each) => (each.subtype === 'hook_response' ? [[each.outcome, each.output]] : []));
  expect(ends).toEqual([
    ['error', 'ill'],
    ['error', 'timed out after 10 ms'],
  ]);
});

test('hooks are told the summary of a compaction, and of an agent that ended, with the mode of the query (Q7)', async () => {
  const compacted = { trigger: 'auto', before: 9, after: 1, summary: 'short' };
  expect((await asked('PostCompact', {}, compacted)).told).toMatchObject([
    { trigger: 'auto', compact_summary: 'short' },
  ]);
  const ended = { agent: { id: 'a-1', type: 'explore' }, text: 'found it' };
  const { told, names } = await asked('SubagentStop', {}, ended, { matcher: 'explore' });
  expect(names).toEqual(['agentEnded']);
  expect(told).toMatchObject([{ agent_id: 'a-1', agent_type: 'explore', last_assistant_message: 'found it' }]);
  expect((await asked('SubagentStop', {}, ended, { matcher: 'general' })).told).toEqual([]);
  const modes = [{ mode: 'bypass' }, { mode: 'plan' }, { mode: 'dontAsk' }].map(async (mode) => {
    const [first] = (await asked('PreToolUse', {}, { ...call, ...mode })).told as { permission_mode: string }[];
    return first?.permission_mode;
  });
  expect(await Promise.all(modes)).toEqual(['bypassPermissions', 'plan', 'default']);
});

test('the start of an agent is SubagentStart, with what it adds for the agent, and of a session SessionStart (Q7)', async () => {
  const agent = { id: 'agent-1-0', type: 'explore', root: 's-1', parent: 's-1', depth: 1 };
  const started = { session: 's-1.agent-1-0', agent };
  const hookSpecificOutput = { hookEventName: 'SubagentStart', additionalContext: 'Be quick.' } as const;
  const { told, names, answer } = await asked('SubagentStart', { hookSpecificOutput }, started, { matcher: 'explore' });
  expect(names).toEqual(['sessionStart']);
  expect(told).toMatchObject([{ session_id: 's-1', agent_id: 'agent-1-0', agent_type: 'explore' }]);
  expect(answer).toEqual({ context: 'Be quick.' });
  expect((await asked('SubagentStart', {}, started, { matcher: 'general' })).told).toEqual([]);
  expect((await asked('SubagentStart', {}, {})).told).toEqual([]);
  expect((await asked('SessionStart', {}, started)).told).toEqual([]);
  expect((await asked('SessionStart', {}, {}, { matcher: 'startup' })).told).toMatchObject([{ source: 'startup' }]);
  expect((await asked('SessionStart', {}, {}, { matcher: 'clear' })).told).toEqual([]);
});

test('hooks about the query itself are told in its process: one that fails is a line, and their texts are for the model (Q7)', async () => {
  const lines: string[] = [];
  const told: unknown[] = [];
  const hook = (given: unknown) => {
    told.push(given);
    return Promise.resolve({
      hookSpecificOutput: { hookEventName: 'SessionStart', additionalContext: 'Be brief.' },
    } as const);
  };
  const hooks = {
    SessionStart: [{ hooks: [hook, () => Promise.reject(new Error('ill'))] }, { matcher: 'startup', hooks: [hook] }],
  };
  const relay = createHookRelay();
  const about = {
    session: 's-1',
    cwd: '/w',
    mode: 'plan',
    signal,
    relay,
    say: (line: string) => void lines.push(line),
  };
  const said = await createProgramHooks(hooks, about).tell('SessionStart', { source: 'resume' }, 'resume');
  expect(contextOf(said)).toBe('Be brief.');
  const common = { hook_event_name: 'SessionStart', session_id: 's-1', transcript_path: '', cwd: '/w' };
  expect(told).toEqual([{ ...common, permission_mode: 'plan', source: 'resume' }]);
  expect(lines).toEqual(['a SessionStart hook of the program failed: ill']);
});

test('a PermissionRequest hook decides before canUseTool, and a Notification tells that somebody is asked (Q8)', async () => {
  const told: string[] = [];
  const deny = { hookSpecificOutput: { hookEventName: 'PermissionRequest', decision: { behavior: 'deny' } } } as const;
  const notified = (given: { hook_event_name: string }) => (told.push(given.hook_event_name), Promise.resolve({}));
  const hooks = createProgramHooks(
    {
      PermissionRequest: [{ matcher: 'Edit', hooks: [() => Promise.resolve(deny)] }],
      Notification: [{ hooks: [notified] }],
    },
    { session: 's-1', cwd: '/w', mode: 'default', signal, relay: createHookRelay(), say: () => undefined },
  );
  const canUseTool: CanUseTool = (name) => (told.push(name), Promise.resolve({ behavior: 'allow' }));
  const decide = createApprovalHandler(canUseTool, { hooks, say: () => undefined });
  const denied = { kind: 'deny', reason: 'a hook of the program denied it', interrupt: false };
  expect(await decide(waiting, { signal })).toEqual(denied);
  expect(await decide({ ...waiting, tool: 'bash', input: { command: 'ls' } }, { signal })).toEqual({ kind: 'allow' });
  expect(told).toEqual(['Notification', 'Notification', 'Bash']);
});

test('what is always allowed is not asked about again, and holds for no more than it says (Q8)', async () => {
  const asks: string[] = [];
  const canUseTool: CanUseTool = (name, input, { suggestions = [] }) => {
    asks.push(`${name} ${String(input['command'])}`);
    return Promise.resolve({ behavior: 'allow', updatedPermissions: suggestions });
  };
  const granted: SessionGrant[] = [];
  const grants = createGrants('/w', (what) => void granted.push(what));
  const decide = createApprovalHandler(canUseTool, { grants, say: () => undefined });
  const run = (command: string) => decide({ ...waiting, tool: 'bash', input: { command } }, { signal });
  for (const command of ['git log', 'git log', 'git push', 'git log && rm x']) await run(command);
  expect(asks).toEqual(['Bash git log', 'Bash git push', 'Bash git log && rm x']);
  expect(granted.at(-1)).toEqual({ rules: { allow: ['bash(git log)', 'bash(git push)'], deny: [], ask: [] } });
});

test('modes, denials and folders that are granted in an answer hold at once, or from the next message on (Q8)', () => {
  const granted: SessionGrant[] = [];
  const grants = createGrants('/w', (what) => void granted.push(what));
  const add = (update: object) => grants.add([{ destination: 'session', ...update } as PermissionUpdate]);
  const answers = (tool: string, input: object) => grants.answerTo({ ...waiting, tool, input })?.kind ?? 'asked';
  const edit = () => answers('edit', { path: 'a' });
  const rm = () => answers('bash', { command: 'rm x' });
  add({ type: 'setMode', mode: 'acceptEdits' });
  expect([edit(), rm()]).toEqual(['allow', 'asked']);
  add({ type: 'setMode', mode: 'bypassPermissions' });
  expect([edit(), rm()]).toEqual(['allow', 'allow']);
  add({ type: 'addRules', behavior: 'deny', rules: [{ toolName: 'Bash', ruleContent: 'rm:*' }] });
  expect([rm(), answers('bash', { command: 'ls && rm x' })]).toEqual(['deny', 'asked']);
  add({ type: 'removeRules', behavior: 'deny', rules: [{ toolName: 'Bash', ruleContent: 'rm:*' }] });
  expect(rm()).toBe('allow');
  add({ type: 'addDirectories', directories: ['../lib'] });
  expect(granted.at(-1)).toEqual({ directories: ['/lib'] });
  expect(() => add({ type: 'addRules', behavior: 'allow', rules: [{ toolName: 'Bash', ruleContent: '(' }] })).toThrow();
});
