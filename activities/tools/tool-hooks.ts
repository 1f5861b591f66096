// Pre- and post-tool hooks around one call (L33, L41): what they are told, what watchers see of them, what they change. A hook that
// fails is shown to watchers, and changes nothing.
import type { HookContext, HookFailure, PreToolVerdict } from '../hooks/hooks.ts';
import { clip } from './clip.ts';
import { observable } from './observable.ts';
import type { Tool } from './tool.ts';
import type { Verdict } from './verdict.ts';
import type { EarlyRun, Workbench } from './workbench.ts';

type HookedRun = Pick<EarlyRun, 'signal' | 'iteration' | 'begins' | 'say'>;

/** Characters of what one hook may add to an outcome. */
const MAX_CONTEXT = 10_000;

/** Null when there is no such hook. */
export async function askPreTool(
  bench: Workbench,
  run: HookedRun,
  tool: Tool,
  input: unknown,
): Promise<PreToolVerdict | null> {
  if (!bench.hooks.has('preTool')) return null;
  const told = hookStarts(run, 'preTool');
  const said = await bench.hooks.preTool(context(bench, run), { name: tool.name, input: observable(tool, input) });
  told(said.stop === null ? (said.decision?.kind ?? 'no objection') : 'stop', said.failed);
  return said;
}

/** Of a call that has run and come to an end by itself. */
export async function withPostTool(
  bench: Workbench,
  run: HookedRun,
  { tool, input }: { readonly tool: Tool; readonly input: unknown },
  verdict: Verdict,
): Promise<Verdict> {
  const hasRun = verdict.outcome === 'ok' || verdict.outcome === 'error';
  if (!hasRun || !bench.hooks.has('postTool')) return verdict;
  const told = hookStarts(run, 'postTool');
  const { content, isError } = verdict;
  const call = { name: tool.name, input: observable(tool, input), content, isError };
  const said = await bench.hooks.postTool(context(bench, run), call);
  told(said.stop === null ? 'done' : 'stop', said.failed);
  const added = said.context.map(({ hook, text }) => `From the hook ${hook}:\n${clip(text, MAX_CONTEXT)}`);
  const stop = verdict.facts.stop ?? said.stop;
  return {
    ...verdict,
    content: [content, ...added].filter((part) => part !== '').join('\n\n'),
    facts: stop === null ? verdict.facts : { ...verdict.facts, stop: clip(stop) },
  };
}

/** L60. Returns how to say that it ended. */
function hookStarts(
  { begins, say, iteration }: HookedRun,
  name: 'preTool' | 'postTool',
): (result: string, failed: readonly HookFailure[]) => void {
  begins();
  say({ type: 'hook_start', iteration, hook: name });
  return (result, failed) => {
    for (const { hook, detail } of failed) {
      say({ type: 'hook_end', iteration, hook, result: `failed: ${clip(detail, 500)}` });
    }
    say({ type: 'hook_end', iteration, hook: name, result });
  };
}

function context({ session, queryId, depth, cwd }: Workbench, { iteration, signal }: HookedRun): HookContext {
  return { session, queryId, depth, iteration, cwd, signal };
}
