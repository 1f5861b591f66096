// Checks the arguments for a process that is never started, and the environment of a query.
import { expect, onTestFinished, test, vi } from 'vitest';
import { withExtraArgs } from '../../../client/agent-sdk/option-fates.ts';
import { ownEnv, requireKey } from '../../../client/agent-sdk/query-settings.ts';
import type { Options } from '../../../client/agent-sdk/shapes/options.ts';

const withArgs = (extraArgs: Record<string, string | null>, options: Options = {}, said: string[] = []): Options =>
  withExtraArgs({ ...options, extraArgs }, (line) => said.push(line));

test.each<[Record<string, string | null>, Options, Options]>([
  [{ 'json-schema': '{"type":"object"}' }, {}, { outputFormat: { type: 'json_schema', schema: { type: 'object' } } }],
  [
    { 'mcp-config': '{"mcpServers":{"a":{"command":"x"}}}' },
    { mcpServers: { b: { command: 'y' } } },
    { mcpServers: { b: { command: 'y' }, a: { command: 'x' } } },
  ],
  [
    { disallowedTools: 'Write,Bash(rm a, b)' },
    { disallowedTools: ['Edit'] },
    { disallowedTools: ['Edit', 'Write', 'Bash(rm a, b)'] },
  ],
  [{ 'allowed-tools': 'Read Grep' }, {}, { allowedTools: ['Read', 'Grep'] }],
  [{ 'append-system-prompt': 'B.' }, { systemPrompt: 'A.' }, { systemPrompt: ['A.', 'B.'] }],
  [{ 'append-system-prompt': 'B.' }, {}, { systemPrompt: { type: 'preset', preset: 'claude_code', append: 'B.' } }],
  [
    { model: 'opus', 'max-turns': '3', 'permission-mode': 'plan' },
    {},
    { model: 'opus', maxTurns: 3, permissionMode: 'plan' },
  ],
])('extraArgs %j beside %j are options (Q7)', (extraArgs, options, expected) => {
  expect(withArgs(extraArgs, options)).toEqual(expected);
});

test('an argument that is not known, or will not do, is refused by name, and a harmless one is passed over aloud (Q7)', () => {
  const said: string[] = [];
  expect(withArgs({ verbose: null }, { model: 'opus' }, said)).toEqual({ model: 'opus' });
  expect(said).toEqual(['the argument --verbose of extraArgs is passed over: no other process is started']);
  expect(() => withArgs({ chrome: null })).toThrow(
    /^the argument "--chrome" of extraArgs is refused: no other process/,
  );
  expect(() => withArgs({ 'max-turns': 'x' })).toThrow(
    'the argument "--max-turns" of extraArgs is refused: it is no number',
  );
  expect(() => withArgs({ 'json-schema': '{' })).toThrow(/^the argument "--json-schema" of extraArgs is refused: /);
  expect(() => withArgs({ constructor: '' })).toThrow(/is refused/);
});

test('without a key a query is refused with the variable that is missing, also where a cloud is asked for (Q7)', () => {
  expect(() => requireKey({ PATH: '/bin' }, true)).toThrow(
    /^query\(\) has no key of the model API: set ANTHROPIC_API_KEY, .* in options.env, which stands for the whole environment$/,
  );
  expect(() => requireKey({ CLAUDE_CODE_USE_BEDROCK: '1' }, false)).toThrow(
    /^CLAUDE_CODE_USE_BEDROCK is not known here: set/,
  );
  expect(() => requireKey({ ANTHROPIC_API_KEY: 'k' }, false)).not.toThrow();
  expect(() => requireKey({ ANTHROPIC_BASE_URL: 'http://127.0.0.1:1' }, false)).not.toThrow();
});

test('an environment of its own has what it gives, and the place of the data is the process’s (Q7)', () => {
  vi.stubEnv('PERDURE_DATA', '/data');
  vi.stubEnv('ANTHROPIC_API_KEY', 'k');
  onTestFinished(() => void vi.unstubAllEnvs());
  const env = ownEnv({ PATH: '/bin', PERDURE_STORE: '/store' });
  expect(env).toMatchObject({ PATH: '/bin', PERDURE_DATA: '/data', PERDURE_STORE: '/store' });
  expect(env).not.toHaveProperty('ANTHROPIC_API_KEY');
  expect(ownEnv(undefined)).toBe(process.env);
});
