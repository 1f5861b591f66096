// The system prompt of a run (L58): the caller's, then the system's context. Made once when the run opens and fixed for it, so
// that the prompt cache holds.
import type { JsonSchema } from './model/answer-schema.ts';

export const DEFAULT_SYSTEM_PROMPT = [
  'You are an agent that completes tasks in a workspace, using the tools you are given.',
  'Work step by step: look before you change, prefer the file tools to shell commands, and check what you did.',
  'Independent reads may go in one reply: they run together. When the task is done, say what you did in a few sentences.',
  'A tool result that says its outcome is unknown means that the effect may or may not have happened: check before repeating it.',
].join('\n');

/** `at` in milliseconds since the epoch. `schema`: what the final answer must satisfy (L53). */
export function systemPrompt(callers: string, cwd: string, at: number, schema?: JsonSchema): string {
  const date = new Date(at).toISOString().slice(0, 10);
  const context = [`Workspace: ${cwd}`, `Platform: ${process.platform}`, `Date when this run started: ${date}`];
  const parts = [callers.trim(), context.join('\n'), schema === undefined ? '' : answerRule(schema)];
  return parts.filter((part) => part !== '').join('\n\n');
}

function answerRule(schema: JsonSchema): string {
  return [
    'Your final answer, the reply in which you call no tool, must be exactly one JSON value that satisfies the JSON schema below:',
    'no words before or after it.',
    JSON.stringify(schema),
  ].join('\n');
}
