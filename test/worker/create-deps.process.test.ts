// From a configuration to what the activities get.
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../tools/tool.ts';
import { createDeps } from '../../worker/create-deps.ts';
import { defaultsOfConfig } from '../../worker/config/config-defaults.ts';
import { type PerdureConfig } from '../../worker/config/config.ts';
import { openModelAccess } from '../../worker/model-access.ts';
import { tempDir } from '../support/temp-dir.ts';

const tool = (name: string) =>
  defineTool({
    name,
    description: name,
    inputSchema: z.strictObject({}),
    risk: 'read',
    recovery: 'rerun',
    call: () => Promise.resolve({ content: name }),
  });

async function deps(config: PerdureConfig) {
  const dir = tempDir();
  const access = await openModelAccess({ ANTHROPIC_API_KEY: 'key' });
  onTestFinished(() => access.close());
  const folders = { storePlace: join(dir, 'store'), liveDir: join(dir, 'live'), dataDir: dir };
  const env = { PATH: process.env['PATH'] };
  return createDeps({ ...config, ...folders, access, env, defaults: defaultsOfConfig(config), log: () => {} });
}

test('hooks, handlers and defaults of a configuration reach the activities', async () => {
  const afterStop = [{ name: 'memory', timeoutMs: 1, run: () => Promise.resolve() }];
  const made = await deps({ model: 'own', hooks: { preTool: [{ command: 'true', tools: ['bash'] }] }, afterStop });
  expect(made.defaults.model).toBe('own');
  expect([made.hooks.has('preTool', 'bash'), made.hooks.has('preTool', 'read')]).toEqual([true, false]);
  expect(made.afterStop).toBe(afterStop);
});

test('tools given by a function are there when the worker starts, and what they become after a refresh (L44)', async () => {
  let names = ['first'];
  const made = await deps({ tools: () => Promise.resolve(names.map(tool)) });
  const others = () =>
    made.tools.definitions.map(({ name }) => name).filter((name) => ['first', 'second'].includes(name));
  expect(others()).toEqual(['first']);
  names = ['second'];
  await made.tools.refresh({});
  expect(others()).toEqual(['second']);
  expect(made.tools.definitions.map(({ name }) => name)).toContain('bash');
});

test('where bubblewrap is a worker has sandboxes that wait for commands, and elsewhere none', async () => {
  const { prepared, sandbox } = await deps({});
  expect(prepared !== undefined).toBe(sandbox.kind === 'bwrap');
  prepared?.close();
});
