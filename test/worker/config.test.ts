// What a configuration may say, and how a wrong one is told.
import { expect, test } from 'vitest';
import { modelTable } from '../../activities/model/models.ts';
import { checkConfig, ConfigProblem, defineConfig, type PerdureConfig } from '../../worker/config.ts';
import { configDefaults } from '../../worker/config-defaults.ts';
import { runDefaults } from '../../worker/run-defaults.ts';

const price = { input: 1, output: 2, cacheRead: 0.1, cacheWrite: 1.25 };

const everything: PerdureConfig = defineConfig({
  model: 'own-1',
  fallbackModels: ['own-0'],
  smallModel: 'own-small',
  models: { 'own-': { window: 100_000, maxOutput: 8_000, price }, other: { window: 1, maxOutput: 1, price: null } },
  permissionMode: 'acceptEdits',
  permissions: { allow: ['bash(git status:*)'], deny: ['write(.env)'], ask: ['bash'] },
  systemPrompt: 'Be brief.',
  maxTurns: 20,
  maxOutputTokens: 4_000,
  compaction: { enabled: true, warning: 0.5 },
  batchSummaries: true,
  approvalTimeoutMs: 60_000,
  tools: () => [],
  hooks: {
    preTool: [() => undefined, { command: 'true', tools: ['bash'] }, { command: ['true'], name: 'x', timeoutMs: 10 }],
    stop: [{ run: () => ({ block: 'no' }) }],
  },
  afterStop: [{ name: 'memory', timeoutMs: 1_000, run: () => Promise.resolve() }],
  attachments: [{ name: 'news', collect: () => null }],
});

test('everything that may be configured is accepted, and so is nothing', () => {
  expect(checkConfig(everything, 'it')).toBe(everything);
  expect(checkConfig({}, 'it')).toEqual({});
});

test('L57 what is configured goes before what is built in', () => {
  expect({ ...runDefaults, ...configDefaults(everything) }).toMatchObject({
    model: 'own-1',
    fallbackModels: ['own-0'],
    smallModel: 'own-small',
    models: { ...modelTable, ...everything.models },
    permissionMode: 'acceptEdits',
    permissions: everything.permissions,
    systemPrompt: 'Be brief.',
    maxTurns: 20,
    outputCap: 4_000,
    compaction: { ...runDefaults.compaction, warning: 0.5 },
    batchSummaries: true,
    approvalTimeoutMs: 60_000,
  });
  expect({ ...runDefaults, ...configDefaults({}) }).toEqual(runDefaults);
});

const key = (path: string): string => `"${path}" is no key of the configuration: remove it or correct its name`;

test.each<[string, unknown, string | RegExp]>([
  ['a key that is not known', { modle: 'x' }, key('modle')],
  ['a key that is not known, further down', { compaction: { warn: 0.5 } }, key('compaction.warn')],
  ['a misspelt kind of hook', { hooks: { pretool: [] } }, key('hooks.pretool')],
  ['a misspelt key of a hook', { hooks: { stop: [{ comand: 'x' }] } }, key('hooks.stop.0.comand')],
  [
    'tools of a hook that is about none',
    { hooks: { stop: [{ command: 'x', tools: ['bash'] }] } },
    key('hooks.stop.0.tools'),
  ],
  ['a hook that does nothing', { hooks: { stop: [{ name: 'x' }] } }, /^"hooks\.stop\.0" is wrong: give exactly one of/],
  ['a negative limit', { maxTurns: -1 }, /^"maxTurns" is wrong: /],
  ['a negative budget', { maxBudgetUsd: -5 }, key('maxBudgetUsd')],
  [
    'a negative price',
    { models: { x: { window: 1, maxOutput: 1, price: { ...price, input: -1 } } } },
    /^"models\.x\.price\.input" is wrong: /,
  ],
  ['a missing key', { models: { x: { maxOutput: 1, price: null } } }, /^"models\.x\.window" is wrong: /],
  ['NaN', { approvalTimeoutMs: Number.NaN }, /^"approvalTimeoutMs" is wrong: /],
  ['a share that is none', { compaction: { critical: 85 } }, /^"compaction\.critical" is wrong: /],
  [
    'a warning above what is critical',
    { compaction: { warning: 0.9 } },
    '"compaction" is wrong: "warning" must be below "critical"',
  ],
  ['a mode that is not known', { permissionMode: 'yolo' }, /^"permissionMode" is wrong: /],
  ['a rule that is not one', { permissions: { deny: ['bash('] } }, /^"permissions" is wrong: /],
  ['a tool that is none', { tools: [{ name: 'x' }] }, '"tools.0" is wrong: is no tool: make it with defineTool'],
  [
    'a handler without its time',
    { afterStop: [{ name: 'x', run: () => undefined }] },
    /^"afterStop\.0\.timeoutMs" is wrong: /,
  ],
  [
    'two attachments of one name',
    { attachments: [everything.attachments?.[0], everything.attachments?.[0]] },
    '"attachments" is wrong: has "news" twice',
  ],
  ['no object', 'model: x', /^it is wrong: /],
])('%s is told in one sentence that names it', (_, config, told) => {
  const check = (): unknown => checkConfig(config, 'the configuration f');
  expect(check).toThrow(ConfigProblem);
  expect(check).toThrow(
    told instanceof RegExp
      ? new RegExp(`^the configuration f: ${told.source.slice(1)}[^\\n]*$`)
      : `the configuration f: ${told}`,
  );
});
