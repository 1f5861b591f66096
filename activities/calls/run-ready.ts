// Runs a call that may run: the tool, what it changes for later calls, the hooks after it (L33,
// L38, L48).
import { checkModifier, runPostToolHooks } from './check-call.ts';
import type { ReadyCall } from './prepare.ts';
import { abortCause, callTool } from './call-tool.ts';
import type { ToolContext, ToolOutput } from '../../tools/tool.ts';
import { concludeCall, endsCall, reportStopped, type CallVerdict } from './verdict.ts';
import { type ClaimedCall, journalNameOf, type ToolCall, type VoidAttempt } from './call-context.ts';
import { claimCall, recordStopped, type TakenCall } from './journal.ts';
import type { ChosenInput } from './approval.ts';
import { present } from '../../workflows/contract/present.ts';

/** `input` is the value before the schema, which observers may see. */
type RunnableCall = { readonly ready: ReadyCall; readonly input: unknown };

export async function runReady(
  call: ToolCall,
  { ready, input }: RunnableCall,
  context: ToolContext,
): Promise<CallVerdict | VoidAttempt> {
  const { signal } = context;
  if (signal.aborted) return reportStopped(abortCause(signal));
  call.run.begins();
  const { askModel, askPeople, ...rest } = context;
  const asks = {
    ...(ready.asksModel && askModel ? { askModel } : {}),
    ...(ready.tool.asksPeople && askPeople ? { askPeople } : {}),
  };
  const { mayUse, mayShow } = ready;
  const ran = await callTool(ready.tool, ready.input, { ...rest, ...asks, mayUse, ...(mayShow && { mayShow }) });
  if (ran.kind === 'stopped' && !endsCall(ran.cause)) {
    const { cause, tool } = ran;
    return { kind: 'void', cause, ...present({ tool }) };
  }
  if (ran.kind === 'output') return await concludeOutput(call, { ready, input, output: ran.output }, context);
  return await runPostToolHooks(call, { tool: ready.tool, input }, concludeCall(ran, ready.safe));
}

/** Concludes a call with the output that the tool, or its check, gave. */
export async function concludeOutput(
  call: ToolCall,
  { ready, input, output }: RunnableCall & { readonly output: ToolOutput },
  context: ToolContext,
): Promise<CallVerdict> {
  const verdict = await applyModifier(concludeCall({ kind: 'output', output }, ready.safe), context, output);
  return await runPostToolHooks(call, { tool: ready.tool, input }, verdict);
}

async function applyModifier(verdict: CallVerdict, context: ToolContext, { modify }: ToolOutput): Promise<CallVerdict> {
  if (modify === undefined) return verdict;
  const checked = await checkModifier(modify, context);
  if (typeof checked !== 'string') return { ...verdict, facts: { ...verdict.facts, modify: checked } };
  const content = `${verdict.content}\n(what it wanted to change for later calls was refused: ${checked})`.trimStart();
  return { ...verdict, content, isError: true, outcome: 'error', facts: { ...verdict.facts, error: true } };
}

export type Claimable = { readonly ready: ReadyCall; readonly chosen: ChosenInput };

/**
 * Runs a call that may not be repeated: its claim is durable first, and an attempt that finds it
 * claimed does not run it (L40). Of all attempts ever, one runs it under this generation.
 */
export async function runClaimed(
  call: ClaimedCall,
  { ready, chosen }: Claimable,
  generation = 1,
): Promise<CallVerdict | VoidAttempt | TakenCall> {
  const { signal } = call.run;
  if (signal.aborted && !endsCall(abortCause(signal))) return reportStopped(abortCause(signal));
  const { store, host } = call.environment;
  const name = journalNameOf(call);
  const { stored: changed } = chosen;
  const facts = { tool: ready.tool.name, input: ready.input, changed, approved: chosen.approved, host: host.identity };
  if (!(await call.run.fence())) return { kind: 'void', cause: 'superseded' };
  const claim = await claimCall(store, name, facts, generation);
  if (claim.kind === 'taken') return claim;
  const began = !signal.aborted;
  const context = call.buildContext(generation);
  const verdict = await runReady(call, { ready, input: chosen.input }, context);
  if (verdict.kind === 'void' || !began) {
    const { cause, tool } = verdict.kind === 'void' ? verdict : { cause: abortCause(signal) };
    const stopped = { cause, began: began && tool !== 'untouched', at: Date.now() };
    await recordStopped(store, name, { ...stopped, ...(tool === 'hung' ? { hung: true } : {}) }, generation);
  }
  return verdict;
}
