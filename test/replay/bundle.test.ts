import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { expect, test } from 'vitest';

const bundle = (path: string, logged: string[] = []): ReturnType<typeof bundleWorkflowCode> =>
  bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL(path, import.meta.url)),
    logger: new DefaultLogger('ERROR', ({ message }) => void logged.push(message)),
  });

test('the workflow passes the real bundler, and exports its one type', async () => {
  const { code } = await bundle('../../dist/workflows/index.js');
  expect(code).toContain('agentSession');
});

test('a workflow that reached for the world would not', async () => {
  const logged: string[] = [];
  await expect(bundle('./reaches-out.mjs', logged)).rejects.toThrow(/errors/);
  expect(logged.join('\n')).toContain('node:fs');
});
