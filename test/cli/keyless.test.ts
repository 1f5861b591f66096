import { expect, test } from 'vitest';
import { refuseToSpoil, refuseWithoutKey } from '../../cli/worker-config.ts';
import type { SessionInfo } from '../../client/sessions/info.ts';
import { DEMO_TASK } from '../../scripted-model/index.ts';
import { description } from '../client/support.ts';

const sessions = (...all: SessionInfo[]) => ({
  list: async function* () {
    yield* all;
  },
});

test.each([
  ['the demo task', {}, DEMO_TASK.toUpperCase()],
  ['any task with a key', { ANTHROPIC_API_KEY: 'k' }, 'write a poem'],
  ['any task with a server of one’s own', { ANTHROPIC_BASE_URL: 'http://x' }, 'write a poem'],
])('lets %s pass', (_what, env, task) => {
  expect(() => refuseWithoutKey(env, task)).not.toThrow();
});

test('refuses another task without a key', () => {
  expect(() => refuseWithoutKey({ ANTHROPIC_API_KEY: '' }, 'write a poem')).toThrow(
    'No API key found. Set ANTHROPIC_API_KEY',
  );
});

test.each(['running', 'waiting_approval', 'parked'] as const)(
  'does not let the scripted model end what a real one has begun and is %s',
  async (phase) => {
    const begun = description({ title: 'write a poem', phase });
    await expect(refuseToSpoil({}, sessions(begun))).rejects.toThrow('session s-1 ("write a poem") is unfinished');
    await refuseToSpoil({ ANTHROPIC_API_KEY: 'k' }, sessions(begun));
    await refuseToSpoil({}, sessions(description({ title: DEMO_TASK }), { ...begun, phase: 'idle' }));
  },
);
