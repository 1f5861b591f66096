import { expect, test } from 'vitest';
import { destroyAgents } from '../../../connection/network/network.ts';

test('agents are destroyed where they can be: those of bun hold nothing, and have no such method', async () => {
  let destroyed = 0;
  const destroy = (): Promise<void> => {
    destroyed += 1;
    return Promise.resolve();
  };
  await destroyAgents([{ destroy }, {}, { destroy }]);
  expect(destroyed).toBe(2);
});
