import { expect, test } from 'vitest';
import type { RunServer } from '../../../workflows/contract/mcp-servers.ts';
import { optionsProblem } from '../../../workflows/contract/options-problem.ts';
import type { RunOptions } from '../../../workflows/contract/session.ts';

const SHOP: RunServer = {
  name: 'shop',
  url: 'https://shop.example/mcp',
  config: { enabled: true, policy: 'always_ask' },
  tools: {},
};

test.each<[string, unknown]>([
  ['max turns', { maxTurns: 0 }],
  ['max turns', { maxTurns: 1.5 }],
  ['max turns', { maxTurns: null }],
  ['max budget', { maxBudgetUsd: Number.NaN }],
  ['max budget', { maxBudgetUsd: -1 }],
  ['timeout', { timeoutMs: Number.POSITIVE_INFINITY }],
  ['max output tokens', { maxOutputTokens: -5 }],
  ['permission mode', { permissionMode: 'all' }],
  [
    'permission mode "bypass" asks about nothing, and there are rules that ask: give the rules again without those',
    { permissionMode: 'bypass', permissions: { ask: ['bash'] } },
  ],
  ['model', { model: ' ' }],
  ['model', { model: {} }],
  ['working directory', { cwd: 'here' }],
  ['working directory', { cwd: 5 }],
  ['system prompt', { systemPrompt: ['a'] }],
  ['system prompt', { systemPrompt: 'x'.repeat(100_001) }],
  ['fallback models', { fallbackModels: 'a' }],
  ['11 fallback models', { fallbackModels: Array.from({ length: 11 }, (_, n) => `m${n}`) }],
  ['fallback model is empty', { fallbackModels: ['a', ' '] }],
  ['fallback model is not a text', { fallbackModels: [5] }],
  ['fallback model b comes right after itself', { fallbackModels: ['a', 'b', 'b'] }],
  ['fallback model a comes right after itself', { model: 'a', fallbackModels: ['a'] }],
  ['max tokens', { maxTokens: 0 }],
  ['token budget', { tokenBudget: 1.5 }],
  ['task budget is 19999: give a whole number from 20000', { taskBudget: 19_999 }],
  ['thinking tokens is 1023: give a whole number from 1024', { thinkingTokens: 1_023 }],
  ['no room for an answer', { thinkingTokens: 4_000, maxOutputTokens: 4_000 }],
  ['output schema is not an object', { outputSchema: [] }],
  ['output schema is not an object', { outputSchema: 'object' }],
  [
    'characters of JSON in all: give at most 196608',
    {
      systemPrompt: 'x'.repeat(99_000),
      permissions: { deny: Array.from({ length: 1_000 }, () => `bash(${'x'.repeat(90)})`) },
    },
  ],
  ['output schema has', { outputSchema: { description: 'x'.repeat(65_536) } }],
  ['the system context is no object', { systemContext: ['main'] }],
  ['"branch" of the user context is no text', { userContext: { branch: 5 } }],
  ['the name "a\\nb": give 1 to 60', { userContext: { 'a\nb': 'x' } }],
  [
    'the system context has 51 texts',
    { systemContext: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`${n}`, 'x'])) },
  ],
  ['the system context has 100001 characters', { systemContext: { a: 'x'.repeat(100_001) } }],
  ['approval timeout', { approvalTimeoutMs: 0 }],
  ['approval timeout', { approvalTimeoutMs: 366 * 24 * 3_600_000 }],
  ['the MCP servers are no list', { mcpServers: [{ ...SHOP, url: 'https://' }] }],
  ['the MCP servers are no list', { mcpServers: [{ ...SHOP, url: 'http://shop example/mcp' }] }],
  ['the MCP servers are no list', { mcpServers: [{ ...SHOP, url: 'https://shop.example:99999/mcp' }] }],
])('says what is wrong: %s, of %j', (what, options) => {
  const problem = optionsProblem(options as Partial<RunOptions>);
  expect(problem).toContain(what);
  expect(problem).not.toContain('\n');
});

test.each<RunOptions>([
  { cwd: '/tmp', maxTurns: 1, maxBudgetUsd: 0.01, timeoutMs: 1, systemPrompt: '' },
  { cwd: '/tmp', model: 'a', fallbackModels: ['b', 'a', 'b'], maxTokens: 1, tokenBudget: 1, taskBudget: 20_000 },
  { cwd: '/tmp', permissionMode: 'bypass', permissions: { deny: ['bash'], allow: ['read'], ask: [] } },
  { cwd: '/tmp', permissionMode: 'dontAsk', permissions: { ask: ['bash'] } },
  { cwd: '/tmp', thinkingTokens: 1_024, maxOutputTokens: 1_025, outputSchema: {}, approvalTimeoutMs: 0.5 },
])('has nothing against options that can be kept: %j', (options) => {
  expect(optionsProblem(options)).toBeUndefined();
});
