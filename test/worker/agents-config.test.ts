// A configuration may define agents, and a wrong definition is reported.
import { expect, test } from 'vitest';
import { agentDefaults } from '../../tools/agent-types.ts';
import { defaultsOfConfig } from '../../worker/config/config-defaults.ts';
import { checkConfig, ConfigProblem } from '../../worker/config/config.ts';

test('types of a configuration are added to those that are built in, and limits replace theirs (L66 L68)', () => {
  const agents = { explore: { description: 'Another.' }, reviewer: { description: 'Reviews.' } };
  expect(defaultsOfConfig({ agents, agentLimits: { depth: 2 } }).agents).toEqual({
    types: { ...agentDefaults.types, ...agents },
    limits: { depth: 2, open: 8, perRun: 50 },
  });
});

test.each([
  [
    'an agent without a description',
    { agents: { a: {} } },
    '"agents.a.description" is missing: give a text of 1 to 1000 characters',
  ],
  [
    'an agent with a name that is none',
    { agents: { 'a b': { description: 'A.' } } },
    'a key of "agents" is "a b": give 1 to 64 letters, digits, "_" or "-"',
  ],
  [
    'an agent with a limit out of range',
    { agents: { a: { description: 'A.', limits: { maxTurns: 0 } } } },
    '"agents.a.limits" is wrong: max turns is 0: give a whole number from 1 to 1000000',
  ],
  [
    'an agent with a limit that is not known',
    { agents: { a: { description: 'A.', limits: { turns: 3 } } } },
    '"agents.a.limits.turns" is no key of the configuration: remove it or correct its name',
  ],
  ['agents too deep', { agentLimits: { depth: 11 } }, '"agentLimits.depth" is 11: give a whole number from 1 to 10'],
] as const)('%s is told in one sentence that names it (L66 L68)', (_what, config, told) => {
  expect(() => checkConfig(config, 'f')).toThrow(new ConfigProblem(`f: ${told}`));
});

test('models and efforts of a configuration, and of its agents, are checked by name (X2)', () => {
  const told = (config: object): string => {
    try {
      checkConfig(config, 'f');
      return 'fine';
    } catch (error) {
      return (error as Error).message;
    }
  };
  const agents = (type: object) => ({ agents: { a: { description: 'A.', ...type } } });
  expect(told({ model: 'opus', fallbackModels: ['qwen3:8b'], smallModel: 'haiku', effort: 'max' })).toBe('fine');
  expect(told(agents({ model: 'inherit', effort: 'low' }))).toBe('fine');
  expect(told({ smallModel: 'haiuk' })).toBe('f: "smallModel" is wrong: "haiuk" is no model: did you mean haiku?');
  expect(told({ effort: 'much' })).toMatch(/^f: "effort" is "much": /);
  expect(told(agents({ model: 'sonet' }))).toMatch(/^f: "agents.a.model" is wrong: "sonet" is no model/);
});
