// How many workflow tasks are taken at once and how long one may compute: what the SDK makes of it.
import { noopMetricMeter } from '@temporalio/common';
import { DefaultLogger, type WorkerOptions } from '@temporalio/worker';
import { compileWorkerOptions } from '@temporalio/worker/lib/worker-options.js';
import { expect, test } from 'vitest';
import { workflowTaskSlots, workflowTime } from '../../worker/workflow-tasks.ts';

const compiled = (more: object) =>
  compileWorkerOptions({ taskQueue: 'q', ...more }, new DefaultLogger('ERROR'), noopMetricMeter);

const slots = (more: Partial<WorkerOptions>): unknown => {
  const { tuner, workflowTaskPollerBehavior: polls } = compiled(more);
  return [tuner.workflowTaskSlotSupplier, polls];
};

test('a workflow may compute for a minute at a stretch, and for 5 s without a word of ours', () => {
  expect(compiled({}).isolateExecutionTimeoutMs).toBe(5_000);
  expect(compiled(workflowTime).isolateExecutionTimeoutMs).toBe(60_000);
});

test.each([
  ['40 workflow tasks are taken at once without a word of ours', {}, 40, 10],
  ['4 workflow tasks are taken at once on one machine', workflowTaskSlots('machine', 300), 4, 4],
  [
    '10 workflow tasks are taken at once on a fleet, whose server is further away',
    workflowTaskSlots('fleet', 300),
    10,
    10,
  ],
  ['one workflow task waits for another where none is kept in memory', workflowTaskSlots('machine', 0), 2, 2],
])('%s', (_, more, numSlots, maximum) => {
  expect(slots(more)).toEqual([
    { type: 'fixed-size', numSlots },
    { type: 'simple-maximum', maximum },
  ]);
});
