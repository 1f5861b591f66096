// Checks that calls are understood that models know from the SDK: each input here has the SDK's
// form, and the tool of ours accepts what becomes of it.
import { expect, test } from 'vitest';
import { inOwnNames } from '../../../store/transcript/tool-names.ts';
import { checkInput } from '../../../system/schema/input-schema.ts';
import { MODEL_TOOL_NAMES } from '../../../client/agent-sdk/names.ts';
import { checkConfig } from '../../../worker/config/config.ts';
import { probeSandbox } from '../../../tools/sandbox.ts';
import { createBuiltinTools } from '../../../tools/builtin/builtin-tools.ts';

const tools = createBuiltinTools({ sandbox: await probeSandbox({ kinds: ['group'] }) });

const options = [
  { label: 'A', description: 'a', preview: 'x' },
  { label: 'B', description: '' },
];
const question = { question: 'Which?', header: 'Kind', options, multiSelect: false };

const calls: readonly (readonly [string, object, string, object])[] = [
  [
    'Bash',
    { command: 'ls', timeout: 5, description: 'lists', run_in_background: true, dangerouslyDisableSandbox: true },
    'bash',
    { command: 'ls', timeout: 5, description: 'lists', background: true },
  ],
  ['Read', { file_path: 'a', offset: 2, limit: 3, allow_large: true }, 'read', { path: 'a', offset: 2, limit: 3 }],
  ['Write', { file_path: 'a', content: 'x' }, 'write', { path: 'a', content: 'x' }],
  [
    'Edit',
    { file_path: 'a', old_string: 'x', new_string: 'y', replace_all: true },
    'edit',
    { path: 'a', old_string: 'x', new_string: 'y', replace_all: true },
  ],
  ['Glob', { pattern: '*.ts', path: 'src' }, 'glob', { pattern: '*.ts', path: 'src' }],
  [
    'Grep',
    { pattern: 'x', glob: '*.ts', output_mode: 'files_with_matches', '-i': true, '-n': true, head_limit: 5 },
    'grep',
    { pattern: 'x', glob: '*.ts', output_mode: 'files', ignore_case: true, limit: 5 },
  ],
  [
    'Grep',
    { pattern: 'x', output_mode: 'content', '-A': 2 },
    'grep',
    { pattern: 'x', output_mode: 'content', context: 2 },
  ],
  [
    'Agent',
    { description: 'd', prompt: 'p', subagent_type: 'explore', model: 'haiku', run_in_background: true },
    'agent',
    { description: 'd', prompt: 'p', type: 'explore', background: true },
  ],
  [
    'Task',
    { description: 'd', prompt: 'p', subagent_type: 'general' },
    'agent',
    { description: 'd', prompt: 'p', type: 'general' },
  ],
  [
    'WebFetch',
    { url: 'https://example.com', prompt: 'what' },
    'web_fetch',
    { url: 'https://example.com', question: 'what' },
  ],
  [
    'TodoWrite',
    { todos: [{ content: 'a', status: 'in_progress', activeForm: 'A' }] },
    'todo',
    { tasks: [{ text: 'a', state: 'doing' }] },
  ],
  ['BashOutput', { bash_id: 'bg-0a1b2c3d' }, 'bash_output', { id: 'bg-0a1b2c3d' }],
  ['TaskOutput', { task_id: 'bg-0a1b2c3d', block: true, timeout: 5 }, 'bash_output', { id: 'bg-0a1b2c3d' }],
  ['KillShell', { shell_id: 'bg-0a1b2c3d' }, 'bash_stop', { id: 'bg-0a1b2c3d' }],
  ['TaskStop', { task_id: 'bg-0a1b2c3d' }, 'bash_stop', { id: 'bg-0a1b2c3d' }],
  [
    'AskUserQuestion',
    { questions: [question] },
    'ask_user',
    { question: '[Kind] Which?\n- A — a\n- B', options: ['A', 'B'] },
  ],
  [
    'AskUserQuestion',
    { questions: [question, { ...question, multiSelect: true }], metadata: { source: 'x' } },
    'ask_user',
    { question: '1. [Kind] Which?\n- A — a\n- B\n\n2. [Kind] Which? (choose any)\n- A — a\n- B' },
  ],
  [
    'AskUserQuestion',
    { question: 'Which?', options: ['A', 'B'] },
    'ask_user',
    { question: 'Which?', options: ['A', 'B'] },
  ],
];

test.each(calls)('a call of %s with %j is understood (Q7 L89)', (name, input, ours, expected) => {
  const call = { type: 'tool_use' as const, id: 'x', name, input };
  const named = inOwnNames(MODEL_TOOL_NAMES, call as never, () => false);
  expect(named).toMatchObject({ name: ours, input: expected });
  expect(named.input).toEqual(expected);
  const tool = tools.find((each) => each.name === ours);
  expect(tool && checkInput(tool.inputSchema, named.input)).toEqual({ ok: true, value: expected });
});

test('the names of tools and fields are a valid part of a configuration (Q7 L89)', () => {
  expect(() => checkConfig({ toolNames: MODEL_TOOL_NAMES }, 'the names')).not.toThrow();
});
