// The final answer of a run that was cut and continued: what is held against the schema, what stop
// hooks see and what is the result are the same text.
import { expect, test } from 'vitest';
import { resultOf } from '../../store/view/result.ts';
import { outputReader } from '../../client/sessions/outcome.ts';
import { fault, reply, type Reply } from '../../scripted-model/index.ts';
import type { RunOptions } from '../../workflows/contract/session.ts';
import { benchDeps, SESSION, type BenchOptions } from '../support/bench-deps.ts';
import { memoryLoop } from '../../client/testing/memory-loop.ts';
import { tempDir } from '../support/temp-dir.ts';

const outputSchema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] };
const cut = (words: string): Reply => fault({ maxTokensAfter: { block: 0, chars: words.length } }, `${words} and more`);

async function played(script: readonly Reply[], options: Partial<RunOptions>, hooks: BenchOptions['hooks'] = {}) {
  const { deps } = await benchDeps({ script: [...script], hooks });
  // A cap of the caller: nothing is raised, all is continued.
  const run = await memoryLoop(deps, {
    session: SESSION,
    text: 'Do it.',
    options: { cwd: tempDir(), maxOutputTokens: 100, ...options },
  });
  const result = resultOf(run, 1);
  if (!result) throw new Error('the run has no end');
  const { output } = await outputReader(deps.store)(run.entries, result);
  return { result, output, went: result.transitions.map(({ reason }) => reason) };
}

const recovery = 'max_output_tokens_recovery';
const again = 'structured_output_retry';

test.each<[string, readonly Reply[], readonly string[]]>([
  ['in two pieces', [cut('{"a":"once'), reply(' upon"}')], [recovery]],
  ['in four', [cut('{"a"'), cut(':"'), cut('once'), reply(' upon"}')], [recovery, recovery, recovery]],
  [
    'begun again instead of continued, and then whole',
    [cut('{"a": "x'), reply('{"a":"once upon"}'), reply('{"a":"once upon"}')],
    [recovery, again],
  ],
  [
    'begun again instead of continued, and then in two pieces',
    [cut('{"a": "x'), reply('{"a":"once upon"}'), cut('{"a":"once'), reply(' upon"}')],
    [recovery, again, recovery],
  ],
])('an answer %s is judged as what it joins to, and is the output (L27 L53)', async (_how, script, went) => {
  const run = await played(script, { outputSchema });
  expect(run.result.reason).toBe('completed');
  expect(run).toMatchObject({ went, output: { a: 'once upon' } });
});

test('stop hooks see the whole of a continued answer, as the result has it (L27 L30 L53)', async () => {
  const seen: string[] = [];
  const stop = [({ text }: { readonly text: string }) => void seen.push(text)];
  const { result } = await played([cut('Once '), cut('upon '), reply('a time.')], {}, { stop });
  expect(seen).toEqual(['Once upon a time.']);
  expect(result.text).toBe('Once upon a time.');
});

test('stop hooks are told the system prompt of the run, in its named parts (L30 L58)', async () => {
  const seen: (readonly { readonly name: string; readonly text: string }[])[] = [];
  const stop = [({ system }: { readonly system: (typeof seen)[number] }) => void seen.push(system)];
  await played([reply('Done.')], { systemPrompt: 'Be brief.' }, { stop });
  expect(seen[0]).toContainEqual({ name: 'the instructions', text: 'Be brief.' });
  expect(seen[0]?.map(({ name }) => name)).toContain('the workspace');
});

test('what follows a stop hook that blocked is an answer of its own (L27 L30 L53)', async () => {
  const seen: string[] = [];
  const stop = [({ text }: { readonly text: string }) => (seen.push(text), seen.length > 1 ? {} : { block: 'more' })];
  const script = [cut('{"a":"once'), reply(' upon"}'), reply('{"a":"a time"}')];
  const { output, went } = await played(script, { outputSchema }, { stop });
  expect(seen).toEqual(['{"a":"once upon"}', '{"a":"a time"}']);
  expect({ output, went }).toEqual({ output: { a: 'a time' }, went: [recovery, 'stop_hook_blocking'] });
});
