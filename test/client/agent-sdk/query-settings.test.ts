// Checks what the settings of a query stand for, and which of them are refused.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { translateOptions } from '../../../client/agent-sdk/options.ts';
import { withSettings } from '../../../client/agent-sdk/query-settings.ts';
import { withExtraArgs } from '../../../client/agent-sdk/option-fates.ts';
import type { Settings } from '../../../client/agent-sdk/shapes/options.ts';

const folder = mkdtempSync(join(tmpdir(), 'perdure-settings-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const quiet = (): void => undefined;
const full: Settings = {
  $schema: 'https://example.com/schema.json',
  permissions: {
    allow: ['Bash(npm test:*)'],
    deny: ['Read(.env)'],
    ask: ['Write'],
    defaultMode: 'acceptEdits',
    additionalDirectories: ['/tmp'],
  },
  env: { SHOP: 'x' },
  model: 'haiku',
  fallbackModel: ['sonnet', 'opus'],
  effortLevel: 'low',
};

test('settings become the options that they stand for, which go before them (Q7)', () => {
  const options = withSettings({ settings: full, cwd: folder, allowedTools: ['Glob'], model: 'opus' }, quiet);
  expect(options).toMatchObject({
    model: 'opus',
    fallbackModel: 'sonnet,opus',
    effort: 'low',
    permissionMode: 'acceptEdits',
    allowedTools: ['Glob', 'Bash(npm test:*)'],
    disallowedTools: ['Read(.env)'],
    additionalDirectories: ['/tmp'],
    env: { SHOP: 'x', PATH: process.env['PATH'] },
  });
  const { run, config } = translateOptions(options, quiet);
  expect(run.permissions).toEqual({
    allow: ['glob', 'bash(npm test:*)'],
    deny: ['read(.env)', 'grep(.env)', 'glob(.env)'],
    ask: ['write'],
  });
  expect(config.toolEnv).toEqual({ SHOP: 'x' });
});

test('settings are read from a file, from a text of JSON, and from the argument --settings (Q7)', () => {
  writeFileSync(join(folder, 'settings.json'), JSON.stringify({ model: 'haiku' }));
  const ways = [
    { settings: 'settings.json', cwd: folder },
    { settings: '{"model":"haiku"}' },
    withExtraArgs({ extraArgs: { settings: join(folder, 'settings.json') } }, quiet),
    { managedSettings: { model: 'haiku' } },
  ];
  for (const options of ways) expect(withSettings(options, quiet)).toMatchObject({ model: 'haiku' });
});

test('the managed settings add their rules to those of the settings (Q7)', () => {
  const rules = (tool: string): Settings => ({ permissions: { deny: [tool], ask: [`${tool}(x)`] } });
  const options = withSettings({ settings: rules('Bash'), managedSettings: rules('Write') }, quiet);
  expect(translateOptions(options, quiet).run.permissions).toEqual({
    deny: ['bash', 'write'],
    ask: ['bash(x)', 'write(x)'],
  });
});

test.each([
  [
    'a sandbox',
    { sandbox: { enabled: true } },
    /^the option "settings" of query\(\) is refused: sandbox: commands are/,
  ],
  [
    'a permission that guards and is not known',
    { permissions: { denyInsteadOfPrompting: true } },
    /permissions: Unrec/,
  ],
  ['rules that are no list', { permissions: { allow: 'Bash' } }, /permissions\.allow: /],
  ['a list of models', { availableModels: ['haiku'] }, /availableModels: give the model/],
  [
    'a hook that is a prompt',
    { hooks: { Stop: [{ hooks: [{ type: 'prompt', prompt: 'x' }] }] } },
    /its hooks are refused: Stop\.0\.hooks\.0/,
  ],
  [
    'a hook with a rule',
    { hooks: { Stop: [{ hooks: [{ type: 'command', command: 'x', if: 'Bash' }] }] } },
    /its hooks are refused/,
  ],
  [
    'a hook of an unknown event',
    { hooks: { Before: [{ hooks: [{ type: 'command', command: 'x' }] }] } },
    /no event "Before"/,
  ],
  ['a file that is not there', 'nowhere.json', /ENOENT/],
  ['a text that is not JSON', '{', /JSON/],
])('%s in settings is refused (Q7)', (_what, settings, why) => {
  expect(() => withSettings({ settings: settings as Settings, cwd: folder }, quiet)).toThrow(why);
});

test('settings on which nothing depends are passed over in one line, and those that are off in none (Q7)', () => {
  const said: string[] = [];
  const settings = {
    theme: 'dark',
    cleanupPeriodDays: 3,
    sandbox: { enabled: false },
    apiKeyHelper: '',
    disableAllHooks: false,
    enabledPlugins: {},
  };
  expect(withSettings({ settings }, (line) => said.push(line))).toEqual({});
  expect(said).toEqual(['the option settings has theme, cleanupPeriodDays, passed over: nothing here depends on it']);
});
