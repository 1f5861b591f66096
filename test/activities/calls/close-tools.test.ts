import { expect, test } from 'vitest';
import { closeTools } from '../../../activities/calls/call-runner.ts';
import { createRegistry } from '../../../tools/registry.ts';
import type { ClosedRun, Tool } from '../../../tools/tool.ts';
import { simpleTool } from '../../tools/support.ts';

const run = (signal = new AbortController().signal): ClosedRun => ({
  session: 's-1',
  run: 1,
  queryId: 'q.1',
  depth: 0,
  cwd: '/workspace',
  reason: 'completed',
  signal,
});

test('tools close side by side; one that fails or does not end is named and holds up no other (L48)', async () => {
  const closed: string[] = [];
  const hanging: AbortSignal[] = [];
  const named = (name: string, close?: Tool['close']): Tool => simpleTool({ name, ...(close && { close }) });
  const registry = createRegistry([
    named('plain'),
    named('good', () => void closed.push('good')),
    named('bad', () => Promise.reject(new Error('the lock is gone'))),
    named('hung', ({ signal }) => (hanging.push(signal), new Promise(() => undefined))),
    named('away', () => void closed.push('away')),
  ]);
  const failed = await closeTools(registry, { tools: ['plain', 'good', 'bad', 'hung'] }, run(), 20);
  expect(closed).toEqual(['good']);
  expect(failed).toEqual([
    { tool: 'bad', detail: 'the lock is gone' },
    { tool: 'hung', detail: 'timed out after 20 ms' },
  ]);
  expect(hanging[0]?.aborted).toBe(true);
});
