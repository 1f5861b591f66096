// An agent tested for real, as a user's test does it: server, worker and model in one line.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { reply, testEnvironment, toolUse } from '../../client/testing/index.ts';
import { oneRuntime } from '../support/one-runtime.ts';

test('testEnvironment() runs an agent on a real server, replays it, and leaves nothing behind (Q6)', async () => {
  oneRuntime();
  const environment = await testEnvironment({
    script: [reply([toolUse('write', { path: 'made.txt', content: 'by the agent' })]), reply('Made.')],
    config: { permissionMode: 'bypass' },
  });
  const { cwd } = environment;
  try {
    const outcome = await environment.run('Make it.');
    expect(outcome).toMatchObject({ reason: 'completed', text: 'Made.' });
    expect(readFileSync(join(cwd, 'made.txt'), 'utf8')).toBe('by the agent');
    await environment.replay(outcome.sessionId);
    expect(environment.model.requests).toHaveLength(2);
  } finally {
    await environment.close();
  }
  expect(existsSync(cwd)).toBe(false);
});
