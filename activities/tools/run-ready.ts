// Runs a call that may run: the tool, what it changes for later calls, the hooks after it (L33, L38, L48).
import { checkModifier } from './modifier.ts';
import type { ReadyCall } from './prepare.ts';
import { abortCause, runTool } from './run-tool.ts';
import { withPostTool } from './tool-hooks.ts';
import type { ToolContext, ToolOutput } from './tool.ts';
import { ended, endsCall, stoppedBefore, type Verdict } from './verdict.ts';
import type { EarlyRun, Void, Workbench } from './workbench.ts';

/** `input` as it was before the schema: what observers may see. */
export type Runnable = { readonly ready: ReadyCall; readonly input: unknown };

type Run = Omit<EarlyRun, 'id'>;

export async function runReady(
  bench: Workbench,
  run: Run,
  { ready, input }: Runnable,
  context: ToolContext,
): Promise<Verdict | Void> {
  const { signal } = context;
  if (signal.aborted) return stoppedBefore(abortCause(signal));
  run.begins();
  const ran = await runTool(ready.tool, ready.input, { ...context, mayUse: ready.mayUse });
  if (ran.kind === 'stopped' && !endsCall(ran.cause)) {
    const { cause, tool } = ran;
    return { kind: 'void', cause, ...(tool === undefined ? {} : { tool }) };
  }
  if (ran.kind === 'output') return await answered(bench, run, { ready, input }, context, ran.output);
  return await withPostTool(bench, run, { tool: ready.tool, input }, ended(ran, ready.safe));
}

/** The tool, or its check, says what came of the call. */
export async function answered(
  bench: Workbench,
  run: Run,
  { ready, input }: Runnable,
  context: ToolContext,
  output: ToolOutput,
): Promise<Verdict> {
  const verdict = await withModifier(ended({ kind: 'output', output }, ready.safe), context, output);
  return await withPostTool(bench, run, { tool: ready.tool, input }, verdict);
}

async function withModifier(verdict: Verdict, context: ToolContext, { modify }: ToolOutput): Promise<Verdict> {
  if (modify === undefined) return verdict;
  const checked = await checkModifier(modify, context);
  if (typeof checked !== 'string') return { ...verdict, facts: { ...verdict.facts, modify: checked } };
  const content = `${verdict.content}\n(what it wanted to change for later calls was refused: ${checked})`.trimStart();
  return { ...verdict, content, isError: true, outcome: 'error', facts: { ...verdict.facts, error: true } };
}
