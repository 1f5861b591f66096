// Work that cannot begin as its tool says: its call fails, and the run goes on.
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineDelegatedTool } from '../../tools/tool.ts';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { outcomes } from '../support/agents.ts';
import { harness } from '../support/harness.ts';

test('a call whose work has a time limit that is none ends as failed, and says so (L65)', async () => {
  const order = defineDelegatedTool({
    name: 'order',
    description: 'Orders.',
    inputSchema: z.strictObject({ article: z.string() }),
    risk: 'external',
    delegate: () => ({ kind: 'activity', name: 'order', args: [], options: { startToCloseTimeout: '1 minutee' } }),
  });
  const h = await harness({
    script: [reply([toolUse('order', { article: 'lamps' })]), reply('Done.')],
    worker: { tools: [order] },
  });
  const session = await h.open('Order.');
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(await outcomes(session)).toMatchObject([
    { isError: true, content: expect.stringContaining('Invalid duration string') },
  ]);
});
