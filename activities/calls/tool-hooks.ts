// The pre- and post-tool hooks around one call (L33, L41). A hook that fails is shown to watchers
// and changes nothing.
import type { Tool } from '../../tools/tool.ts';
import type { CallVerdict } from './verdict.ts';
import type { EarlyRun, CallEnvironment } from './call-environment.ts';
import { buildHookContext } from '../hooks/hook-context.ts';
import type { PreToolVerdict } from '../hooks/hooks.ts';
import { clip } from '../../system/text.ts';
import { copyForObservers } from '../../tools/observed-input.ts';

type HookedRun = Pick<EarlyRun, 'signal' | 'iteration' | 'say' | 'toolUseId'>;

/** Returns null when the worker has no such hook. */
export async function runPreToolHooks(
  environment: CallEnvironment,
  run: HookedRun,
  tool: Tool,
  input: unknown,
): Promise<PreToolVerdict | null> {
  if (!environment.hooks.has('preTool', tool.name)) return null;
  return await environment.hooks.preTool(buildHookContext(environment, run, { write: run.say }), {
    name: tool.name,
    input: copyForObservers(tool, input),
    ...pickCallFacts(environment, run),
  });
}

const pickCallFacts = ({ mode }: CallEnvironment, { toolUseId }: HookedRun) => ({
  mode,
  ...(toolUseId && { toolUseId }),
});

/** Asks the post-tool hooks about a call that has run and ended by itself. */
export async function runPostToolHooks(
  environment: CallEnvironment,
  run: HookedRun,
  { tool, input }: { readonly tool: Tool; readonly input: unknown },
  verdict: CallVerdict,
): Promise<CallVerdict> {
  const hasRun = verdict.outcome === 'ok' || verdict.outcome === 'error';
  if (!hasRun || !environment.hooks.has('postTool', tool.name)) return verdict;
  const { content, isError } = verdict;
  const call = {
    name: tool.name,
    input: copyForObservers(tool, input),
    content,
    isError,
    ...pickCallFacts(environment, run),
  };
  const answers = await environment.hooks.postTool(buildHookContext(environment, run, { write: run.say }), call);
  const added = answers.context.map(({ hook, text }) => `From the hook ${hook}:\n${text}`);
  const stop = verdict.facts.stop ?? answers.stop;
  return {
    ...verdict,
    content: [content, ...added].filter((part) => part !== '').join('\n\n'),
    facts: stop === null ? verdict.facts : { ...verdict.facts, stop: clip(stop) },
  };
}
