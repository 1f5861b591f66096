// A model that writes a call as text instead of making it (L15), and one that makes the same call
// for ever (L34), as runs meet them.
import { expect, test } from 'vitest';
import { findTextCall } from '../../activities/model/store-reply.ts';
import { reply, toolUse, type Reply } from '../../scripted-model/index.ts';
import { resultOf } from '../../store/view/result.ts';
import { memoryLoop } from '../../client/testing/memory-loop.ts';
import type { RunOptions } from '../../workflows/contract/session.ts';
import { benchDeps, SESSION, type BenchOptions } from '../support/bench-deps.ts';
import { tempDir } from '../support/temp-dir.ts';

const written = 'court\n<invoke name="look">\n<parameter name="at">a</parameter>\n</invoke>';

async function play(script: readonly Reply[], options: Partial<RunOptions> = {}, more: Partial<BenchOptions> = {}) {
  const { deps, bodies } = await benchDeps({ script: [...script], ...more });
  const run = await memoryLoop(deps, { session: SESSION, text: 'Look.', options: { cwd: tempDir(), ...options } });
  const result = resultOf(run, 1);
  if (!result) throw new Error('the run has no end');
  const notices = run.entries.flatMap((entry) => (entry.kind === 'notice' ? [entry.notice] : []));
  return { result, notices, last: JSON.stringify(bodies().at(-1)), requests: bodies().length };
}

test('a call that the model wrote as text is asked for again, and then made (L15)', async () => {
  const { result, notices, requests } = await play([
    reply(written),
    reply([toolUse('look', { at: 'a' })]),
    reply('It is there.'),
  ]);
  expect(result).toMatchObject({ reason: 'completed', text: 'It is there.' });
  expect(result.transitions.map(({ reason }) => reason)).toEqual(['call_as_text_retry', 'next_turn']);
  expect(notices).toEqual([{ kind: 'call_as_text', name: 'look' }]);
  expect(requests).toBe(3);
});

test('one that it writes once more ends the run, and people are told that nothing ran (L15)', async () => {
  const { result, notices, last } = await play([reply(written), reply(written)]);
  expect(result.reason).toBe('completed');
  expect(notices).toEqual([
    { kind: 'call_as_text', name: 'look' },
    { kind: 'call_as_text', name: 'look', again: true },
  ]);
  expect(last).toContain('a call of the tool look written as text, so nothing ran');
});

test('a run without the tool may write of it as it likes (L15)', async () => {
  const { result, requests } = await play([reply(written)], { tools: [] });
  expect(result.reason).toBe('completed');
  expect(requests).toBe(1);
});

test('the model is told that its calls bring nothing new, and the run ends at the bound (L34)', async () => {
  const again = reply([toolUse('look', { at: 'a' })], { times: 'any' });
  const { result, notices, last, requests } = await play([again], {}, { defaults: { maxSameResults: 12 } });
  expect(result).toMatchObject({ reason: 'fatal_tool_error', turns: 12 });
  expect(notices.map(({ kind }) => kind)).toEqual(['same_results', 'same_results', 'error']);
  expect(last).toContain('got the same results again');
  expect(requests).toBe(12);
});

test('a model that is shown another result each time is left alone (L34)', async () => {
  const calls = Array.from({ length: 11 }, (_, at) => reply([toolUse('look', { at })]));
  expect((await play([...calls, reply('Done.')])).notices).toEqual([]);
});

const known = (name: string): boolean => ['bash', 'read'].includes(name.toLowerCase());

test.each([
  ['with a stray word before it', 'I will look.\n\ncourt\n<invoke name="Bash">\n<parameter name="command">', 'Bash'],
  ['in a list of calls', '<function_calls>\n<invoke name="read">', 'read'],
  ['with a prefix', '<ns:invoke name="bash"><ns:parameter', 'bash'],
  ['as JSON', '<tool_call>\n{"name": "bash", "arguments": {}}\n</tool_call>', 'bash'],
  ['after code that was closed', '```\nls\n```\n<invoke name="bash">', 'bash'],
])('a call %s is found (L15)', (_how, text, name) => {
  expect(findTextCall(text, known)).toBe(name);
});

test.each([
  ['in a block of code', 'So it goes:\n```xml\n<invoke name="bash">\n```\nThat is all.'],
  ['in code inside a longer fence', '````md\n```\n```\n<invoke name="bash">\n````'],
  ['in the middle of a line', 'It wrote `<invoke name="bash">`, and <invoke name="bash"> again.'],
  ['of a tool that there is none of', '<invoke name="deploy">'],
  ['without a name', '<function_calls>\n</function_calls>'],
])('what stands %s is no call (L15)', (_where, text) => {
  expect(findTextCall(text, known)).toBeUndefined();
});
