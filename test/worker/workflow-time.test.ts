// An option that the SDK does not list: what it makes of it.
import { noopMetricMeter } from '@temporalio/common';
import { DefaultLogger } from '@temporalio/worker';
import { compileWorkerOptions } from '@temporalio/worker/lib/worker-options.js';
import { expect, test } from 'vitest';
import { workflowTime } from '../../worker/workflow-time.ts';

const compiled = (more: object) =>
  compileWorkerOptions({ taskQueue: 'q', ...more }, new DefaultLogger('ERROR'), noopMetricMeter);

test('a workflow may compute for a minute at a stretch, and for 5 s without a word of ours', () => {
  expect(compiled({}).isolateExecutionTimeoutMs).toBe(5_000);
  expect(compiled(workflowTime).isolateExecutionTimeoutMs).toBe(60_000);
});
