// The system prompt of a run (L58): the caller's, then the system's context. It is made once when
// the run opens and stays fixed, so that the prompt cache holds.
import type { JsonSchema } from '../system/schema/json-schema.ts';
import { wellFormedText } from '../system/text.ts';
import type { Reach } from '../system/process/places.ts';
import type { SystemPart } from '../workflows/contract/activities.ts';
import type { PromptContext } from '../workflows/contract/prompt-context.ts';
import type { RunConfig } from './configuration.ts';

export const DEFAULT_SYSTEM_PROMPT = [
  'You are an agent that completes tasks in a workspace, using the tools you are given.',
  'Work step by step: look before you change, prefer the file tools to shell commands, and check what you did.',
  'Independent reads may go in one reply: they run together. When the task is done, say what you did in a few sentences.',
  'A tool result that says its outcome is unknown means that the effect may or may not have happened: check before repeating it.',
].join('\n');

type PromptFacts = Reach & {
  /** The caller's facts about the place and the people, by name. */
  readonly systemContext?: PromptContext;
  readonly userContext?: PromptContext;
  /** Instructions of MCP servers about their tools (L74). */
  readonly instructions?: readonly string[];
  /** The words of hooks at the start of the session, each as the model is told them. */
  readonly added?: readonly string[];
};

/**
 * Builds the parts of the prompt. `at` is in milliseconds since the epoch; `schema` is for the
 * final answer (L53). Anything that may differ from run to run is a part of its own, so that later
 * runs of the session are told that part alone.
 */
export function buildSystemPrompt(
  callers: string,
  context: PromptFacts,
  at: number,
  schema?: JsonSchema,
): readonly SystemPart[] {
  const { cwd, folders = [], instructions = [], added = [], systemContext, userContext } = context;
  const facts = [
    `Workspace: ${cwd}`,
    ...(folders.length === 0 ? [] : [`Other folders you may work in, by absolute path: ${folders.join(', ')}`]),
    `Platform: ${process.platform}`,
  ];
  const parts = [
    { name: 'the instructions', text: callers.trim() },
    { name: 'the workspace', text: facts.join('\n') },
    { name: 'the date', text: `Date when this run started: ${new Date(at).toISOString().slice(0, 10)}` },
    ...contextParts('system context', systemContext),
    { name: MCP_PART, text: instructions.join('\n\n') },
    { name: 'the rule for the final answer', text: schema === undefined ? '' : answerRule(schema) },
    { name: HOOKS_PART, text: added.join('\n\n') },
    ...contextParts('user context', userContext),
  ];
  // One lone surrogate makes every request of the run unreadable (L58).
  return parts.filter(({ text }) => text !== '').map(({ name, text }) => ({ name, text: wellFormedText(text) }));
}

/** Each text has its name before it, because a changed one is told without the others. */
function contextParts(kind: string, context: PromptContext = {}): readonly SystemPart[] {
  return Object.entries(context).map(([name, value]) => {
    const text = value.trim();
    const labelled = text.includes('\n') ? `${name}:\n${text}` : `${name}: ${text}`;
    return { name: `${name} (${kind})`, text: text === '' ? '' : labelled };
  });
}

const MCP_PART = 'what MCP servers say';
const HOOKS_PART = 'what hooks added';

export function systemPartsOf({ systemParts, system }: RunConfig): readonly SystemPart[] {
  const parts = systemParts ?? [{ name: 'the instructions', text: system }];
  return parts.map((part) => (part.name === MCP_PART || part.name === HOOKS_PART ? { ...part, foreign: true } : part));
}

function answerRule(schema: JsonSchema): string {
  return [
    'Your final answer, the reply in which you call no tool, must be exactly one JSON value that satisfies the JSON schema below:',
    'no words before or after it.',
    JSON.stringify(schema),
  ].join('\n');
}
