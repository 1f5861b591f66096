// Options of programs for in-process agents, and when such a program is over.
import { expect, test } from 'vitest';
import { findContinued } from '../../../client/agent-sdk/continue.ts';
import { translateOptions } from '../../../client/agent-sdk/options.ts';
import { isOver } from '../../../client/agent-sdk/program.ts';
import { createSdkMcpServer, tool } from '../../../client/agent-sdk/tools.ts';
import { checkConfig } from '../../../worker/config/config.ts';

test('an option that guards, or is not known, is refused by name, and one that nothing relies on is passed over aloud (Q7)', () => {
  const said: string[] = [];
  const given = (options: object) => translateOptions(options, (line) => said.push(line));
  expect(() => given({ sandbox: {} })).toThrow(/^the option "sandbox" of query\(\) is refused: commands are held/);
  expect(() => given({ continue: true, resume: 's-1' })).toThrow(/^the options "continue" and "resume" each name a/);
  expect(() => given({ continue: true, sessionId: 's-1' })).toThrow(/^the options "continue" and "sessionId" each/);
  expect(() => given({ agents: { helper: {} } })).toThrow(
    /"agents" .* types of agents are the `agents` of a configuration$/,
  );
  expect(() => given({ alowedTools: ['Bash'] })).toThrow(/"alowedTools" .* it is none that is known here/);
  expect(() => given({ permissionMode: 'ask' })).toThrow(/^permission mode "ask" is none of default/);
  expect(said).toEqual([]);
  given({ settingSources: ['project'], forkSession: false, agents: undefined, betas: [] });
  expect(said).toEqual([expect.stringMatching(/^the option settingSources is passed over: files of a workspace/)]);
});

test('options become ours: names of built-in tools, rules, modes, limits (Q7)', () => {
  const { run } = translateOptions(
    {
      cwd: '/w',
      tools: ['Read', 'Bash'],
      allowedTools: ['Bash(npm test:*)', 'mcp__shop__order'],
      disallowedTools: ['Write'],
      fallbackModel: 'a, b',
      systemPrompt: { type: 'preset', preset: 'any', append: 'Be brief.' },
      maxTurns: 3,
    },
    () => undefined,
  );
  expect(run).toEqual({
    cwd: '/w',
    tools: ['read', 'bash'],
    permissions: { allow: ['bash(npm test:*)', 'mcp__shop__order'], deny: ['write'] },
    fallbackModels: ['a', 'b'],
    appendSystemPrompt: 'Be brief.',
    maxTurns: 3,
    permissionMode: 'dontAsk',
  });
});

test('MCP servers that are processes or addresses become the configuration’s, beside any list of tools (Q7 L74)', () => {
  const mcpServers = {
    git: { command: 'git-server', args: ['x'] },
    shop: { type: 'http', url: 'https://shop.example/mcp', headers: { a: 'b' } },
    own: createSdkMcpServer({ name: 'own', tools: [tool('t', 'T.', {}, async () => ({ content: [] }))] }),
  } as const;
  const { config, run } = translateOptions({ mcpServers, tools: ['Read'] }, () => undefined);
  expect(config.mcpServers).toEqual({ git: { ...mcpServers.git, cwd: process.cwd() }, shop: mcpServers.shop });
  expect(run).toMatchObject({ tools: ['read', 'mcp__own__t', 'mcp__git', 'mcp__shop', 'mcp_resources'] });
  expect(() => checkConfig(config, 'f')).not.toThrow();
});

test.each([
  [['succeeded'], 0, true],
  [['left'], 0, true],
  [['open'], 0, false],
  [['succeeded'], 1, false],
  [['left'], 1, false],
  [['succeeded', 'failed'], 1, true],
  [['failed', 'left'], 1, false],
] as const)('a program whose queries are %j at exit status %d is over: %s (Q9)', (ends, status, expected) => {
  expect(isOver(new Set(ends), status)).toBe(expected);
});

test('env reaches tools as what the program adds, without settings and keys, and is no option of the session (Q7)', () => {
  const env = {
    ...process.env,
    STAGE: 'two',
    ANTHROPIC_API_KEY: 'k',
    PERDURE_DATA: '/d',
    LD_PRELOAD: 'x',
    GONE: undefined,
  };
  const { config, run } = translateOptions({ env }, () => undefined);
  expect(config).toEqual({ toolEnv: { STAGE: 'two' } });
  expect(JSON.stringify(run)).not.toContain('two');
  expect(translateOptions({ env: process.env }, () => undefined).config).toEqual({ toolEnv: {} });
});

test('additionalDirectories become the folders of the session, relative ones from its working directory (Q7)', () => {
  const run = (options: object) => translateOptions(options, () => undefined).run;
  expect(run({ cwd: '/w/app', additionalDirectories: ['../lib', '/data'] })).toMatchObject({
    additionalDirectories: ['/w/lib', '/data'],
  });
  // None is another thing than not to choose: the worker may have some.
  expect(run({ additionalDirectories: [] })).toMatchObject({ additionalDirectories: [] });
  expect(run({})).not.toHaveProperty('additionalDirectories');
});

test('a killed program continues what it had found, its own session where it had found none (Q7 Q9)', async () => {
  const said: string[] = [];
  const noted: string[] = [];
  const found = async (continued: string) => {
    const program = { session: 's-own', continued, continues: (session: string) => void noted.push(session) };
    const where = { root: '/nowhere', cwd: '/w', config: {} };
    return (await findContinued(where, program, { env: {}, say: (line) => said.push(line) })).session;
  };
  expect([await found('s-found'), await found('s-own')]).toEqual(['s-found', null]);
  expect([said, noted]).toEqual([[], []]);
});
