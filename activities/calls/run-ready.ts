// Runs a call that may run: the tool, what it changes for later calls, the hooks after it (L33,
// L38, L48).
import { checkModifier, withPostTool } from './check-call.ts';
import type { ReadyCall } from './prepare.ts';
import { abortCause, runTool } from './call-tool.ts';
import type { ToolContext, ToolOutput } from '../../tools/tool.ts';
import { concludeCall, endsCall, reportStopped, type Verdict } from './verdict.ts';
import { type EarlyRun, type Void, type Workbench, toolContext, type CallRun } from './workbench.ts';
import { claimCall, recordStopped, type Taken } from './journal.ts';
import type { Chosen } from './approval.ts';

/** `input` as it was before the schema: what observers may see. */
type Runnable = { readonly ready: ReadyCall; readonly input: unknown };

type Run = Omit<EarlyRun, 'id'>;

export async function runReady(
  bench: Workbench,
  run: Run,
  { ready, input }: Runnable,
  context: ToolContext,
): Promise<Verdict | Void> {
  const { signal } = context;
  if (signal.aborted) return reportStopped(abortCause(signal));
  run.begins();
  const { askModel, askPeople, ...rest } = context;
  const asks = {
    ...(ready.asksModel && askModel ? { askModel } : {}),
    ...(ready.tool.asksPeople && askPeople ? { askPeople } : {}),
  };
  const { mayUse, mayShow } = ready;
  const ran = await runTool(ready.tool, ready.input, { ...rest, ...asks, mayUse, ...(mayShow && { mayShow }) });
  if (ran.kind === 'stopped' && !endsCall(ran.cause)) {
    const { cause, tool } = ran;
    return { kind: 'void', cause, ...(tool === undefined ? {} : { tool }) };
  }
  if (ran.kind === 'output') return await answerCall(bench, run, { ready, input }, context, ran.output);
  return await withPostTool(bench, run, { tool: ready.tool, input }, concludeCall(ran, ready.safe));
}

/** The tool, or its check, says what came of the call. */
export async function answerCall(
  bench: Workbench,
  run: Run,
  { ready, input }: Runnable,
  context: ToolContext,
  output: ToolOutput,
): Promise<Verdict> {
  const verdict = await withModifier(concludeCall({ kind: 'output', output }, ready.safe), context, output);
  return await withPostTool(bench, run, { tool: ready.tool, input }, verdict);
}

async function withModifier(verdict: Verdict, context: ToolContext, { modify }: ToolOutput): Promise<Verdict> {
  if (modify === undefined) return verdict;
  const checked = await checkModifier(modify, context);
  if (typeof checked !== 'string') return { ...verdict, facts: { ...verdict.facts, modify: checked } };
  const content = `${verdict.content}\n(what it wanted to change for later calls was refused: ${checked})`.trimStart();
  return { ...verdict, content, isError: true, outcome: 'error', facts: { ...verdict.facts, error: true } };
}

// Runs a call that may not be repeated: its claim is durable first, and whoever finds it claimed
// does not run it (L40).

export type Claimable = { readonly ready: ReadyCall; readonly chosen: Chosen };

/** One of all attempts ever runs the call under this generation of its claim. */
export async function runClaimed(
  bench: Workbench,
  run: CallRun,
  { ready, chosen }: Claimable,
  generation = 1,
): Promise<Verdict | Void | Taken> {
  const { signal } = run;
  if (signal.aborted && !endsCall(abortCause(signal))) return reportStopped(abortCause(signal));
  const { store, session, host } = bench;
  const call = { session, key: run.key };
  const { stored: changed } = chosen;
  const facts = { tool: ready.tool.name, input: ready.input, changed, approved: chosen.approved, host: host.identity };
  if (!(await run.fence())) return { kind: 'void', cause: 'superseded' };
  const claim = await claimCall(store, call, facts, generation);
  if (claim.kind === 'taken') return claim;
  const began = !signal.aborted;
  const context = toolContext(bench, { ...run, id: run.key, generation });
  const verdict = await runReady(bench, run, { ready, input: chosen.input }, context);
  if (verdict.kind === 'void' || !began) {
    const { cause, tool } = verdict.kind === 'void' ? verdict : { cause: abortCause(signal) };
    const stopped = { cause, began: began && tool !== 'untouched', at: Date.now() };
    await recordStopped(store, call, { ...stopped, ...(tool === 'hung' ? { hung: true } : {}) }, generation);
  }
  return verdict;
}
