import { totalmem } from 'node:os';
import { expect, onTestFinished, test, vi } from 'vitest';
import { keptViewBytes, keptWorkflows, memoryThereIs } from '../../worker/follow-memory.ts';

const MB = 1024 * 1024;

test('what is kept follows the memory there is, up to what helps and down to what works', () => {
  const memories = [256, 512, 768, 1_024, 32_768].map((megabytes) => megabytes * MB);
  expect(memories.map((memory) => keptWorkflows(memory, 1))).toEqual([20, 174, 300, 300, 300]);
  expect(memories.map((memory) => keptViewBytes(memory) / MB)).toEqual([8, 24, 56, 64, 64]);
});

test('two queues share the memory for sessions', () => {
  expect(keptWorkflows(512 * MB, 2)).toBe(87);
});

test.each([
  ['the limit of a container', 512 * MB, 512 * MB],
  ['without a limit, that of the machine', 0, totalmem()],
  ['with a limit that no machine has, that of the machine', 2 ** 64, totalmem()],
])('the memory there is: %s', (_, limit, memory) => {
  const told = vi.spyOn(process, 'constrainedMemory').mockReturnValue(limit);
  onTestFinished(() => told.mockRestore());
  expect(memoryThereIs()).toBe(memory);
});
