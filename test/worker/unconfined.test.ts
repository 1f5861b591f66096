// Who may let commands run unconfined: a person, by the flag, the configuration or a kept answer.
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { checkConfig } from '../../worker/config/config.ts';
import { findPermission, keepAnswer, mayRunUnconfined, UNCONFINED_VARIABLE } from '../../worker/config/unconfined.ts';
import { tempDir } from '../support/temp-dir.ts';

const placeOf = () => ({ HOME: tempDir() });
const flag = { [UNCONFINED_VARIABLE]: '1' };

test('the flag goes before the configuration, and the configuration before a kept answer', () => {
  const env = placeOf();
  expect([mayRunUnconfined(undefined, env), findPermission(undefined, env, 'darwin')]).toEqual([false, null]);
  expect(mayRunUnconfined({ unconfined: true }, env)).toBe(true);
  expect(mayRunUnconfined({ unconfined: false }, { ...env, ...flag })).toBe(true);
  expect(mayRunUnconfined(undefined, { ...env, [UNCONFINED_VARIABLE]: 'yes' })).toBe(false);
  keepAnswer(env, true);
  expect(mayRunUnconfined(undefined, env, 'darwin')).toBe(true);
  expect(mayRunUnconfined({ unconfined: false }, env, 'darwin')).toBe(false);
});

test('an answer is kept for its owner alone, and holds on macOS alone', () => {
  const env = placeOf();
  const path = keepAnswer(env, true);
  expect([path, readFileSync(path, 'utf8')]).toEqual([
    join(env.HOME, '.config/perdure/unconfined.json'),
    '{"unconfined":true}\n',
  ]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(findPermission(undefined, env, 'linux')).toBe(null);
  keepAnswer(env, false);
  expect(findPermission(undefined, env, 'darwin')).toBe(false);
});

test('an answer that others may have written, or that is damaged, is none', () => {
  const env = placeOf();
  const path = keepAnswer(env, true);
  chmodSync(path, 0o666);
  expect(findPermission(undefined, env, 'darwin')).toBe(null);
  chmodSync(path, 0o600);
  for (const text of ['{"unconfined":"yes"}', '{}', 'true', '{']) {
    writeFileSync(path, text);
    expect(findPermission(undefined, env, 'darwin')).toBe(null);
  }
});

test('a workspace cannot say it, whatever its files are called', () => {
  const cwd = tempDir();
  const before = process.cwd();
  onTestFinished(() => process.chdir(before));
  for (const folder of ['.perdure', '.config/perdure', '.claude', 'perdure']) {
    mkdirSync(join(cwd, folder), { recursive: true });
    for (const name of ['unconfined.json', 'perdure.config.mjs', 'settings.json', 'config.json'])
      writeFileSync(join(cwd, folder, name), '{"unconfined":true,"sandbox":{"unconfined":true}}');
  }
  writeFileSync(join(cwd, '.env'), `${UNCONFINED_VARIABLE}=1`);
  process.chdir(cwd);
  const env = placeOf();
  expect([mayRunUnconfined(undefined, env), findPermission(undefined, env, 'darwin')]).toEqual([false, null]);
  // A relative folder of configuration would be one of the workspace.
  expect(findPermission(undefined, { ...env, XDG_CONFIG_HOME: '.config' }, 'darwin')).toBe(null);
});

test('the configuration takes true or false', () => {
  expect(checkConfig({ sandbox: { unconfined: true } }, 'a test').sandbox).toEqual({ unconfined: true });
  expect(() => checkConfig({ sandbox: { unconfined: 'yes' } }, 'a test')).toThrow(
    '"sandbox.unconfined" is "yes": give true or false',
  );
});
