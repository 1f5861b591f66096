// Folders and variables for tools, given by a program for an in-process agent SDK and on the
// command line: one server for both.
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { query } from '../../client/agent-sdk/query.ts';
import type { SDKMessage } from '../../client/agent-sdk/shapes/messages.ts';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { cliPlace, modelFor } from '../support/cli.ts';
import { oneRuntime } from '../support/one-runtime.ts';

test('additionalDirectories and env of a program, --add-dir and --tool-env reach a command, secrets of the worker do not (Q7)', async () => {
  oneRuntime();
  // This process is the worker of the program.
  vi.stubEnv('DATABASE_PASSWORD', 'canary-password');
  onTestFinished(() => void vi.unstubAllEnvs());
  const write = (name: string) => reply([toolUse('bash', { command: `env > ../lib/${name}` })]);
  const model = await modelFor([write('program'), reply('Written.'), write('command'), reply('Written.')]);
  const { cwd, env, run } = cliPlace(model);
  const lib = join(cwd, '../lib');
  mkdirSync(lib);

  const told: SDKMessage[] = [];
  const options = { cwd, additionalDirectories: ['../lib'], permissionMode: 'bypassPermissions' as const };
  const stderr = (): void => undefined;
  const asked = query({ prompt: 'Go.', options: { ...options, env: { ...env, STAGE: 'of-program' }, stderr } });
  for await (const message of asked) told.push(message);
  expect(told.at(-1)).toMatchObject({ type: 'result', subtype: 'success' });
  const seen = (name: string): string => readFileSync(join(lib, name), 'utf8');
  expect(seen('program')).toContain('STAGE=of-program\n');
  expect(seen('program')).not.toMatch(/canary|ANTHROPIC|PERDURE_DATA/);

  const flags = ['--permission-mode', 'bypass', '--add-dir', '../lib', '--tool-env', 'STAGE=of-command'];
  expect(await run('run', 'Go.', ...flags)).toMatchObject({ status: 0 });
  expect(seen('command')).toContain('STAGE=of-command\n');
  expect(seen('command')).not.toMatch(/ANTHROPIC|PERDURE_DATA/);
  expect(JSON.stringify(model.requests[0]?.body)).toContain(`by absolute path: ${lib}`);
  expect(model.problems).toEqual([]);
});
