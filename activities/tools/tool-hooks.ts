// Pre- and post-tool hooks around one call (L33, L41): what they are told, and what they change. A hook that fails is shown to
// watchers, and changes nothing.
import { hookContext } from '../hooks/around-runs.ts';
import type { PreToolVerdict } from '../hooks/hooks.ts';
import { clip } from '../text.ts';
import { observable } from './observable.ts';
import type { Tool } from './tool.ts';
import type { Verdict } from './verdict.ts';
import type { EarlyRun, Workbench } from './workbench.ts';

type HookedRun = Pick<EarlyRun, 'signal' | 'iteration' | 'say'>;

/** Null when there is no such hook. */
export async function askPreTool(
  bench: Workbench,
  run: HookedRun,
  tool: Tool,
  input: unknown,
): Promise<PreToolVerdict | null> {
  if (!bench.hooks.has('preTool', tool.name)) return null;
  return await bench.hooks.preTool(hookContext(bench, run, { write: run.say }), {
    name: tool.name,
    input: observable(tool, input),
  });
}

/** Of a call that has run and come to an end by itself. */
export async function withPostTool(
  bench: Workbench,
  run: HookedRun,
  { tool, input }: { readonly tool: Tool; readonly input: unknown },
  verdict: Verdict,
): Promise<Verdict> {
  const hasRun = verdict.outcome === 'ok' || verdict.outcome === 'error';
  if (!hasRun || !bench.hooks.has('postTool', tool.name)) return verdict;
  const { content, isError } = verdict;
  const call = { name: tool.name, input: observable(tool, input), content, isError };
  const said = await bench.hooks.postTool(hookContext(bench, run, { write: run.say }), call);
  const added = said.context.map(({ hook, text }) => `From the hook ${hook}:\n${text}`);
  const stop = verdict.facts.stop ?? said.stop;
  return {
    ...verdict,
    content: [content, ...added].filter((part) => part !== '').join('\n\n'),
    facts: stop === null ? verdict.facts : { ...verdict.facts, stop: clip(stop) },
  };
}
