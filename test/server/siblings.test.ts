// A failing shell call beside calls that run (L36).
import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../activities/tools/tool.ts';
import { gate, reply, toolUse } from '../../worker/scripted-model/index.ts';
import { harness } from '../support/harness.ts';

it('L36 cancels what runs beside it, and each outcome says whether it had started', async () => {
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
