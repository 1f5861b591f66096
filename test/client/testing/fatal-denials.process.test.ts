// Denials that end a run, and credentials that are missing (L34), through the whole loop.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { PerdureConfig } from '../../../worker/config/config.ts';
import { reply, runInMemory, toolUse } from '../../../client/testing/index.ts';
import { oddAddress } from '../../support/mcp/addresses.ts';

const pushes = reply([toolUse('bash', { command: 'git push origin main' })]);
const ran = async (config: PerdureConfig, first = pushes) => {
  const { reason, entries, requests } = await runInMemory({
    prompt: 'Go.',
    script: [first, reply('I go on.')],
    config,
  });
  const outcomes = entries.flatMap((entry) => (entry.kind === 'outcomes' ? entry.outcomes : []));
  const ended = entries.find((entry) => entry.kind === 'run_ended');
  return { reason, contents: outcomes.map(({ content }) => content), ended, asked: requests.length };
};

test('what a rule with an exclamation mark denies ends the run, which names the rule (L34 L55)', async () => {
  const { reason, contents, ended, asked } = await ran({ permissions: { deny: ['bash(git push:*)!'] } });
  const why = 'Not run: bash was denied: the rule "bash(git push:*)!" denies it';
  expect({ reason, contents, asked }).toEqual({ reason: 'fatal_tool_error', contents: [why], asked: 1 });
  expect(ended).toMatchObject({ ended: { terminal: { detail: why } } });
  expect(await ran({ permissions: { deny: ['bash(git push:*)'] } })).toMatchObject({ reason: 'completed', asked: 2 });
});

test('a hook that denies and says so ends the run, whatever another says of stopping (L34)', async () => {
  const fatal = () => ({ decision: 'deny', fatal: true, reason: 'that is production' }) as const;
  const { reason, contents, asked } = await ran({ hooks: { preTool: [() => ({ stop: 'enough' }), fatal] } });
  const why = 'Not run: bash was denied: a hook denied it: that is production';
  expect({ reason, contents, asked }).toEqual({ reason: 'fatal_tool_error', contents: [why], asked: 1 });
  const mild = () => ({ decision: 'deny', reason: 'not now' }) as const;
  expect(await ran({ hooks: { preTool: [mild] } })).toMatchObject({ reason: 'completed', asked: 2 });
});

const calls = (name: string, input: object) => reply([toolUse(name, input)]);

test.each([
  ['end', 'fatal_tool_error', 1],
  ['tell', 'completed', 2],
] as const)(
  'a page that wants credentials, where the configuration says %s: %s (L34 L86)',
  async (missingCredentials, reason, asked) => {
    const server = createServer((_, response) => void response.writeHead(401).end('who are you?'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const webFetch = { privateHosts: ['127.0.0.1'], missingCredentials };
    const { contents, ...rest } = await ran({ webFetch }, calls('web_fetch', { url }));
    expect(rest).toMatchObject({ reason, asked });
    expect(contents[0]).toContain('answered with status 401');
  },
);

test.each([
  ['end', 'fatal_tool_error', 1],
  ['tell', 'completed', 2],
] as const)(
  'an MCP server that refuses what it is given, where its configuration says %s: %s (L34 L74)',
  async (missingCredentials, reason, asked) => {
    const { settings } = await oddAddress({ token: () => 'Bearer x' }, { missingCredentials });
    const { contents, ...rest } = await ran({ mcpServers: { odd: settings } }, calls('mcp__odd__note', {}));
    expect(rest).toMatchObject({ reason, asked });
    expect(contents[0]).toMatch(/The MCP server odd is away: .*401/);
  },
);
