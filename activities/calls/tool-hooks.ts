// The pre- and post-tool hooks around one call (L33, L41). A hook that fails is shown to watchers
// and changes nothing.
import type { Tool } from '../../tools/tool.ts';
import type { CallVerdict } from './verdict.ts';
import type { ToolCall } from './call-context.ts';
import { type PreToolVerdict, buildHookContext } from '../hooks/hooks.ts';
import { clip } from '../../system/text.ts';
import { copyForObservers } from '../../tools/observed-input.ts';

/** Returns null when the worker has no such hook. */
export async function runPreToolHooks(call: ToolCall, tool: Tool, input: unknown): Promise<PreToolVerdict | null> {
  const { environment, run } = call;
  if (!environment.hooks.has('preTool', tool.name)) return null;
  return await environment.hooks.preTool(buildHookContext(environment, run, { write: run.say }), {
    name: tool.name,
    input: copyForObservers(tool, input),
    ...pickCallFacts(call),
  });
}

const pickCallFacts = ({ environment: { mode }, block: { id: toolUseId } }: ToolCall) => ({ mode, toolUseId });

/** Asks the post-tool hooks about a call that has run and ended by itself. */
export async function runPostToolHooks(
  call: ToolCall,
  { tool, input }: { readonly tool: Tool; readonly input: unknown },
  verdict: CallVerdict,
): Promise<CallVerdict> {
  const { environment, run } = call;
  const hasRun = verdict.outcome === 'ok' || verdict.outcome === 'error';
  if (!hasRun || !environment.hooks.has('postTool', tool.name)) return verdict;
  const { content, isError } = verdict;
  const facts = {
    name: tool.name,
    input: copyForObservers(tool, input),
    content,
    isError,
    ...pickCallFacts(call),
  };
  const answers = await environment.hooks.postTool(buildHookContext(environment, run, { write: run.say }), facts);
  const added = answers.context.map(({ hook, text }) => `From the hook ${hook}:\n${text}`);
  const stop = verdict.facts.stop ?? answers.stop;
  return {
    ...verdict,
    content: [content, ...added].filter((part) => part !== '').join('\n\n'),
    facts: stop === null ? verdict.facts : { ...verdict.facts, stop: clip(stop) },
  };
}
