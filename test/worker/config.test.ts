// A configuration is checked, and a wrong one is reported.
import { expect, test } from 'vitest';
import * as v from 'valibot';
import { z } from 'zod';
import { runDefaults } from '../../worker/config/defaults.ts';
import { defaultsOfConfig } from '../../worker/config/config-defaults.ts';
import { checkConfig, ConfigProblem, defineConfig, type PerdureConfig } from '../../worker/config/config.ts';
import { simpleTool } from '../tools/support.ts';
import { optionsProblem } from '../../workflows/contract/options-problem.ts';

const price = { input: 1, output: 2, cacheRead: 0.1, cacheWrite: 1.25 };

const everything: PerdureConfig = defineConfig({
  model: 'own-1',
  fallbackModels: ['own-0'],
  smallModel: 'own-small',
  models: { 'own-': { window: 100_000, maxOutput: 8_000, price }, other: { window: 1, maxOutput: 1, price: null } },
  permissionMode: 'acceptEdits',
  permissions: { allow: ['bash(git status:*)'], deny: ['write(.env)'], ask: ['bash'] },
  systemPrompt: 'Be brief.',
  toolEnv: { CI: '1' },
  sandbox: { agents: ['ssh'], sockets: ['/var/run/docker.sock'] },
  additionalDirectories: ['/data/shared'],
  agents: {
    reviewer: { description: 'Reviews.', tools: ['read'], model: 'small', background: true, limits: { maxTurns: 3 } },
  },
  agentLimits: { depth: 2 },
  maxTurns: 20,
  maxSameResults: 30,
  maxOutputTokens: 4_000,
  compaction: { enabled: true, warning: 0.5 },
  batchSummaries: true,
  consolidateMemoryAfter: 30,
  suggestPrompts: true,
  approvalTimeoutMs: 60_000,
  drainMs: 600_000,
  maxConcurrentActivities: 20,
  profile: 'fleet',
  tools: () => [],
  hooks: {
    preTool: [() => undefined, { command: 'true', tools: ['bash'] }, { command: ['true'], name: 'x', timeoutMs: 10 }],
    stop: [{ run: () => ({ block: 'no' }) }],
    agentIdle: [{ command: 'true', timeoutMs: 86_400_000 }],
    agentEnded: [{ command: 'true', timeoutMs: 300_000 }],
  },
  afterStop: [{ name: 'memory', timeoutMs: 1_000, run: () => Promise.resolve() }],
  attachments: [{ name: 'news', collect: () => null }],
});

test('everything that may be configured is accepted, and so is nothing', () => {
  expect(checkConfig(everything, 'it')).toBe(everything);
  expect(checkConfig({}, 'it')).toEqual({});
});

test('what is configured goes before what is built in (L57)', () => {
  expect({ ...runDefaults, ...defaultsOfConfig(everything) }).toMatchObject({
    model: 'own-1',
    fallbackModels: ['own-0'],
    smallModel: 'own-small',
    models: everything.models,
    permissionMode: 'acceptEdits',
    permissions: everything.permissions,
    systemPrompt: 'Be brief.',
    maxTurns: 20,
    maxSameResults: 30,
    outputCap: 4_000,
    compaction: { ...runDefaults.compaction, warning: 0.5 },
    batchSummaries: true,
    consolidateMemoryAfter: 30,
    suggestPrompts: true,
    approvalTimeoutMs: 60_000,
  });
  expect({ ...runDefaults, ...defaultsOfConfig({}) }).toEqual(runDefaults);
});

const key = (path: string): string => `"${path}" is no key of the configuration: remove it or correct its name`;

const turns = 'give a whole number from 1 to 1000000';

test.each<[string, unknown, string | RegExp]>([
  ['a key that is nearly known', { modle: 'x' }, '"modle" is no key of the configuration: did you mean "model"?'],
  ['a key that is not known', { colour: 'x' }, key('colour')],
  ['a key that is not known, further down', { compaction: { warn: 0.5 } }, key('compaction.warn')],
  ['a key that would take two lines', { 'a\nb': 1 }, key('a\\nb')],
  ['a misspelt kind of hook', { hooks: { pretool: [] } }, key('hooks.pretool')],
  ['a misspelt key of a hook', { hooks: { stop: [{ comand: 'x' }] } }, key('hooks.stop.0.comand')],
  [
    'tools of a hook that is about none',
    { hooks: { stop: [{ command: 'x', tools: ['bash'] }] } },
    key('hooks.stop.0.tools'),
  ],
  [
    'a hook that does nothing',
    { hooks: { stop: [{ name: 'x' }] } },
    '"hooks.stop.0" is wrong: it needs exactly one of "run" (a function) and "command"',
  ],
  ['a hook that is none', { hooks: { stop: ['x'] } }, '"hooks.stop.0" is "x": give a function or an object'],
  ['a part of a command', { hooks: { stop: [{ command: ['x', 5] }] } }, '"hooks.stop.0.command.1" is 5: give a text'],
  ['an empty command', { hooks: { stop: [{ command: [] }] } }, '"hooks.stop.0.command" is empty: give at least 1 item'],
  ['a negative limit', { maxTurns: -1 }, `"maxTurns" is -1: ${turns}`],
  [
    'a bound of one reply',
    { maxSameResults: 1 },
    '"maxSameResults" is 1: give a whole number of replies from 2 to 1000000, or false',
  ],
  ['half a turn', { maxTurns: 1.5 }, `"maxTurns" is 1.5: ${turns}`],
  ['a limit that is a text', { maxTurns: 'many' }, `"maxTurns" is "many": ${turns}`],
  ['a negative budget', { maxBudgetUsd: -5 }, key('maxBudgetUsd')],
  [
    'a negative price',
    { models: { x: { window: 1, maxOutput: 1, price: { ...price, input: -1 } } } },
    '"models.x.price.input" is -1: give a number of US dollars from 0 to 1000000',
  ],
  [
    'a missing key',
    { models: { x: { price: { ...price, output: undefined } } } },
    '"models.x.price.output" is missing: give a number of US dollars from 0 to 1000000',
  ],
  [
    'a model without a name',
    { models: { '': null } },
    'a key of "models" is empty: give a text of 1 to 200 characters',
  ],
  ['models in a list', { models: [] }, '"models" is a list: give an object'],
  [
    'a variable for tools',
    { toolEnv: { LD_PRELOAD: 'x' } },
    /^"toolEnv" is wrong: the variable "LD_PRELOAD" for tools would change/,
  ],
  [
    'a socket without its path',
    { sandbox: { sockets: ['docker'] } },
    /^"sandbox\.sockets\.0" is .*: give the absolute path/,
  ],
  ['a folder for tools', { additionalDirectories: ['x'] }, /^"additionalDirectories" is wrong: .* not an absolute/],
  ['NaN', { approvalTimeoutMs: Number.NaN }, /^"approvalTimeoutMs" is NaN: give a whole number of milliseconds from 1/],
  [
    'a share that is none',
    { compaction: { critical: 85 } },
    /^"compaction\.critical" is 85: give a number above 0 and/,
  ],
  [
    'a warning above what is critical',
    { compaction: { warning: 0.9 } },
    '"compaction" is wrong: "warning" (0.9) must be below "critical" (0.85)',
  ],
  ['neither yes nor no', { batchSummaries: 'yes' }, '"batchSummaries" is "yes": give true or false'],
  [
    'a mode that is not known',
    { permissionMode: 'yolo' },
    '"permissionMode" is "yolo": give one of default, acceptEdits, plan, dontAsk, bypass',
  ],
  [
    'too few notes to merge',
    { consolidateMemoryAfter: 1 },
    '"consolidateMemoryAfter" is 1: give a whole number of notes from 2 to 200',
  ],
  ['no slot', { maxConcurrentActivities: 0 }, '"maxConcurrentActivities" is 0: give a whole number from 1 to 1000'],
  ['a drain of no time', { drainMs: 0 }, '"drainMs" is 0: give a whole number of milliseconds from 1 to 86400000'],
  [
    'rules that ask in a mode that asks nothing',
    { permissionMode: 'bypass', permissions: { ask: ['bash'] } },
    /^"permissions" is wrong: permission mode "bypass" asks about nothing, and there are rules that ask: /,
  ],
  ['a rule that is not one', { permissions: { deny: ['bash('] } }, /^"permissions" is wrong: permission rule "bash\("/],
  ['a tool that is none', { tools: [5] }, '"tools.0" is 5: give a tool made with defineTool'],
  ['tools of no kind', { tools: 'x' }, '"tools" is "x": give a function or a list'],
  [
    'a handler without its time',
    { afterStop: [{ name: 'x', run: () => undefined }] },
    '"afterStop.0.timeoutMs" is missing: give a whole number of milliseconds from 1 to 1800000',
  ],
  [
    'two attachments of one name',
    { attachments: [everything.attachments?.[0], everything.attachments?.[0]] },
    '"attachments" is wrong: "news" is in it twice: give each its own name',
  ],
  [
    'a text that is too long',
    { systemPrompt: 'x'.repeat(100_001) },
    '"systemPrompt" has 100001 characters: give at most 100000 characters',
  ],
  [
    'too many models',
    { fallbackModels: Array.from({ length: 11 }, (_, at) => `m${at}`) },
    '"fallbackModels" has 11 items: give at most 10 items',
  ],
  ['no object', 'model: x', 'it is "model: x": give an object'],
])('%s is told in one sentence that names it, and says what would be right', (_, config, told) => {
  const check = (): unknown => checkConfig(config, 'the configuration f');
  expect(check).toThrow(ConfigProblem);
  expect(check).toThrow(
    told instanceof RegExp
      ? new RegExp(`^the configuration f: ${told.source.slice(1)}[^\\n]*$`)
      : new ConfigProblem(`the configuration f: ${told}`),
  );
});

const risks = 'give one of read, write, execute, external';
const otherName = 'give another name, ';

test.each<[string, readonly object[], string]>([
  ['without a description', [{ ...simpleTool({}), description: 5 }], '"tools.0.description" is 5: give a text'],
  ['without a call', [{ ...simpleTool({}), call: 5 }], '"tools.0.call" is 5: give a function'],
  ['without a risk', [{ ...simpleTool({}), risk: undefined }], `"tools.0.risk" is missing: ${risks}`],
  [
    'of a recovery that is not known',
    [{ ...simpleTool({}), recovery: 'retry' }],
    '"tools.0.recovery" is "retry": give one of rerun, verify, ask, report',
  ],
  [
    'that cannot verify',
    [simpleTool({ recovery: 'verify' })],
    '"tools.0.verify" is missing: give a function, or another recovery than "verify"',
  ],
  ['whose check is none', [{ ...simpleTool({}), validate: true }], '"tools.0.validate" is true: give a function'],
  [
    'of a name that the API refuses',
    [simpleTool({}), simpleTool({ name: 'my tool' })],
    '"tools.1.name" is "my tool": give 1 to 64 letters, digits, "_" or "-"',
  ],
  [
    'named as a built-in one',
    [simpleTool({ name: 'bash' })],
    `"tools.0.name" is "bash": ${otherName}a built-in tool has this one`,
  ],
  [
    'named as another',
    [simpleTool({}), simpleTool({})],
    `"tools.1.name" is "simple": ${otherName}"tools.0" has this one`,
  ],
  [
    'without a schema',
    [{ ...simpleTool({}), inputSchema: 5 }],
    '"tools.0.inputSchema" is 5: give a schema of zod, valibot or arktype, such as z.strictObject({ … }), or a JSON schema',
  ],
  [
    'that takes no object',
    [simpleTool({ inputSchema: z.string() })],
    '"tools.0.inputSchema" is wrong: Tool "simple" must take an object: its schema is another type.',
  ],
  [
    'whose schema of valibot says nothing to a model',
    [simpleTool({ inputSchema: v.strictObject({ text: v.string() }) })],
    '"tools.0.inputSchema" is wrong: the model has to be shown the input of tool "simple", and its schema (valibot) cannot say itself as JSON schema: wrap it in toStandardJsonSchema() of @valibot/to-json-schema, or give inputJsonSchema beside it',
  ],
  [
    'whose JSON schema has a keyword that is not known',
    [simpleTool({ inputSchema: { type: 'object', props: {} } })],
    '"tools.0.inputSchema" is wrong: the input schema cannot be used: $ has "props", which is not enforced: correct it or leave it out',
  ],
  // prettier-ignore
  ['whose schema JSON cannot say', [simpleTool({ inputSchema: z.strictObject({ at: z.date() }) })], '"tools.0.inputSchema" is wrong: Date cannot be represented in JSON Schema'],
])('a tool %s is told before anything starts, by its place and its key', (_, tools, told) => {
  expect(() => checkConfig({ tools }, 'the file f')).toThrow(new ConfigProblem(`the file f: ${told}`));
});

test.each([
  ['the primary', { model: 'a', fallbackModels: ['a', 'b'] }, 'a'],
  ['the one before', { model: 'a', fallbackModels: ['b', 'b'] }, 'b'],
])('a fallback that is %s is told in the words of the check of a caller’s (L19)', (_, config, model) => {
  const problem = `the configuration f: "fallbackModels" is wrong: ${optionsProblem(config) ?? ''}`;
  expect(() => checkConfig(config, 'the configuration f')).toThrow(problem);
  expect(optionsProblem(config)).toContain(`fallback model ${model} comes right after itself`);
});

test.each([true, false, {}, { maxUses: 5, allowedDomains: ['example.com', 'docs.example.org/api'] }])(
  'searches of the web may be configured as %j (L88)',
  (webSearch) => {
    expect(checkConfig({ webSearch }, 'it')).toEqual({ webSearch });
  },
);

test.each([
  ['yes', 'give true or false or an object'],
  [{ maxUses: 0 }, 'webSearch'],
  [{ allowedDomains: ['https://example.com'] }, 'give a host without scheme or port'],
  [{ allowedDomains: ['a.example'], blockedDomains: ['b.example'] }, 'not both'],
  [{ most: 1 }, 'webSearch'],
])('searches of the web configured as %j are refused (L88)', (webSearch, why) => {
  expect(() => checkConfig({ webSearch }, 'it')).toThrow(why);
});

test('searches of the web are off unless they are configured (L57 L88)', () => {
  expect(defaultsOfConfig({ webSearch: false })).toEqual({});
  expect(defaultsOfConfig({ webSearch: true })).toEqual({ webSearch: {} });
  expect(defaultsOfConfig({ webSearch: { maxUses: 2 } })).toEqual({ webSearch: { maxUses: 2 } });
});

test('what docs/models.md says of a model may be configured, searches too (X1)', () => {
  const models = {
    'my-opus': {
      window: 1_000_000,
      thinking: { kinds: ['adaptive'], byDefault: true },
      effort: { levels: ['low', 'medium', 'high'], byDefault: 'medium' },
      webSearch: true,
    },
  } as const;
  expect(checkConfig({ models }, 'it')).toEqual({ models });
});
