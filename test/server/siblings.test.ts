// A failing shell call beside calls that run (L36).
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../tools/tool.ts';
import { gate, reply, toolUse } from '../../scripted-model/index.ts';
import { harness } from '../support/harness.ts';
import { until } from '../support/until.ts';

test('a failing call that is no shell call cancels nothing that runs beside it (L36)', async () => {
  const held = gate();
  const common = {
    description: 'Beside others.',
    inputSchema: z.strictObject({}),
    risk: 'read',
    recovery: 'rerun',
  } as const;
  const waits = defineTool({ ...common, name: 'waits', call: async () => (await held.hold, { content: 'Fine.' }) });
  const fails = defineTool({ ...common, name: 'fails', call: async () => ({ content: 'It failed.', isError: true }) });
  const h = await harness({
    script: [reply([toolUse('waits', {}), toolUse('fails', {})]), reply('Done.')],
    worker: { config: { tools: [waits, fails], hooks: { preTool: [() => undefined] } } },
  });
  const session = await h.open('Go.');
  await until(async () => {
    const events = (await session.handle.fetchHistory()).events ?? [];
    const ended = events.findLastIndex((event) => event.activityTaskCompletedEventAttributes);
    const begun = events.findLastIndex((event) => event.activityTaskScheduledEventAttributes);
    // The failure has been dealt with, and the other call still runs.
    return begun < ended && ended < events.findLastIndex((event) => event.workflowTaskCompletedEventAttributes);
  });
  held.release();
  await session.ended(1);
  const events = (await session.handle.fetchHistory()).events ?? [];
  expect(events.filter((event) => event.activityTaskCancelRequestedEventAttributes)).toEqual([]);
  expect(h.bodies()[1]?.messages.at(-1)?.content).toMatchObject([
    { content: 'Fine.' },
    { is_error: true, content: expect.stringContaining('It failed.') },
  ]);
});

test('cancels what runs beside it, and each outcome says whether it had started (L36)', async () => {
  const started = gate();
  const inputSchema = z.strictObject({});
  const common = { description: 'Beside others.', inputSchema, risk: 'execute', recovery: 'rerun' } as const;
  const waits = defineTool({
    ...common,
    name: 'waits',
    safe: () => true,
    async call(_input, { signal }) {
      started.release();
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      return { content: 'Stopped.', stopped: true };
    },
  });
  const fails = defineTool({
    ...common,
    name: 'fails',
    safe: () => true,
    call: async () => (await started.hold, { content: 'It failed.', isError: true, cancelsSiblings: true }),
  });
  // A hook keeps both from starting early.
  const hooks = { preTool: [() => undefined] };
  const h = await harness({
    script: [
      reply([toolUse('waits', {}), toolUse('fails', {}), toolUse('bash', { command: 'touch after' })]),
      reply('Done.'),
    ],
    worker: { config: { tools: [waits, fails], hooks } },
  });
  const session = await h.open('Go.');
  await session.ended(1);
  expect(h.bodies()[1]?.messages.at(-1)?.content).toMatchObject([
    { is_error: true, content: expect.stringContaining('(stopped: ') },
    { is_error: true, content: expect.stringContaining('It failed.') },
    { is_error: true, content: expect.stringContaining('before it started') },
  ]);
});
