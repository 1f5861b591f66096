// The agent tool (L66): a task for another agent, a session of its own that the workflow starts. It
// may do no more than the calling one.
import { z } from 'zod';
import { AGENT_TOOL, type AgentCounts, type Isolation } from '../../workflows/contract/delegation.ts';
import type { RosterAgent } from '../../workflows/contract/roster.ts';
import { type AgentSettings, GENERAL } from '../agent-types.ts';
import { defineDelegatedTool, type Tool } from '../tool.ts';
import { refuseNul } from './files/wording.ts';

const LONGEST_TITLE = 120;
/** Characters. */
const LONGEST_PROMPT = 400_000;

export function createAgentTool({ types, limits }: AgentSettings): Tool {
  const names = Object.keys(types);
  return defineDelegatedTool({
    name: AGENT_TOOL,
    description: [
      'Gives a task to another agent, which works on it by itself, with a conversation of its own, and answers with one message. It sees nothing of this',
      'conversation: put all it needs into the prompt. Several calls in one reply work side by side. Use it for a search or a task that would fill this',
      'conversation with what you do not need afterwards. Types:',
      ...names.map((name) => `- ${name}: ${types[name]!.description}`),
    ].join('\n'),
    inputSchema: z.strictObject({
      description: z.string().trim().min(1).max(LONGEST_TITLE).describe('The task in a few words, for people'),
      prompt: z.string().trim().min(1).max(LONGEST_PROMPT),
      type: z
        .string()
        .optional()
        .describe(`One of ${names.join(', ')}; ${GENERAL} when absent`),
      background: z.boolean().optional().describe('Go on at once: you are told when it has ended'),
      isolation: z
        .literal('worktree')
        .optional()
        .describe('It works on the last commit, in a git worktree with a branch of its own'),
    }),
    // Each of its own calls is judged by the rules of this run.
    risk: 'read',
    canUse: ({ type = GENERAL, isolation }, { mode }) =>
      mode === 'plan' && chooseIsolation(types, type, isolation)
        ? {
            kind: 'deny',
            why: 'in permission mode "plan" no git worktree is made: leave isolation out, or use another type',
          }
        : undefined,
    subject: ({ type = GENERAL }) => ({ kind: 'name', name: type }),
    validate: ({ type = GENERAL }, { depth }) => {
      const known = Object.hasOwn(types, type);
      if (!known) return Promise.resolve(`There is no agent type ${quoteType(type)}: use one of ${names.join(', ')}.`);
      const deep = `Not run: this agent is ${depth} levels below the session, and no more than ${limits.depth} are allowed. Do it yourself.`;
      return Promise.resolve(depth < limits.depth ? undefined : deep);
    },
    delegate: ({ description: title, prompt, type = GENERAL, background, isolation }, { depth, traceparent }) => {
      refuseNul(prompt, 'The prompt');
      const { open, perRun } = limits;
      const body = { kind: 'text', text: prompt } as const;
      const isolated = chooseIsolation(types, type, isolation);
      const common = {
        ...(inBackground(types, type, background) && { background: true as const }),
        ...(isolated && { isolation: isolated }),
        ...(traceparent && { traceparent }),
      };
      return { kind: 'agent', type, title, prompt: body, depth: depth + 1, ...common, most: { open, perRun } };
    },
  });
}

/**
 * The tool of a run that brings its agents (G68). A call waits for its agent, which works in the
 * same folder.
 */
export function createRosterTool(roster: readonly RosterAgent[], { open, perRun }: AgentCounts): Tool {
  const names = roster.map(({ name }) => name);
  return defineDelegatedTool({
    name: AGENT_TOOL,
    description: [
      'Gives a task to another agent, which works on it by itself, with a conversation and tools of its own, and answers with one message. It sees nothing',
      'of this conversation: put all it needs into the prompt. Several calls in one reply work side by side. Types:',
      ...roster.map(({ name, description }) => `- ${name}${description === '' ? '' : `: ${description}`}`),
    ].join('\n'),
    inputSchema: z.strictObject({
      description: z.string().trim().min(1).max(LONGEST_TITLE).describe('The task in a few words, for people'),
      prompt: z.string().trim().min(1).max(LONGEST_PROMPT),
      type: z.enum(names),
    }),
    // Each of its own calls is judged by the rules of its own run.
    risk: 'read',
    subject: ({ type }) => ({ kind: 'name', name: type }),
    delegate: ({ description: title, prompt, type }, { depth, traceparent }) => {
      refuseNul(prompt, 'The prompt');
      const body = { kind: 'text', text: prompt } as const;
      const most = { open, perRun };
      return { kind: 'agent', type, title, prompt: body, depth: depth + 1, ...(traceparent && { traceparent }), most };
    },
  });
}

/** Chooses the isolation of the call, or that of all agents of its type (L72). */
function chooseIsolation(
  types: AgentSettings['types'],
  type: string,
  requested: Isolation | undefined,
): Isolation | undefined {
  return requested ?? (Object.hasOwn(types, type) ? types[type]?.isolation : undefined);
}

/** The call says so, or its type does (L71). */
function inBackground(types: AgentSettings['types'], type: string, requested: boolean | undefined): boolean {
  return requested ?? (Object.hasOwn(types, type) && types[type]?.background === true);
}

function quoteType(type: string): string {
  return JSON.stringify(type.slice(0, 80));
}

/** Characters. */
const LONGEST_MESSAGE = 100_000;

const agent = z.string().trim().min(1).max(100).describe('The id that the call of agent gave');

/**
 * The tools that reach agents in the background (L71), which the workflow asks: their output so
 * far, a message to one, its end.
 */
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
