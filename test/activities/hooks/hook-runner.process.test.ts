// What the answers of several hooks come to, and hooks that are functions.
import { readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import type { HookProgress } from '../../../activities/hooks/hooks.ts';
import { createHookRunner } from '../../../activities/hooks/hook-runner.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { hookContext, node, runner } from './support.ts';

const call = { name: 'bash', input: { command: 'ls' } };

test('pre-tool hooks run in order, each on the input the last one left (L33)', async () => {
  const seen: unknown[] = [];
  const add =
    (letter: string) =>
    ({ input }: { readonly input: unknown }) => {
      seen.push(input);
      return { input: { command: `${(input as { command: string }).command} ${letter}` } };
    };
  const { input } = await runner({ preTool: [add('a'), () => undefined, add('b')] }).preTool(hookContext(), call);
  expect(seen).toEqual([{ command: 'ls' }, { command: 'ls a' }]);
  expect(input).toEqual({ command: 'ls a b' });
});

test('of the answers of pre-tool hooks deny outweighs ask and ask outweighs allow (L55)', async () => {
  const allow = () => ({ decision: 'allow' }) as const;
  const ask = () => ({ decision: 'ask', reason: 'look first' }) as const;
  const deny = () => ({ decision: 'deny', reason: 'no' }) as const;
  const decide = async (...preTool: readonly (() => { readonly decision: 'allow' | 'ask' | 'deny' })[]) =>
    (await runner({ preTool }).preTool(hookContext(), call)).decision;
  expect(await decide(allow, ask, allow)).toEqual({ kind: 'ask', why: 'look first' });
  expect(await decide(allow, deny, ask)).toEqual({ kind: 'deny', why: 'no' });
  expect(await decide(allow)).toEqual({ kind: 'allow' });
});

test('a denial can be fatal, another decision cannot (L34)', async () => {
  const fatal = (decision: 'deny' | 'ask') => () => ({ decision, reason: 'no', fatal: true });
  expect((await runner({ preTool: [fatal('deny')] }).preTool(hookContext(), call)).decision).toEqual({
    kind: 'deny',
    why: 'no',
    fatal: true,
  });
  const { decision, failed } = await runner({ preTool: [fatal('ask')] }).preTool(hookContext(), call);
  expect(decision).toBeNull();
  expect(failed[0]?.detail).toBe(
    'its answer is not one of a preTool hook: fatal: only a decision to deny can be fatal',
  );
});

test('what a hook does to its input changes nothing but its own copy', async () => {
  const spoil = ({ input }: { readonly input: unknown }): void => {
    (input as { command: string }).command = 'rm -rf /';
  };
  const input = { command: 'ls' };
  const verdict = await runner({ preTool: [spoil] }).preTool(hookContext(), { name: 'bash', input });
  expect({ input, given: verdict.input }).toEqual({ input: { command: 'ls' }, given: undefined });
});

test('a hook about some tools is not asked about others', async () => {
  const deny = { tools: ['mcp__*', 'bash'], run: () => ({ decision: 'deny', reason: 'no' }) as const };
  const hooks = runner({ preTool: [deny] });
  const decided = async (name: string) => (await hooks.preTool(hookContext(), { name, input: {} })).decision?.kind;
  expect([await decided('bash'), await decided('mcp__x__y'), await decided('bashful')]).toEqual([
    'deny',
    'deny',
    undefined,
  ]);
  expect([hooks.has('preTool'), hooks.has('preTool', 'bash'), hooks.has('preTool', 'read')]).toEqual([
    true,
    true,
    false,
  ]);
});

test('the first reason to stop is the one that is told (L41)', async () => {
  const { stop, context } = await runner({
    postTool: [() => ({ context: 'careful' }), () => ({ stop: 'enough' }), () => ({ stop: 'quite' })],
  }).postTool(hookContext(), { ...call, content: '', isError: false });
  expect({ stop, context }).toEqual({ stop: 'enough', context: [{ hook: 'function', text: 'careful' }] });
});

test('a stop hook that prevents outweighs those that block, whose texts are told together (L30)', async () => {
  const block = (text: string) => () => ({ block: text });
  const verdict = async (...stop: readonly (() => { block?: string; prevent?: string })[]) =>
    (await runner({ stop }).stop(hookContext(), { text: 'done', active: true, system: [] })).verdict;
  expect(await verdict(block('tests fail'), block('lint fails'))).toEqual({
    kind: 'blocked',
    text: 'tests fail\n\nlint fails',
  });
  expect(await verdict(block('tests fail'), () => ({ prevent: 'over' }))).toEqual({
    kind: 'prevented',
    detail: 'over',
  });
});

test('a stop hook that asks for it is told a file with what was said, which is gone with the hooks (L30)', async () => {
  const folder = join(tempDir(), 'data', 'told');
  const seen: unknown[] = [];
  const hooks = createHookRunner(
    {
      stop: [
        {
          transcript: true,
          run: ({ transcript = '' }) => {
            const [file, dir] = [statSync(transcript), statSync(dirname(transcript))];
            seen.push([readFileSync(transcript, 'utf8'), file.mode & 0o777, dir.mode & 0o777, dirname(transcript)]);
          },
        },
        {
          transcript: true,
          command: node(
            'const { transcript } = JSON.parse(fs.readFileSync(0)); console.error(fs.readFileSync(transcript, "utf8")); process.exit(2)',
          ),
        },
        (told) => void seen.push(Object.keys(told).includes('transcript')),
      ],
    },
    { env: { PATH: process.env['PATH'] }, folder },
  );
  const stop = async () =>
    await hooks.stop(hookContext(), { text: '', active: false, system: [] }, async () => 'User:\nGo.');
  const { verdict, failed } = await stop();
  expect(new Set(seen)).toEqual(new Set([false, ['User:\nGo.', 0o600, 0o700, folder]]));
  expect({ verdict, failed }).toEqual({ verdict: { kind: 'blocked', text: 'User:\nGo.' }, failed: [] });
  expect(readdirSync(folder)).toEqual([]);
  // What a killed worker left goes with the next one that is old enough.
  writeFileSync(join(folder, 'old.txt'), 'x');
  writeFileSync(join(folder, 'new.txt'), 'x');
  utimesSync(join(folder, 'old.txt'), 0, 0);
  await stop();
  expect(readdirSync(folder)).toEqual(['new.txt']);
});

test('one that cannot be told it has failed, and the others are asked (L30)', async () => {
  const folder = join(tempDir(), 'file');
  writeFileSync(folder, '');
  const stop = [
    { name: 'guard', transcript: true, run: () => ({ prevent: 'x' }) },
    () => ({ block: 'the tests fail' }),
  ];
  const hooks = createHookRunner({ stop }, { env: {}, folder });
  const ran = await hooks.stop(hookContext(), { text: '', active: false, system: [] }, async () => 'x');
  expect(ran.verdict).toEqual({ kind: 'blocked', text: 'the tests fail' });
  expect(ran.failed).toMatchObject([
    { hook: 'guard', detail: expect.stringMatching(/could not be written: EEXIST/) as string },
  ]);
});

test('a function that throws, answers nonsense or does not end is reported and is no vote (L30)', async () => {
  const stop = [
    { name: 'throws', run: () => Promise.reject(new Error('boom')) },
    { name: 'nonsense', run: () => ({ blok: 'x' }) as object },
    { name: 'hangs', timeoutMs: 20, run: () => new Promise<void>(() => {}) },
  ];
  const { verdict, failed } = await runner({ stop }).stop(hookContext(), { text: '', active: false, system: [] });
  expect(verdict).toEqual({ kind: 'passed' });
  expect(failed).toEqual([
    { hook: 'throws', detail: 'boom' },
    { hook: 'nonsense', detail: expect.stringContaining('blok') },
    { hook: 'hangs', detail: 'timed out after 20 ms' },
  ]);
});

/** An answer nested this deep. */
function nested(levels: number): object {
  let value = {};
  for (let level = 0; level < levels; level += 1) value = { value };
  return value;
}

const circle: Record<string, unknown> = {};
circle['value'] = circle;

test.each([
  ['a bigint', { value: 1n }, /BigInt/],
  ['a circle', circle, /circular structure/i],
  ['201 levels', nested(200), /nested more than 200 levels/],
  ['20,000 levels', nested(20_000), /Maximum call stack|nested more than 200 levels/],
  [
    'what throws when it is read',
    Object.defineProperty({}, 'value', { enumerable: true, get: () => nothing() }),
    /text/,
  ],
])('an input of %s is a failure that is told, and the next hook gets the one before (L33)', async (_, input, why) => {
  const next = {
    name: 'next',
    command: 'grep -q \'"input":{"command":"ls"}\' && exit 0; echo other input >&2; exit 2',
  };
  const bad = { name: 'bad', run: () => ({ decision: 'allow', input }) as const };
  const verdict = await runner({ preTool: [bad, next] }).preTool(hookContext(), call);
  const detail = expect.stringMatching(new RegExp(`^its answer is not JSON: .*${why.source}`, why.flags)) as string;
  expect(verdict).toEqual({ decision: null, input: undefined, stop: null, failed: [{ hook: 'bad', detail }] });
});

/** Throws what cannot be told in words. */
function nothing(): never {
  throw Object.create(null);
}

test('what a hook answers is told to the next as JSON, and what it does to it later changes nothing (L33)', async () => {
  const answered = { at: new Date(0), list: [undefined], gone: undefined };
  const { input } = await runner({ preTool: [() => ({ input: answered })] }).preTool(hookContext(), call);
  answered.list.push(undefined);
  expect(input).toEqual({ at: '1970-01-01T00:00:00.000Z', list: [null] });
});

test('of every kind, a hook that throws what has no text is reported and changes nothing (L30)', async () => {
  const hooks = runner({
    sessionStart: [nothing],
    promptSubmitted: [nothing],
    postTool: [nothing],
    preCompact: [nothing],
    stop: [nothing],
  });
  const context = hookContext();
  const failed = [{ hook: expect.any(String) as string, detail: expect.any(String) as string }];
  expect(await hooks.sessionStart(context)).toEqual({ context: [], failed });
  expect(await hooks.promptSubmitted(context, [])).toEqual({ context: [], stop: null, failed });
  const called = { ...call, content: '', isError: false };
  expect(await hooks.postTool(context, called)).toEqual({ context: [], stop: null, failed });
  expect(await hooks.preCompact(context, { trigger: 'auto', tokens: 1 })).toEqual({ instructions: [], failed });
  expect(await hooks.stop(context, { text: '', active: false, system: [] })).toEqual({
    verdict: { kind: 'passed' },
    failed,
  });
});

test('texts are bounded: 10,000 characters for the model, 4,000 through the workflow, and no half of a character', async () => {
  const long = `${'x'.repeat(3_998)}\u{1f600}${'x'.repeat(20_000)}`;
  const { context, stop } = await runner({
    promptSubmitted: [() => ({ context: long, stop: long })],
  }).promptSubmitted(hookContext(), []);
  expect(context[0]?.text).toHaveLength(10_000);
  expect(stop).toBe(`${'x'.repeat(3_998)}\uFFFD…`);
});

test('whoever watches is told of each hook as it starts and ends (L60)', async () => {
  const events: HookProgress[] = [];
  const watch = (event: HookProgress): void => void events.push(event);
  await runner({ sessionStart: [{ name: 'greet', run: () => ({ context: 'hello' }) }] }).sessionStart(
    hookContext({ watch }),
  );
  expect(events).toEqual([
    { type: 'start', hook: 'greet' },
    { type: 'end', hook: 'greet', result: 'context' },
  ]);
});
