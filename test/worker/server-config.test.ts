// A configuration tells of a model's server: how long it may be silent, and its words.
import { expect, test } from 'vitest';
import { runDefaults } from '../../worker/config/defaults.ts';
import { defaultsOfConfig } from '../../worker/config/config-defaults.ts';
import { checkConfig, type PerdureConfig } from '../../worker/config/config.ts';

test('the times of a model that is silent, and words for a request that is too long, go before what is built in (X4 L57)', () => {
  const config: PerdureConfig = {
    firstByteMs: 1_800_000,
    stallMs: 600_000,
    requestMs: 86_400_000,
    overflowWords: ['the buffer of the model is full'],
  };
  expect(checkConfig(config, 'it')).toBe(config);
  expect({ ...runDefaults, ...defaultsOfConfig(config) }).toMatchObject(config);
  expect(runDefaults).toMatchObject({ firstByteMs: 600_000, stallMs: 300_000 });
});

const time = 'give a whole number of milliseconds from 1 to 3600000';

test.each<[string, unknown, string]>([
  ['a stall of more than an hour', { stallMs: 3_600_001 }, `"stallMs" is 3600001: ${time}`],
  [
    'a request of more than a day',
    { requestMs: 86_400_001 },
    '"requestMs" is 86400001: give a whole number of milliseconds from 1 to 86400000',
  ],
  ['no time for a first byte', { firstByteMs: 0 }, `"firstByteMs" is 0: ${time}`],
  [
    'a word that is in every failure',
    { overflowWords: ['token'] },
    '"overflowWords.0" is "token": give a text of 8 to 200 characters',
  ],
  [
    'blanks for words',
    { overflowWords: ['          '] },
    '"overflowWords.0" is "          ": give a text of 8 to 200 characters',
  ],
])('%s is told in one sentence (X4)', (_, config, told) => {
  expect(() => checkConfig(config, 'f')).toThrow(`f: ${told}`);
});
