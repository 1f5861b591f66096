import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { expect, test } from 'vitest';
import { addRunOptions, type RunFlags, runOptions } from '../../cli/run-options.ts';
import { parseDuration } from '../../client/units.ts';
import { tempDir } from '../support/temp-dir.ts';

test.each([
  ['1500ms', 1_500],
  ['90s', 90_000],
  ['30m', 1_800_000],
  ['2h', 7_200_000],
  ['1.5h', 5_400_000],
  ['1d', 86_400_000],
])('%s are %d milliseconds', (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test.each([['30'], ['m'], ['-5m'], ['5 m'], ['1h30m'], ['5M'], ['Infinityh'], ['']])('"%s" is not a time', (text) => {
  expect(parseDuration(text)).toBeNull();
});

const base = '/';
const options = (flags: RunFlags, from = base) => runOptions(flags, () => from);

test('takes what is given and nothing else', () => {
  expect(options({})).toEqual({});
  expect(
    options({
      model: 'm',
      maxTurns: '7',
      maxBudgetUsd: '0.5',
      timeoutMs: '90s',
      permissionMode: 'bypass',
      session: 'mine',
    }),
  ).toEqual({
    model: 'm',
    maxTurns: 7,
    maxBudgetUsd: 0.5,
    timeoutMs: 90_000,
    permissionMode: 'bypass',
    session: 'mine',
  });
});

test('takes models, budgets, a schema and times as they are written (L11 L19 L31 L51 L53 L55 L59 X2)', () => {
  const dir = tempDir();
  writeFileSync(join(dir, 'schema.json'), '{"type":"object"}');
  const budgets = [
    '--max-tokens',
    '9000',
    '--token-budget',
    '5000',
    '--task-budget',
    '70000',
    '--thinking',
    '2048',
    '--effort',
    'xhigh',
  ];
  const others = ['--fallback-model', 'b', '--fallback-model', 'c', '--output-schema', 'schema.json'];
  const written = [...budgets, ...others, '--approval-timeout', '2h'];
  const flags = addRunOptions(new Command()).parse(written, { from: 'user' }).opts<RunFlags>();
  expect(options(flags, dir)).toEqual({
    fallbackModels: ['b', 'c'],
    maxTokens: 9_000,
    tokenBudget: 5_000,
    taskBudget: 70_000,
    thinkingTokens: 2_048,
    effort: 'xhigh',
    outputSchema: { type: 'object' },
    approvalTimeoutMs: 7_200_000,
  });
});

test.each([
  ['is not there', null, 'does not exist'],
  ['is not JSON', '{', 'is not JSON'],
  ['is no object', '[]', 'is not a JSON object'],
  ['is too large', JSON.stringify({ title: 'x'.repeat(70_000) }), 'give at most 65536'],
  ['is far too large', 'x'.repeat(2_000_000), 'has 2000000 bytes'],
  [
    'no answer can be held to',
    '{"type":"object","properties":{},"requried":["sum"]}',
    'the output schema cannot be used: $ has "requried", which is not enforced: correct it or leave it out',
  ],
])('refuses an output schema that %s with a sentence (L53)', (_what, content, sentence) => {
  const dir = tempDir();
  if (content !== null) writeFileSync(join(dir, 's.json'), content);
  expect(() => options({ outputSchema: 's.json' }, dir)).toThrow(sentence);
  expect(() => options({ outputSchema: 's.json' }, dir)).toThrow(/^[^\n]*$/);
});

test.each([
  [['--wrap-up'], { wrapUp: true }],
  [['--no-wrap-up'], { wrapUp: false }],
  [['--instructions'], { instructions: true }],
  [['--no-instructions'], { instructions: false }],
  [['--snapshots'], { snapshots: true }],
  [['--no-snapshots'], { snapshots: false }],
  [[], {}],
])(
  'a wrap-up, a workspace’s instructions and captures are asked for, refused, or left to the worker: %j (L51 L78 T2)',
  (written, given) => {
    expect(options(addRunOptions(new Command()).parse(written, { from: 'user' }).opts<RunFlags>())).toEqual(given);
  },
);

test('rules of each kind are gathered in the order they are written (L55)', () => {
  const written = ['--deny', 'mcp__*', '--allow', 'bash(npm test)', '--deny', 'read(secrets/**)', '--ask', 'bash'];
  const flags = addRunOptions(new Command()).parse(written, { from: 'user' }).opts<RunFlags>();
  expect(options(flags)).toEqual({
    permissions: { allow: ['bash(npm test)'], deny: ['mcp__*', 'read(secrets/**)'], ask: ['bash'] },
  });
});

test('the value none takes an option back, of rules all that are not given with it (L57)', () => {
  const given = (...written: readonly string[]) =>
    options(addRunOptions(new Command()).parse(written, { from: 'user' }).opts<RunFlags>());
  const texts = ['model', 'system-prompt', 'permission-mode', 'fallback-model', 'output-schema', 'timeout'];
  const numbers = ['max-turns', 'max-budget-usd', 'max-tokens', 'token-budget', 'task-budget', 'thinking'];
  expect(given(...[...texts, ...numbers, 'approval-timeout'].flatMap((name) => [`--${name}`, 'none']))).toEqual({
    model: null,
    systemPrompt: null,
    permissionMode: null,
    fallbackModels: null,
    outputSchema: null,
    timeoutMs: null,
    maxTurns: null,
    maxBudgetUsd: null,
    maxTokens: null,
    tokenBudget: null,
    taskBudget: null,
    thinkingTokens: null,
    approvalTimeoutMs: null,
  });
  expect(given('--ask', 'none')).toEqual({ permissions: null });
  expect(given('--ask', 'none', '--deny', 'bash')).toEqual({ permissions: { deny: ['bash'] } });
  expect(given('--ask', 'none', '--ask', 'none')).toEqual({ permissions: null });
  expect(given('--fallback-model', 'none', '--fallback-model', 'none')).toEqual({ fallbackModels: null });
});

test.each<[RunFlags, string]>([
  [{ permissionMode: 'bypass', ask: ['bash'] }, 'permission mode "bypass" asks about nothing'],
  [{ ask: ['none', 'bash'] }, '--ask none removes all values, but others are given with it: leave one of them out'],
  [{ deny: ['bash', 'none'], ask: ['none'] }, '--deny none removes all values, but others are given with it'],
  [{ fallbackModels: ['none', 'm2'] }, '--fallback-model none removes all values, but others are given with it'],
  [{ maxTurns: '0' }, 'max turns is 0: give a whole number from 1 to 1000000'],
  [{ maxTurns: '-3' }, 'max turns is -3'],
  [{ maxTurns: '2.5' }, 'max turns is 2.5'],
  [{ maxTurns: '1e9' }, 'max turns is 1000000000'],
  [{ maxTurns: 'many' }, '--max-turns "many" is not a number'],
  [{ maxBudgetUsd: '-1' }, 'max budget is -1'],
  [{ maxBudgetUsd: 'NaN' }, '--max-budget-usd "NaN" is not a number'],
  [{ timeoutMs: '30' }, '--timeout "30" is not a time: write 1500ms, 90s, 30m or 2h'],
  [{ timeoutMs: '9999d' }, 'timeout is'],
  [{ permissionMode: 'yolo' }, 'permission mode "yolo" is not one of default, acceptEdits, plan, dontAsk, bypass'],
  [{ ask: ['bash(a|b)'] }, 'permission rule "bash(a|b)" is not one simple command'],
  [{ model: ' ' }, 'the model is empty'],
  [{ model: 'sonet' }, '"sonet" is no model: did you mean sonnet?'],
  [{ fallbackModels: ['opus', 'claude-hiaku-5-5'] }, '"claude-hiaku-5-5" is no model: did you mean claude-haiku-5-5'],
  [{ effort: 'much' }, 'effort "much" is not one of low, medium, high, xhigh, max'],
  [{ maxTokens: '0' }, 'max tokens is 0'],
  [{ tokenBudget: '1.5' }, 'token budget is 1.5'],
  [{ taskBudget: 'all' }, '--task-budget "all" is not a number'],
  [{ thinkingTokens: '100' }, 'thinking tokens is 100: give a whole number from 1024'],
  [{ fallbackModels: ['a', ' '] }, 'a fallback model is empty'],
  [{ fallbackModels: Array.from({ length: 11 }, () => 'a') }, '11 fallback models are given: give at most 10'],
  [{ approvalTimeoutMs: '2' }, '--approval-timeout "2" is not a time'],
  [{ toolEnv: ['CI'] }, '--tool-env "CI" has no value: write name=value'],
  [{ additionalDirectories: [''] }, '--add-dir is empty: name a directory'],
  [{ additionalDirectories: ['/'] }, 'the additional directory "/" is the whole machine'],
  [{ additionalDirectories: ['none', 'lib'] }, '--add-dir none removes all values'],
  [{ toolEnv: ['PERDURE_DATA=/'] }, 'the variable "PERDURE_DATA" for tools is a setting of Perdure'],
  [{ session: 'a/b' }, '"a/b" is no session id'],
  [{ session: 'x'.repeat(200) }, 'is no session id'],
  [{ systemPrompt: 'x'.repeat(100_001) }, 'the system prompt has 100001 characters: give at most 100000'],
])('refuses %j with a sentence', (flags, sentence) => {
  expect(() => options(flags)).toThrow(sentence);
});

test('takes a folder relative to where it was called, if it can be read', () => {
  const dir = tempDir();
  mkdirSync(join(dir, 'sub'));
  writeFileSync(join(dir, 'file'), '');
  expect(options({ cwd: 'sub' }, dir)).toEqual({ cwd: join(dir, 'sub') });
  expect(() => options({ cwd: 'file' }, dir)).toThrow(`${dir}/file is not a directory`);
  expect(() => options({ cwd: '' }, dir)).toThrow('--cwd is empty: name a directory, or . for this one');
  expect(() => options({ cwd: 'none' }, dir)).toThrow(`the directory ${dir}/none does not exist`);
});

// Root may read everything.
test.skipIf(process.getuid?.() === 0)('refuses a folder that cannot be read', () => {
  const dir = tempDir();
  mkdirSync(join(dir, 'shut'), { mode: 0 });
  expect(() => options({ cwd: 'shut' }, dir)).toThrow('cannot be read');
  chmodSync(join(dir, 'shut'), 0o700);
});
