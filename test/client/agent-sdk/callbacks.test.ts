// Callbacks of a program: what its hooks and its `canUseTool` are told, and what their answers come to.
import { expect, test } from 'vitest';
import { approvalBy, hooksOf, questionBy, unknownEvents } from '../../../client/agent-sdk/callbacks.ts';
import type { HookJSONOutput } from '../../../client/agent-sdk/shapes/hook-answers.ts';
import type { HookCallbackMatcher, HookEvent } from '../../../client/agent-sdk/shapes/hooks.ts';
import type { CanUseTool } from '../../../client/agent-sdk/shapes/permissions.ts';
import type { WaitingApproval } from '../../../client/sessions/decide.ts';

const signal = new AbortController().signal;

/** What the program's hook was told, and what its answer is to us. */
async function asked(
  event: HookEvent,
  said: HookJSONOutput,
  input: object,
  matcher: Partial<HookCallbackMatcher> = {},
) {
  const told: unknown[] = [];
  const lines: string[] = [];
  const hooks = [
    (given: unknown) => {
      told.push(given);
      return Promise.resolve(said);
    },
  ];
  const config = hooksOf({ [event]: [{ hooks, ...matcher }] }, (line) => lines.push(line));
  const [[hook] = []] = Object.values(config) as unknown as {
    run: (given: unknown, how: object) => Promise<unknown>;
  }[][];
  const answer = await hook?.run({ session: 's-1', cwd: '/w', ...input }, { signal });
  return { told, answer: answer as Record<string, unknown> | null, lines, names: Object.keys(config), hook };
}

const call = { tool: 'write', input: { path: 'a', content: 'x' } };

test('a hook is told calls in the program’s words, and what it changes comes back in ours (Q7 Q8)', async () => {
  const hookSpecificOutput = {
    hookEventName: 'PreToolUse',
    permissionDecision: 'allow',
    permissionDecisionReason: 'fine',
    updatedInput: { file_path: 'b', content: 'x' },
  } as const;
  const { told, answer, names } = await asked('PreToolUse', { hookSpecificOutput }, call, { matcher: 'Write|Edit' });
  expect(names).toEqual(['preTool']);
  expect(told).toEqual([
    {
      hook_event_name: 'PreToolUse',
      session_id: 's-1',
      transcript_path: '',
      cwd: '/w',
      tool_name: 'Write',
      tool_input: { file_path: 'a', content: 'x' },
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
  expect(await told('PostToolUse', false)).toMatchObject([{ tool_response: 'said' }]);
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
  expect([lines, hook]).toEqual([['hello'], expect.objectContaining({ timeoutMs: 1_500, name: 'UserPromptSubmit' })]);
  expect(told).toMatchObject([{ prompt: 'p\n\nq' }]);
  expect(unknownEvents({ Stop: [], Notification: [] })).toEqual(['Notification']);
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
    // What it does to the input is not what it answers.
    input['file_path'] = 'changed';
    return Promise.resolve(said);
  };
  expect(await approvalBy(canUseTool, () => undefined)(waiting, { signal })).toEqual(expected);
  expect(asks).toEqual([['Edit', { file_path: 'a', old: 'x' }, 't-1', 'r']]);
});

test('canUseTool that throws, or is not there, denies, and the model reads why (Q8)', async () => {
  const lines: string[] = [];
  const fails = () => Promise.reject(new Error('out of order'));
  expect(await approvalBy(fails, (line) => lines.push(line))(waiting, { signal })).toEqual({
    kind: 'deny',
    reason: 'the program could not decide: out of order',
  });
  expect(lines).toEqual(['canUseTool failed about Edit: out of order']);
  expect(await approvalBy(undefined, () => undefined)(waiting, { signal })).toEqual({
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
    return questionBy(canUseTool, () => undefined)(question, { signal });
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
