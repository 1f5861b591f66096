// A program changes the MCP servers of a query that runs, and reads what its session has spent.
import { expect, test } from 'vitest';
import { query } from '../../client/agent-sdk/query.ts';
import type { Query } from '../../client/agent-sdk/shapes/query.ts';
import type { SDKMessage, SDKResultMessage, SDKUserMessage } from '../../client/agent-sdk/shapes/messages.ts';
import type { Options } from '../../client/agent-sdk/shapes/options.ts';
import { createSdkMcpServer, tool } from '../../client/agent-sdk/tools.ts';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { cliPlace, modelFor } from '../support/cli.ts';
import { oneRuntime } from '../support/one-runtime.ts';

const said = (content: string): SDKUserMessage => ({
  type: 'user',
  message: { role: 'user', content },
  parent_tool_use_id: null,
});

/**
 * Sends each message once the one before it has its result, and calls `between` before the next.
 */
async function talk(
  prompts: readonly string[],
  options: Options,
  between: (asked: Query, at: number) => Promise<unknown>,
): Promise<readonly SDKMessage[]> {
  const told: SDKMessage[] = [];
  let answered = (): void => undefined;
  const stream = async function* () {
    for (const [at, prompt] of prompts.entries()) {
      if (at > 0) await between(asked, at);
      const result = new Promise<void>((resolve) => (answered = resolve));
      yield said(prompt);
      await result;
    }
  };
  const asked = query({ prompt: stream(), options });
  for await (const message of asked) {
    told.push(message);
    if (message.type === 'result') answered();
  }
  return told;
}

const server = (name: string) =>
  createSdkMcpServer({
    name,
    tools: [tool('look', 'Looks.', {}, async () => ({ content: [{ type: 'text', text: `seen by ${name}` }] }))],
  });

const serverTools = (message: SDKMessage): readonly (readonly string[])[] =>
  message.type === 'system' && message.subtype === 'init'
    ? [message.tools.filter((name) => name.startsWith('mcp__'))]
    : [];

const resultsOf = (told: readonly SDKMessage[]): readonly SDKResultMessage[] =>
  told.flatMap((message) => (message.type === 'result' ? [message] : []));

test('servers that are set hold from the next message on, in the same session, whose totals go on (Q7)', async () => {
  oneRuntime();
  const model = await modelFor((request) => {
    const all = JSON.stringify(request.messages);
    return all.includes('Look.') && !all.includes('toolu_1')
      ? reply([toolUse('mcp__desk__look', {}, 'toolu_1')])
      : reply('ok');
  });
  const { cwd, env } = cliPlace(model);
  const ends: string[] = [];
  const hook = async () => {
    ends.push('ended');
    return {};
  };
  const options: Options = {
    cwd,
    env,
    stderr: () => undefined,
    mcpServers: { shop: server('shop') },
    allowedTools: ['mcp__desk'],
    hooks: { SessionEnd: [{ hooks: [hook] }] },
  };
  const told = await talk(['Hello.', 'Look.', 'Again.'], options, async (asked, at) => {
    if (at === 1) {
      const set = await asked.setMcpServers({ desk: server('desk') });
      expect(set).toEqual({ added: ['desk'], removed: ['shop'], errors: {} });
    } else await asked.toggleMcpServer('desk', false);
    expect(await asked.mcpServerStatus()).toEqual([{ name: 'desk', status: at === 1 ? 'connected' : 'disabled' }]);
  });
  const [first, second, third] = resultsOf(told);
  expect([first, second, third].map((result) => result?.subtype)).toEqual(['success', 'success', 'success']);
  expect(new Set(told.map((message) => message.session_id)).size).toBe(1);
  // Requests keep the tools that the model knows, and bring new ones as it takes them.
  expect(told.flatMap(serverTools)).toEqual([['mcp__shop__look'], ['mcp__desk__look'], []]);
  expect(JSON.stringify(told)).toContain('seen by desk');
  expect(ends).toEqual(['ended']);

  // Four replies: one of the first message, two of the second, one of the third.
  const costs = [first, second, third].map((result) => result?.total_cost_usd ?? 0);
  const [one = 0, two = 0, three = 0] = costs;
  expect(one).toBeGreaterThan(0);
  expect(two).toBeGreaterThan(one);
  expect(three).toBeGreaterThan(two);
  for (const result of [first, second, third]) {
    const spent = Object.values(result?.modelUsage ?? {}).reduce((sum, { costUSD }) => sum + costUSD, 0);
    expect(result?.total_cost_usd).toBeCloseTo(spent, 8);
  }
  const [usage] = Object.values(third?.modelUsage ?? {});
  expect(third?.usage.input_tokens).toBeLessThan(usage?.inputTokens ?? 0);

  // A session that is resumed goes on with its total.
  const again = await talk(['More.'], { ...options, resume: told[0]?.session_id ?? '' }, async () => undefined);
  expect(resultsOf(again)[0]?.total_cost_usd).toBeGreaterThan(three);
});
