// Checks the translation of a query's options.
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import type { Tool, ToolContext } from '../../../tools/tool.ts';
import { findContinued } from '../../../client/agent-sdk/program/program.ts';
import { withAgentServers } from '../../../client/agent-sdk/agent-types.ts';
import { translateOptions } from '../../../client/agent-sdk/options.ts';
import { initMessage } from '../../../client/agent-sdk/messages.ts';
import { createBuiltinTools } from '../../../tools/builtin/builtin-tools.ts';
import { toInwardInput, MODEL_TOOL_NAMES, outwardInput, outwardName } from '../../../client/agent-sdk/names.ts';
import type { AgentDefinition } from '../../../client/agent-sdk/shapes/options.ts';
import type { ToolAnnotations } from '../../../client/agent-sdk/shapes/mcp.ts';
import type { OnElicitation } from '../../../client/agent-sdk/shapes/facts.ts';
import { createSdkMcpServer, tool } from '../../../client/agent-sdk/tools.ts';
import { pngOf } from '../../support/images.ts';
import { checkConfig } from '../../../worker/config/config.ts';

test('an option that guards, or is not known, is refused by name, and one that nothing relies on is passed over aloud (Q7)', () => {
  const said: string[] = [];
  const given = (options: object) => translateOptions(options, (line) => said.push(line));
  expect(() => given({ sandbox: {} })).toThrow(/^the option "sandbox" of query\(\) is refused: commands are held/);
  expect(() => given({ continue: true, resume: 's-1' })).toThrow(/^the options "continue" and "resume" each name a/);
  expect(() => given({ continue: true, sessionId: 's-1' })).toThrow(/^the options "continue" and "sessionId" each/);
  expect(() => given({ forkSession: true })).toThrow(/^the option "forkSession" is about a session that goes on/);
  expect(() => given({ resume: 's-1', resumeDropsTurn: 'u' })).toThrow(/^the option "resumeDropsTurn" is about/);
  expect(() => given({ agents: { helper: { description: 'd', prompt: 'p', model: 'opuss' } } })).toThrow(
    /^the agent "helper" of query\(\) has no model: "opuss" is no model: did you mean opus\?$/,
  );
  expect(() => given({ alowedTools: ['Bash'] })).toThrow(/"alowedTools" .* it is none that is known here/);
  expect(() => given({ permissionMode: 'ask' })).toThrow(/^permission mode "ask" is none of default/);
  expect(said).toEqual([]);
  given({ projectConfigRoot: '/x', forkSession: false, agents: undefined, betas: [], sandbox: { enabled: false } });
  expect(said).toEqual([expect.stringMatching(/^the option projectConfigRoot is passed over: files of a workspace/)]);
});

test('options become ours: names of built-in tools, rules, modes, limits (Q7)', () => {
  const { run } = translateOptions(
    {
      cwd: '/w',
      tools: ['Read', 'Bash'],
      allowedTools: ['Bash(npm test:*)', 'mcp__shop__order'],
      disallowedTools: ['Write'],
      fallbackModel: 'a, b',
      systemPrompt: { type: 'preset', preset: 'claude_code', append: 'Be brief.' },
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

test.each([
  ['A.', { systemPrompt: 'A.' }],
  [['A.', '__SYSTEM_PROMPT_DYNAMIC_BOUNDARY__', 'B.'], { systemPrompt: 'A.\n\nB.' }],
  [{ type: 'custom', prompt: ['A.', 'B.'] }, { systemPrompt: 'A.\n\nB.' }],
  [{ type: 'preset', preset: 'claude_code', append: 'A.' }, { appendSystemPrompt: 'A.' }],
  [{ type: 'preset', preset: 'claude_code', excludeDynamicSections: true }, {}],
  [[], {}],
] as const)('the system prompt %j becomes %j (Q7)', (systemPrompt, expected) => {
  const { run } = translateOptions({ systemPrompt } as object, () => undefined);
  const { systemPrompt: own, appendSystemPrompt } = run;
  expect({ ...(own && { systemPrompt: own }), ...(appendSystemPrompt && { appendSystemPrompt }) }).toEqual(expected);
});

test('options that later versions of such programs pass over are passed over here, with what to give instead (Q7)', () => {
  const said: string[] = [];
  const given = { appendSystemPrompt: 'x', __wrapped: true, debugFile: '/f', onUserDialog: async () => null };
  translateOptions(given, (line) => said.push(line));
  expect(said).toEqual([
    'the option appendSystemPrompt is passed over: give it as the append of systemPrompt',
    'the option __wrapped is passed over: names that begin with "_" are of a library, for its own use',
    'the option debugFile is passed over: see PERDURE_DATA for the logs',
    'the option onUserDialog is passed over: no dialogs are shown',
  ]);
});

test('a rule for Edit is about every tool that edits, one for Read about every tool that reads (Q7 L55)', () => {
  const { run } = translateOptions(
    { disallowedTools: ['Edit(.env)', 'Read(.env)', 'Edit'], allowedTools: ['Edit(src/**)', 'Glob(docs/**)'] },
    () => undefined,
  );
  expect(run.permissions).toEqual({
    deny: ['edit(.env)', 'write(.env)', 'read(.env)', 'grep(.env)', 'glob(.env)', 'edit'],
    allow: ['edit(src/**)', 'write(src/**)', 'glob(docs/**)'],
  });
});

test('types of agents become the configuration’s, and their tool goes by both its names (Q7 L66)', () => {
  const agents = {
    reviewer: { description: 'Reviews.', prompt: 'Be strict.', tools: ['Read', 'Task'], model: 'inherit', maxTurns: 5 },
    writer: { description: 'Writes.', prompt: 'Be brief.', model: 'claude-haiku-4-5', isolation: 'worktree' as const },
  };
  const { config, run } = translateOptions(
    { agents, tools: ['Agent'], disallowedTools: ['Task(writer)'] },
    () => undefined,
  );
  expect(config.agents).toEqual({
    reviewer: {
      description: 'Reviews.',
      systemPrompt: 'Be strict.',
      tools: ['read', 'agent'],
      limits: { maxTurns: 5 },
    },
    writer: {
      description: 'Writes.',
      systemPrompt: 'Be brief.',
      model: 'claude-haiku-4-5',
      isolation: 'worktree',
    },
  });
  expect(run).toMatchObject({ tools: ['agent'], permissions: { deny: ['agent(writer)'] } });
  const remote = { description: 'd', prompt: 'p', isolation: 'remote' };
  expect(() => translateOptions({ agents: { remote } } as object, () => undefined)).toThrow(
    /^the agent "remote" of query\(\) has "isolation", which is not known here: leave it out$/,
  );
  expect(() => checkConfig(config, 'f')).not.toThrow();
  const shown = outwardInput('agent', { prompt: 'p', type: 'writer', background: true });
  expect([outwardName('agent'), shown]).toEqual([
    'Agent',
    { prompt: 'p', subagent_type: 'writer', run_in_background: true },
  ]);
  expect(toInwardInput('agent', shown)).toEqual({ prompt: 'p', type: 'writer', background: true });
});

test('MCP servers that are processes or addresses become the configuration’s, beside any list of tools (Q7 L74)', () => {
  const mcpServers = {
    git: { command: 'git-server', args: ['x'] },
    shop: { type: 'http' as const, url: 'https://shop.example/mcp', headers: { a: 'b' } },
    own: createSdkMcpServer({ name: 'own', tools: [tool('t', 'T.', {}, async () => ({ content: [] }))] }),
  };
  const { config, run } = translateOptions({ mcpServers, tools: ['Read'] }, () => undefined);
  expect(config.mcpServers).toEqual({ git: { ...mcpServers.git, cwd: process.cwd() }, shop: mcpServers.shop });
  expect(run).toMatchObject({ tools: ['read', 'mcp__own__t', 'mcp__git', 'mcp__shop', 'mcp_resources'] });
  expect(() => checkConfig(config, 'f')).not.toThrow();
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
  expect(config).toEqual({
    toolNames: MODEL_TOOL_NAMES,
    deferTools: false,
    snapshots: false,
    toolEnv: { STAGE: 'two' },
  });
  expect(JSON.stringify(run)).not.toContain('two');
  expect(translateOptions({ env: process.env }, () => undefined).config).toEqual({
    toolNames: MODEL_TOOL_NAMES,
    deferTools: false,
    snapshots: false,
    toolEnv: {},
  });
});

test('additionalDirectories become the folders of the session, relative ones from its working directory (Q7)', () => {
  const run = (options: object) => translateOptions(options, () => undefined).run;
  expect(run({ cwd: '/w/app', additionalDirectories: ['../lib', '/data'] })).toMatchObject({
    additionalDirectories: ['/w/lib', '/data'],
  });
  // An empty list differs from an absent one, since the worker may have folders.
  expect(run({ additionalDirectories: [] })).toMatchObject({ additionalDirectories: [] });
  expect(run({})).not.toHaveProperty('additionalDirectories');
});

test('a killed program continues what it had found, its own session where it had found none (Q7 Q9)', async () => {
  const said: string[] = [];
  const noted: string[] = [];
  const found = async (continued: string) => {
    const program = {
      session: 's-own',
      continuedSession: continued,
      noteContinued: (session: string) => void noted.push(session),
    };
    const where = { root: '/nowhere', cwd: '/w', config: {} };
    return (await findContinued(where, program, { env: {}, say: (line) => said.push(line) })).session;
  };
  expect([await found('s-found'), await found('s-own')]).toEqual(['s-found', null]);
  expect([said, noted]).toEqual([[], []]);
});

test('a tool runs unasked, and again, where its author says so; its texts and images reach the model (Q7 Q8 L85)', async () => {
  const handler = vi.fn(() =>
    Promise.resolve({
      content: [
        { type: 'text', text: 'a' },
        { type: 'image', data: pngOf(1, 1).toString('base64'), mimeType: 'image/png' },
        { type: 'video' },
      ],
      isError: true,
    }),
  );
  const made = (annotations?: ToolAnnotations) => {
    const server = createSdkMcpServer({
      name: 'own',
      tools: [tool('t', 'T.', { n: z.number() }, handler, annotations && { annotations })],
    });
    return translateOptions({ mcpServers: { shop: server } }, () => undefined).config.tools as readonly Tool[];
  };
  const facts = ({ name, risk, recovery }: Tool) => [name, risk, recovery];
  expect(
    [made(), made({ readOnlyHint: true }), made({ idempotentHint: true })].map(([first]) => facts(first!)),
  ).toEqual([
    ['mcp__shop__t', 'external', 'report'],
    ['mcp__shop__t', 'read', 'rerun'],
    ['mcp__shop__t', 'external', 'rerun'],
  ]);
  expect(facts(made({ readOnlyHint: true, idempotentHint: false })[0]!)).toEqual(['mcp__shop__t', 'read', 'report']);
  const { signal } = new AbortController();
  const context = { signal, idempotencyKey: 'k' } as unknown as ToolContext;
  expect(await made()[0]!.call({ n: 1 }, context)).toEqual({
    content: 'a\n(content of a kind that is not known here)',
    media: [pngOf(1, 1)],
    isError: true,
  });
  expect(handler).toHaveBeenCalledWith({ n: 1 }, { signal, idempotencyKey: 'k' });
});

test('onElicitation answers for servers that are not of the program, and no others may ask (Q7 L77)', async () => {
  const told: unknown[] = [];
  const onElicitation: OnElicitation = (request, { requestId }) => {
    told.push([request, typeof requestId]);
    return Promise.resolve({ action: 'accept', content: { colour: 'red' } });
  };
  const shop = { type: 'http', url: 'https://shop.example' } as const;
  const mcpServers = { own: createSdkMcpServer({ name: 'own' }), shop };
  const { config } = translateOptions({ mcpServers, onElicitation }, () => undefined);
  expect(() => checkConfig(config, 'f')).not.toThrow();
  expect(Object.keys(config.mcpServers ?? {})).toEqual(['shop']);
  const asked = { serverName: 'shop', message: 'Which colour?', mode: 'form', requestedSchema: {} } as const;
  const { signal } = new AbortController();
  expect(await config.mcpServers?.['shop']?.answers?.(asked, { signal })).toMatchObject({ action: 'accept' });
  expect(told).toEqual([[asked, 'string']]);
  expect(translateOptions({ mcpServers }, () => undefined).config.mcpServers?.['shop']).not.toHaveProperty('answers');
});

test.each([
  [undefined, {}],
  [[], { instructions: false }],
  [['user'], { instructions: false }],
  [['user', 'project'], { instructions: true }],
] as const)('settingSources %j are those of which instructions come: %j (Q7)', (sources, expected) => {
  const { run } = translateOptions({ ...(sources && { settingSources: [...sources] }) }, () => undefined);
  expect(run).toEqual({ cwd: process.cwd(), permissionMode: 'dontAsk', ...expected });
});

test('a task budget is told to the model (Q7)', () => {
  expect(translateOptions({ taskBudget: { total: 5_000 } }, () => undefined).run).toMatchObject({ taskBudget: 5_000 });
});

test('an agent’s tools that are not there are a line, what it disallows is left out, and its mode narrows it (Q7)', () => {
  const said: string[] = [];
  const shop = createSdkMcpServer({
    name: 'shop',
    tools: [tool('pay', 'T.', {}, () => Promise.resolve({ content: [] }))],
  });
  const agent = { description: 'd', prompt: 'p' };
  const agents = {
    search: { ...agent, tools: ['NotebookEdit', 'Write', 'mcp__shop__pay', 'Task'], disallowedTools: ['Task'] },
    read: {
      ...agent,
      disallowedTools: ['Bash', 'Write', 'Edit', 'mcp__shop'],
      permissionMode: 'plan',
      background: true,
    },
  } as const;
  const given = (more: object) =>
    translateOptions({ agents: more as never, mcpServers: { shop } }, (line) => said.push(line));
  const { config } = given(agents);
  expect(() => checkConfig(config, 'f')).not.toThrow();
  expect(config.agents).toEqual({
    search: { description: 'd', systemPrompt: 'p', tools: ['write', 'mcp__shop__pay'] },
    read: {
      description: 'd',
      systemPrompt: 'p',
      tools: ['agent', 'glob', 'grep', 'read', 'todo', 'web_fetch'],
      permissionMode: 'plan',
      background: true,
    },
  });
  expect(said).toEqual(['the agent "search" of query() has no NotebookEdit: there is no such tool here']);
  expect(() => given({ a: { ...agent, disallowedTools: ['Bash(rm:*)'] } })).toThrow(
    /^the agent "a" of query\(\) disallows "Bash\(rm:\*\)"/,
  );
});

test('servers of an agent are added to its tools, and those that it brings are connected for the query (Q7)', () => {
  const said: string[] = [];
  const shop = createSdkMcpServer({
    name: 'shop',
    tools: [tool('pay', 'T.', {}, () => Promise.resolve({ content: [] }))],
  });
  const remote = { type: 'http', url: 'http://127.0.0.1:1/mcp' } as const;
  const agent = { description: 'd', prompt: 'p' };
  const given = (agents: Record<string, AgentDefinition>) => {
    const say = (line: string): number => said.push(line);
    return translateOptions(withAgentServers({ agents, mcpServers: { shop } }, say), say);
  };
  const all = { ...agent, mcpServers: ['shop'] };
  const some = { ...agent, tools: ['Read'], mcpServers: ['shop', { 'my docs': remote }] };
  const { config } = given({ all, some, none: { ...agent, mcpServers: [] } });
  expect(() => checkConfig(config, 'f')).not.toThrow();
  expect(config.mcpServers).toMatchObject({ my_docs: { url: remote.url } });
  const builtin = ['agent', 'bash', 'edit', 'glob', 'grep', 'read', 'todo', 'web_fetch', 'write'];
  expect(config.agents).toMatchObject({
    all: { tools: [...builtin, 'mcp__shop'] },
    some: { tools: ['read', 'mcp__shop', 'mcp__my_docs'] },
    none: { tools: builtin },
  });
  expect(said).toEqual([
    'the server "my docs" of the agent "some" is connected for the query: its tools are the session\'s, too',
  ]);
  expect(() => given({ a: { ...agent, mcpServers: ['shops'] } })).toThrow(
    /^the agent "a" of query\(\) names the server "shops", which is not in mcpServers of the query: give it there/,
  );
  expect(() => given({ a: { ...agent, mcpServers: [{ shop: remote }] } })).toThrow(
    /^the server "shop" of the agent "a" is another than the one of this name that the query has$/,
  );
});

test.each([
  [{ thinking: { type: 'enabled', budgetTokens: 4_000 } }, 4_000, []],
  [{ thinking: { type: 'adaptive' }, maxThinkingTokens: 2_000 }, 2_000, []],
  [
    { thinking: { type: 'disabled' } },
    undefined,
    ['the option thinking is passed over: a model thinks as it does by itself'],
  ],
] as const)('%j is %s tokens of thinking (Q7)', (options, tokens, expected) => {
  const said: string[] = [];
  expect(translateOptions(options, (line) => said.push(line)).run.thinkingTokens).toBe(tokens);
  expect(said).toEqual(expected);
});

test.each<[string, object, boolean]>([
  ['among its tools', { tools: ['Read', 'WebSearch'] }, true],
  ['among those that it allows', { allowedTools: ['WebSearch'] }, true],
  ['among those of an agent', { agents: { a: { description: 'd', prompt: 'p', tools: ['WebSearch'] } } }, true],
  ['by our name', { tools: ['web_search'] }, true],
  ['and denies it', { allowedTools: ['WebSearch'], disallowedTools: ['WebSearch'] }, false],
  ['nowhere', { tools: ['WebFetch'] }, false],
])('searches of the web are offered where a program names the tool: %s (Q7 L88)', (_name, options, offered) => {
  const { config, run } = translateOptions(options, () => undefined);
  expect(config.webSearch).toBe(offered ? true : undefined);
  expect(initMessage('s', options, '/w').tools.includes('WebSearch')).toBe(offered);
  expect(JSON.stringify({ run, agents: config.agents }).includes('web_search')).toBe(
    offered || 'disallowedTools' in options,
  );
});

test('tools that are not here are left out of a list, which says so and goes on (Q7)', () => {
  const said: string[] = [];
  const tools = ['Read', 'NotebookEdit', 'ExitPlanMode', 'TodoWrite', 'Task', 'AskUserQuestion', 'bash'];
  const { run } = translateOptions({ tools }, (line) => said.push(line));
  expect(run.tools).toEqual(['read', 'todo', 'agent', 'ask_user', 'bash']);
  expect(said).toEqual(['the option tools names NotebookEdit, ExitPlanMode: there is no such tool here']);
});

test('init lists what is offered, under the names that the model knows it by (Q7 L89)', () => {
  expect(initMessage('s', {}, '/w').tools).toEqual([
    'Bash',
    'BashOutput',
    'KillShell',
    'Read',
    'Write',
    'Edit',
    'Glob',
    'Grep',
    'Agent',
    'WebFetch',
    'TodoWrite',
    'AskUserQuestion',
    'wait',
    'agent_output',
    'agent_send',
    'agent_stop',
  ]);
  const listed = initMessage('s', { tools: ['Task', 'bash', 'NotebookEdit'] }, '/w').tools;
  expect(listed).toEqual(['Bash', 'BashOutput', 'KillShell', 'Agent', 'agent_output', 'agent_send', 'agent_stop']);
});

test('what we offer is under the names of init, whatever a worker has besides (Q7 L89)', () => {
  const names = createBuiltinTools({ sandbox: { kind: 'none' } } as never).map(({ name }) => outwardName(name));
  expect(initMessage('s', {}, '/w').tools.toSorted()).toEqual(names.toSorted());
});

test('task lists and questions read as such programs know them (Q7 L89)', () => {
  const tasks = [
    { text: 'Look.', state: 'done' },
    { text: 'Fix.', state: 'doing' },
  ];
  const shown = outwardInput('todo', { tasks });
  expect(shown).toEqual({
    todos: [
      { content: 'Look.', status: 'completed', activeForm: 'Look.' },
      { content: 'Fix.', status: 'in_progress', activeForm: 'Fix.' },
    ],
  });
  expect(toInwardInput('todo', shown)).toEqual({ tasks });
  const asked = outwardInput('ask_user', { question: 'Which?', options: ['a', 'b'] });
  const options = ['a', 'b'].map((label) => ({ label, description: '' }));
  expect(asked['questions']).toEqual([{ question: 'Which?', header: '', options, multiSelect: false }]);
  expect(toInwardInput('ask_user', asked)).toEqual({ question: 'Which?', options: ['a', 'b'] });
  expect([outwardInput('todo', { tasks: 7 }), outwardInput('todo', null)]).toEqual([{ todos: 7 }, {}]);
});
