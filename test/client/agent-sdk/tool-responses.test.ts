// Checks the structures that calls answer with, for hooks and messages, made of calls and the texts
// of our tools.
import { expect, test } from 'vitest';
import { toolResponse } from '../../../client/agent-sdk/tool-responses.ts';

const file = { file_path: 'f' };

test.each([
  ['Bash', {}, 'a\nb', { stdout: 'a\nb', stderr: '', interrupted: false, isImage: false }],
  ['Bash', {}, '(no output)', { stdout: '', stderr: '', interrupted: false, isImage: false }],
  [
    'Read',
    { ...file, offset: 3 },
    '     3\ta\n     4\t\tb',
    { type: 'text', file: { filePath: 'f', content: 'a\n\tb', numLines: 2, startLine: 3, totalLines: 4 } },
  ],
  [
    'Read',
    { ...file, limit: 1 },
    '     1\ta\n(lines 1 to 1; more follow, read on with offset 2)',
    { type: 'text', file: { filePath: 'f', content: 'a', numLines: 1, startLine: 1 } },
  ],
  [
    'Write',
    { ...file, content: 'a\n' },
    'created f (1 line, 2 bytes)',
    { type: 'create', filePath: 'f', content: 'a\n', structuredPatch: [], originalFile: null, userModified: false },
  ],
  ['Write', { ...file, content: 'a' }, 'updated f (1 line, 1 byte)', expect.objectContaining({ type: 'update' })],
  ['Glob', {}, 'a\nb\n(2 files)', { filenames: ['a', 'b'], numFiles: 2, truncated: false, durationMs: 7 }],
  ['Glob', {}, 'a\n(1200 files, first 1 shown)', expect.objectContaining({ filenames: ['a'], truncated: true })],
  ['Glob', {}, '(no files match)', expect.objectContaining({ filenames: [], numFiles: 0 })],
  [
    'Grep',
    { output_mode: 'files_with_matches' },
    'a\n(1 file)\n(without the files that permission rules deny)',
    { mode: 'files_with_matches', filenames: ['a'], numFiles: 1 },
  ],
  [
    'Grep',
    {},
    'a:1:(no matches)\n(1 match in 1 file)',
    { mode: 'content', content: 'a:1:(no matches)', numLines: 1, numMatches: 1, numFiles: 1, filenames: [] },
  ],
  ['WebFetch', { url: 'u' }, 'said', { url: 'u', result: 'said', bytes: 4, code: 200, codeText: 'OK', durationMs: 7 }],
  ['TodoWrite', { todos: [{ content: 'a' }] }, '[ ] a', { oldTodos: [], newTodos: [{ content: 'a' }] }],
  ['KillShell', { shell_id: 'bg-1' }, 'ended', { message: 'ended', task_id: 'bg-1', task_type: 'local_bash' }],
  [
    'Agent',
    { prompt: 'look', subagent_type: 'rev' },
    'Seen.\n\n(agent session s-1.agent-2-0: 1 turns, 120 tokens, $0.0004)',
    {
      status: 'completed',
      agentId: 'agent-2-0',
      agentType: 'rev',
      prompt: 'look',
      content: [{ type: 'text', text: 'Seen.' }],
      totalTokens: 120,
      totalDurationMs: 7,
    },
  ],
  ['mcp__shop__order', {}, 'a\nb', [{ type: 'text', text: 'a\nb' }]],
  ['wait', {}, 'a\nb', { content: 'a\nb' }],
] as const)('a call of %s with %j that came to %j is an object for programs (Q7)', (name, input, text, expected) => {
  expect(toolResponse(name, input, { text, ms: 7 })).toEqual(expected);
});

test('an edit is a patch: the replaced texts at their lines, each moved by what those before it added (Q7)', () => {
  const input = { ...file, old_string: 'b\n', new_string: 'B\nC\n', replace_all: true };
  expect(toolResponse('Edit', input, { text: 'edited f (2 replacements, lines 2, 9)' })).toEqual({
    filePath: 'f',
    oldString: 'b\n',
    newString: 'B\nC\n',
    originalFile: null,
    userModified: false,
    replaceAll: true,
    structuredPatch: [
      { oldStart: 2, oldLines: 1, newStart: 2, newLines: 2, lines: ['-b', '+B', '+C'] },
      { oldStart: 9, oldLines: 1, newStart: 10, newLines: 2, lines: ['-b', '+B', '+C'] },
    ],
  });
});

test('a command and an agent in the background are told by the ids they have (Q7)', () => {
  const text =
    'It runs in the background as bg-0123abcd, until it ends, bash_stop ends it, or this session ends. You are told when it has ended.';
  expect(toolResponse('Bash', { run_in_background: true }, { text })).toMatchObject({
    backgroundTaskId: 'bg-0123abcd',
  });
  expect(toolResponse('Bash', {}, { text })).not.toHaveProperty('backgroundTaskId');
  const started = 'Agent agent-1-0 works in the background (session s-1.agent-1-0). You are told when it has ended.';
  expect(toolResponse('Agent', { prompt: 'p', description: 'd' }, { text: started })).toMatchObject({
    status: 'async_launched',
    agentId: 'agent-1-0',
    prompt: 'p',
    description: 'd',
  });
});
