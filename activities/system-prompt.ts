// The system prompt of a run (L58): the caller's, then the system's context. Made once when the run opens and fixed for it, so
// that the prompt cache holds.

export const DEFAULT_SYSTEM_PROMPT = [
  'You are an agent that completes tasks in a workspace, using the tools you are given.',
  'Work step by step: look before you change, prefer the file tools to shell commands, and check what you did.',
  'Independent reads may go in one reply: they run together. When the task is done, say what you did in a few sentences.',
  'A tool result that says its outcome is unknown means that the effect may or may not have happened: check before repeating it.',
].join('\n');

/** `at` in milliseconds since the epoch. */
export function systemPrompt(callers: string, cwd: string, at: number): string {
  const date = new Date(at).toISOString().slice(0, 10);
  const context = [`Workspace: ${cwd}`, `Platform: ${process.platform}`, `Date when this run started: ${date}`];
  return [callers.trim(), context.join('\n')].filter((part) => part !== '').join('\n\n');
}
