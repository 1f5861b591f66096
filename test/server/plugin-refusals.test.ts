// Mistakes with PerdurePlugin: each is a sentence that says what to do, when the worker is made.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type NativeConnection, bundleWorkflowCode, DefaultLogger, Runtime } from '@temporalio/worker';
import { expect, inject, onTestFinished, test, vi } from 'vitest';
import { reply } from '../../scripted-model/index.ts';
import { PerdurePlugin } from '../../worker/plugin/perdure-plugin.ts';
import { root } from '../packages/empty-project.ts';
import { tempDir } from '../support/temp-dir.ts';
import { execute, running, userPlace, workflowsPath } from '../support/user-worker.ts';

test('a bundle that was made with the plugin runs agents; one without it is refused with a sentence (Q3)', async () => {
  const at = await userPlace([reply('From a bundle.')]);
  const logger = new DefaultLogger('ERROR');
  const without = await bundleWorkflowCode({ workflowsPath, logger });
  const foreign = running(at, { workflowsPath: undefined as never, workflowBundle: without });
  await expect(foreign).rejects.toThrow(/was made without perdure.agentSession: give the plugin to bundleWorkflowCode/);
  const codePath = join(tempDir(), 'bundle.js');
  writeFileSync(codePath, without.code);
  const ofFile = running(at, { workflowsPath: undefined as never, workflowBundle: { codePath } });
  await expect(ofFile).rejects.toThrow(/was made without perdure.agentSession/);
  const workflowBundle = await bundleWorkflowCode({ workflowsPath, logger, plugins: [at.plugin()] });
  for (const ours of ['agentSession', 'delegatedWork', 'scheduledPrompt'])
    expect(workflowBundle.code).toMatch(new RegExp(`"perdure\\.${ours}"`));
  await running(at, { workflowsPath: undefined as never, workflowBundle });
  expect(await (await execute(at, 'asked', ['Go.'])).result()).toMatchObject({ text: 'FROM A BUNDLE.' });
});

test('a plugin for two workers, an activity of its names, a wrong configuration: one sentence each (Q3)', async () => {
  const at = await userPlace([]);
  const plugins = [at.plugin()];
  await running(at, { plugins });
  await expect(running(at, { plugins })).rejects.toThrow(/belongs to another worker: make one for each/);
  const activities = { 'perdure.commit': () => Promise.resolve() };
  await expect(running(at, { activities })).rejects.toThrow(/has an activity "perdure.commit"/);
  expect(() => new PerdurePlugin({ config: { modle: 'x' } as never })).toThrow(/PerdurePlugin/);
});

test('a worker without a model is refused: a script would answer its agents (Q3)', async () => {
  const at = await userPlace([], { env: { PATH: process.env.PATH, PERDURE_DATA: tempDir() } });
  await expect(running(at)).rejects.toThrow(/has no model: set ANTHROPIC_API_KEY/);
});

test('a worker without workflows is told that agents of its queue need another worker (Q3)', async () => {
  const at = await userPlace([]);
  const warn = vi.spyOn(Runtime.instance().logger, 'warn').mockImplementation(() => undefined);
  await running(at, { workflowsPath: undefined as never });
  const said = warn.mock.calls.map(([message]) => message);
  warn.mockRestore();
  expect(said).toContainEqual(
    expect.stringContaining(`the queue ${at.taskQueue} needs another one with workflowsPath`),
  );
});

/** A project whose workflows find a package of their own, beside the one that the plugin finds. */
function projectWith(name: string, files: Readonly<Record<string, string>>): string {
  const folder = tempDir();
  const own = join(folder, 'node_modules', name);
  mkdirSync(own, { recursive: true });
  for (const [file, text] of Object.entries(files)) writeFileSync(join(own, file), text);
  const workflows = join(folder, 'workflows.cjs');
  writeFileSync(workflows, '');
  return workflows;
}

test('workflows that find another @temporalio/workflow, or none, are refused with both folders (Q3)', () => {
  const bundler = new PerdurePlugin();
  const theirs = projectWith('@temporalio/workflow', { 'package.json': '{"name":"@temporalio/workflow"}' });
  const refused = /@temporalio\/workflow is there twice.*`npm ls @temporalio\/workflow` shows who brings the other/;
  expect(() => bundler.configureBundler({ workflowsPath: theirs })).toThrow(refused);
  const without = projectWith('nothing', {});
  expect(() => bundler.configureBundler({ workflowsPath: without })).toThrow(
    /finds no @temporalio\/workflow: npm install/,
  );
});

test('workflows that import perdure/workflow from another copy of perdure are refused (Q3)', () => {
  const exports = { './workflow': './workflow.js' };
  const manifest = JSON.stringify({ name: 'perdure', exports });
  const theirs = projectWith('perdure', { 'package.json': manifest, 'workflow.js': '' });
  symlinkSync(join(root, 'node_modules/@temporalio'), join(dirname(theirs), 'node_modules/@temporalio'));
  expect(() => new PerdurePlugin().configureBundler({ workflowsPath: theirs })).toThrow(/perdure is there twice/);
});

test('a worker of another copy of @temporalio/worker is refused, with where the plugin’s is (Q1)', async () => {
  const at = await userPlace([]);
  const load = createRequire(import.meta.url);
  const file = load.resolve('@temporalio/worker/lib/connection.js');
  const { [file]: loaded } = load.cache;
  delete load.cache[file];
  const other = load(file) as { readonly NativeConnection: typeof NativeConnection };
  if (loaded) load.cache[file] = loaded;
  const connection = await other.NativeConnection.connect({ address: inject('temporalAddress') });
  onTestFinished(() => connection.close());
  const refused =
    /@temporalio\/worker is there twice, .*PerdurePlugin in \S+@temporalio\/worker: keep one: `npm ls @temporalio\/worker`/;
  await expect(running(at, { connection })).rejects.toThrow(refused);
});
