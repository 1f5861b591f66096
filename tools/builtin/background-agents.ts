// The tools that reach agents in the background (L71), which the workflow asks: their output so
// far, a message to one, its end.
import { z } from 'zod';
import { defineDelegatedTool, type Tool } from '../tool.ts';
import { refuseNul } from './files/wording.ts';

/** Characters. */
const LONGEST_MESSAGE = 100_000;

const agent = z.string().trim().min(1).max(100).describe('The id that the call of agent gave');

export function createAgentOutputTool(): Tool {
  return defineDelegatedTool({
    name: 'agent_output',
    description:
      'The whole answer of an agent in the background that has ended, or since when it is at work. It waits for nothing: you are told when one ends.',
    inputSchema: z.strictObject({ agent }),
    risk: 'read',
    subject: () => null,
    delegate: (input) => ({ kind: 'agent_output', agent: input.agent }),
  });
}

export function createAgentSendTool(): Tool {
  return defineDelegatedTool({
    name: 'agent_send',
    description:
      'Sends a message to an agent in the background, which reads it before its next turn, unless it ends first.',
    inputSchema: z.strictObject({ agent, message: z.string().trim().min(1).max(LONGEST_MESSAGE) }),
    risk: 'read',
    subject: () => null,
    delegate: ({ agent: to, message: text }, { traceparent }) => {
      refuseNul(text, 'The message');
      const message = { kind: 'text', text } as const;
      return { kind: 'agent_send', agent: to, message, ...(traceparent && { traceparent }) };
    },
  });
}

export function createAgentStopTool(): Tool {
  return defineDelegatedTool({
    name: 'agent_stop',
    description: 'Ends an agent in the background, and gives its last words.',
    inputSchema: z.strictObject({ agent }),
    risk: 'read',
    subject: () => null,
    delegate: (input) => ({ kind: 'agent_stop', agent: input.agent }),
  });
}
