// A list of tools that changes while sessions run (L44).
import { expect, onTestFinished, test, vi } from 'vitest';
import { createChangingRegistry, type ToolProvider } from '../../tools/registry.ts';
import type { Tool } from '../../tools/tool.ts';
import { simpleTool } from './support.ts';

const [a, b] = [simpleTool({ name: 'a' }), simpleTool({ name: 'b' })];

function changing(provider: ToolProvider) {
  const warnings: string[] = [];
  const registry = createChangingRegistry(provider, { initial: [a], log: (_, line) => void warnings.push(line) });
  const names = (): string[] => registry.definitions().map(({ name }) => name);
  return { registry, names, warnings };
}

test('a tool that came is there after a refresh, and one that went is not (L44)', async () => {
  let list: readonly Tool[] = [a, b];
  const { registry, names } = changing(() => list);
  expect(names()).toEqual(['a']);
  await registry.refresh();
  expect(names()).toEqual(['a', 'b']);
  list = [b];
  await registry.refresh();
  expect(names()).toEqual(['b']);
  expect(registry.get('a')).toBeUndefined();
});

test('a list that did not change keeps its definitions (L22)', async () => {
  const { registry } = changing(() => [a]);
  const before = registry.definitions();
  await registry.refresh();
  expect(registry.definitions()).toBe(before);
});

test.each<[string, ToolProvider, string]>([
  ['two tools of one name', () => [a, a], 'Two tools are named "a"'],
  ['a name the API refuses', () => [simpleTool({ name: 'my tool' })], 'is not valid'],
  ['an error', () => Promise.reject(new Error('the server is gone')), 'the server is gone'],
  [
    'an error at once',
    () => {
      throw new TypeError('broken');
    },
    'broken',
  ],
  ['no list', () => undefined as never, 'the list of tools stays as it was'],
])('a bad list keeps the last good one and is said once: %s (L44)', async (_, bad, sentence) => {
  let provider = bad;
  const { registry, names, warnings } = changing(() => provider());
  await registry.refresh();
  await registry.refresh();
  expect(names()).toEqual(['a']);
  expect(warnings).toEqual([expect.stringContaining(sentence)]);
  provider = () => [b];
  await registry.refresh();
  expect(names()).toEqual(['b']);
});

test('a provider that hangs is waited for once, 5 s, and its answer counts when it comes (L44)', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  let answer: (tools: readonly Tool[]) => void = () => undefined;
  const provider = vi.fn(() => new Promise<readonly Tool[]>((resolve) => (answer = resolve)));
  const { registry, names, warnings } = changing(provider);
  const first = registry.refresh();
  await vi.advanceTimersByTimeAsync(5_000);
  await first;
  await registry.refresh();
  expect(provider).toHaveBeenCalledTimes(1);
  expect(warnings).toHaveLength(1);
  answer([b]);
  await vi.waitUntil(() => names()[0] === 'b');
});

test('refreshes at the same time are one', async () => {
  const provider = vi.fn(() => [a, b]);
  const { registry } = changing(provider);
  await Promise.all([registry.refresh(), registry.refresh()]);
  expect(provider).toHaveBeenCalledTimes(1);
});
