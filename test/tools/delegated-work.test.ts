// Tools whose work an activity or a workflow of the user's does: options that Temporal would refuse
// are found when they are defined.
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../tools/tool.ts';

const tool = {
  name: 'order',
  description: 'Orders.',
  inputSchema: z.strictObject({ article: z.string() }),
  risk: 'external',
} as const;
const asActivity = (options: object) => defineTool({ ...tool, activity: { name: 'order', options } });
const asWorkflow = (options: object) => defineTool({ ...tool, workflow: { type: 'order', options } });

const TIME = 'give milliseconds, or a text such as "10 minutes", above 0';

test.each([
  [{ startToCloseTimeout: '1 minutee' }, `startToCloseTimeout "1 minutee": ${TIME}`],
  [{ scheduleToCloseTimeout: -1 }, `scheduleToCloseTimeout -1: ${TIME}`],
  [{ heartbeatTimeout: {} }, `heartbeatTimeout {}: ${TIME}`],
  [{ startToClose: '1 minute' }, 'startToClose is none of startToCloseTimeout, scheduleToCloseTimeout, '],
  [{ retry: 3 }, 'retry 3: give an object'],
  [{ retry: { maximumAttempts: 0 } }, 'retry {"maximumAttempts":0}: maximumAttempts 0: give a number, 1 or more'],
  [{ retry: { maximumAttempts: 1.5 } }, 'RetryPolicy.maximumAttempts must be an integer'],
  [{ retry: { maxAttempts: 3 } }, 'retry.maxAttempts is none of '],
  [{ retry: { nonRetryableErrorTypes: 'Sold' } }, 'nonRetryableErrorTypes "Sold": give a list of texts'],
])('options %j of an activity are refused with the names of the tool and the option (L65)', (options, told) => {
  expect(() => asActivity(options)).toThrow(`the tool "order": activity.options: ${told}`.slice(0, 36));
  expect(() => asActivity(options)).toThrow(told);
});

test('options of a workflow are refused likewise (L65)', () => {
  expect(() => asWorkflow({ workflowRunTimeout: 'soon' })).toThrow(
    `the tool "order": workflow.options: workflowRunTimeout "soon": ${TIME}`,
  );
});

test('options that Temporal takes are taken (L65)', () => {
  const retry = {
    maximumAttempts: Infinity,
    initialInterval: '1s',
    backoffCoefficient: 1,
    nonRetryableErrorTypes: ['A'],
  };
  expect(asActivity({ startToCloseTimeout: '1 minute', heartbeatTimeout: 500, retry }).name).toBe('order');
  expect(asWorkflow({ workflowRunTimeout: '1 day' }).name).toBe('order');
});
