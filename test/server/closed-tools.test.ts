// Tools are told when a run has ended, however it did.
import { expect, test } from 'vitest';
import { z } from 'zod';
import { type ClosedRun, defineTool, type Tool } from '../../tools/tool.ts';
import { fault, reply, toolUse } from '../../scripted-model/index.ts';
import { harness } from '../support/harness.ts';
import { until } from '../support/until.ts';

type Told = { readonly order: string[]; readonly runs: ClosedRun[] };

/** A tool that holds something until its call is stopped, and what it is told. */
function holder(name = 'hold'): Told & { readonly tool: Tool } {
  const order: string[] = [];
  const runs: Told['runs'] = [];
  const tool = defineTool({
    name,
    description: 'Holds something until it is stopped.',
    inputSchema: z.strictObject({}),
    risk: 'execute',
    recovery: 'report',
    async call(_input, { signal }) {
      order.push('held');
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      order.push('stopped');
      return { content: 'stopped', stopped: true };
    },
    close(run) {
      order.push('closed');
      runs.push(run);
    },
  });
  return { tool, order, runs };
}

test('a tool is told of the end of each run that was offered it, called or not (L48)', async () => {
  const [held, other] = [holder(), holder('other')];
  const h = await harness({
    script: [reply('Done.'), fault({ status: 401 })],
    worker: { tools: [held.tool, other.tool] },
  });
  const session = await h.open('Go.', { tools: ['hold'] });
  await session.ended(1);
  await session.send('And now?');
  await session.ended(2);
  await until(() => held.runs.length === 2);
  expect(held.runs).toMatchObject([
    { session: session.id, run: 1, reason: 'completed', cwd: h.cwd, depth: 0 },
    { run: 2, reason: 'model_error' },
  ]);
  expect(other.runs).toEqual([]);
});

test('at a stop it is told after its call has ended, and at a cancel before the session closes (L48 L49)', async () => {
  const held = holder();
  const call = reply([toolUse('hold', {})]);
  const h = await harness({ script: [call, call], worker: { tools: [held.tool] } });
  const session = await h.open('Hold.');
  await until(() => held.order.includes('held'));
  await session.interrupt();
  await until(() => held.runs.length === 1);
  expect(held.order).toEqual(['held', 'stopped', 'closed']);
  held.order.length = 0;
  await session.send('Again.');
  await until(() => held.order.includes('held'));
  await session.handle.cancel();
  await session.handle.result().catch(() => undefined);
  expect(held.order).toEqual(['held', 'stopped', 'closed']);
  expect(held.runs.map(({ reason }) => reason)).toEqual(['aborted_tools', 'aborted_tools']);
});
