// A tool may look at the conversation that it is called in, as the model is shown it.
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineTool, type ToolContext } from '../../../tools/tool.ts';
import { reply, runInMemory, toolUse } from '../../../client/testing/index.ts';

const asking = (risk: 'read' | 'write', seen: string[]) =>
  defineTool({
    name: `look_${risk}`,
    description: 'Looks at the conversation.',
    risk,
    recovery: 'rerun',
    inputSchema: z.object({}),
    async call(_input, { messages }: ToolContext) {
      const shown = (await messages?.()) ?? [];
      seen.push(JSON.stringify(shown));
      for (const { content } of shown)
        if (typeof content !== 'string') content.forEach((block) => Object.assign(block, { text: 'changed' }));
      return { content: `saw ${shown.length} messages` };
    },
  });

test.each(['read', 'write'] as const)(
  'a call that would %s is given the conversation on request, and changes nothing by changing it (L13 L33)',
  async (risk) => {
    const seen: string[] = [];
    const call = reply([toolUse(`look_${risk}`, {})]);
    const { reason, requests } = await runInMemory({
      prompt: 'The word is heliotrope.',
      script: [call, call, reply('Done.')],
      config: { tools: [asking(risk, seen)] },
    });
    expect(reason).toBe('completed');
    expect(seen[0]).toContain('The word is heliotrope.');
    expect(seen[1]).toContain('saw 1 messages');
    expect(JSON.stringify((requests[2]?.body as { messages?: unknown } | undefined)?.messages)).not.toContain(
      'changed',
    );
  },
);
