// Both sides of a call that the workflow carries out (L62). The delegation is recorded before it is
// returned, so that every attempt returns the same. Its end becomes an outcome like any other,
// post-tool hooks included.
import {
  AGENT_TOOL,
  type AgentEnd,
  LARGEST_ARGS,
  type DelegatedEnd,
  type Delegation,
  endInWords,
  isOfWorker,
  type OutsideResult,
} from '../../workflows/contract/delegation.ts';
import type { MessageBody } from '../../workflows/contract/people.ts';
import { createConfigReader } from '../../store/configuration.ts';
import { readStoredInput, addApproval, type ChosenInput } from './approval.ts';
import { abortCause, guardTool, type ToolRunEnd } from './call-tool.ts';
import { runPostToolHooks } from './tool-hooks.ts';
import { hashInput, readDelegated, recordDelegated, type DelegatedRecord } from './journal.ts';
import type { ReadyCall } from './prepare.ts';
import { storeTextBody } from '../../store/log/bodies.ts';
import type { Store } from '../../store/values/store.ts';
import { describeEnd, lastRunOf, type LastRun, type AgentWords } from '../../store/view/agent-end.ts';
import { parseStructuredOutput } from '../../store/view/result.ts';
import type { Tool, ToolContext, ToolOutput } from '../../tools/tool.ts';
import { concludeCall, refuseCall, type CallVerdict } from './verdict.ts';
import {
  type CallEnvironment,
  type ClaimedCall,
  type DelegationNeeded,
  journalNameOf,
  type VoidAttempt,
} from './call-context.ts';
import { present } from '../../workflows/contract/present.ts';

type DelegableCall = { readonly ready: ReadyCall; readonly chosen: ChosenInput };

/** Hands a call that may run to the workflow. Null: its tool does the work itself. */
export async function delegateCall(
  call: ClaimedCall,
  { ready, chosen }: DelegableCall,
  context: ToolContext,
): Promise<DelegationNeeded | CallVerdict | VoidAttempt | null> {
  const { environment, run } = call;
  const { tool } = ready;
  const { delegate } = tool;
  if (delegate === undefined) return null;
  const delegation = await guardTool(tool, context.signal, async () =>
    checkDelegation(tool, await delegate(ready.input, context)),
  );
  if (delegation.kind !== 'value')
    return delegation.kind === 'stopped'
      ? { kind: 'void', cause: delegation.cause }
      : concludeCall(delegation, ready.safe);
  if (typeof delegation.value === 'string') return refuseCall(delegation.value);
  if (!(await run.fence())) return { kind: 'void', cause: 'superseded' };
  run.begins();
  const { approved, stored: changed } = chosen;
  const record: DelegatedRecord = {
    delegation: await completeDelegation(environment, delegation.value, chosen.input),
    at: Date.now(),
    ...present({ changed, approved }),
    ...(chosen.edited ? { edited: true as const } : {}),
  };
  const first = await recordDelegated(environment.store, journalNameOf(call), record);
  return { kind: 'delegate', delegation: first.delegation };
}

/** Completes a delegation with what only the call knows, and stores long texts. */
async function completeDelegation(
  environment: CallEnvironment,
  delegation: Delegation,
  input: unknown,
): Promise<Delegation> {
  if (delegation.kind === 'question') return { ...delegation, inputHash: hashInput(input) };
  const { store, allowedTools } = environment;
  if (delegation.kind === 'agent_send')
    return { ...delegation, message: await storeLongText(store, delegation.message) };
  if (delegation.kind !== 'agent') return delegation;
  const prompt = await storeLongText(store, delegation.prompt);
  return { ...delegation, prompt, ...(allowedTools && { tools: allowedTools }) };
}

async function storeLongText(store: Store, body: MessageBody): Promise<MessageBody> {
  return body.kind === 'text' ? await storeTextBody(store, body.text) : body;
}

/** Returns a sentence when the arguments are too large for the workflow. */
function checkDelegation(tool: Tool, delegation: Delegation): Delegation | string {
  if (!('args' in delegation)) return delegation;
  const size = JSON.stringify(delegation.args).length;
  return size <= LARGEST_ARGS
    ? delegation
    : `Not run: the input of ${tool.name} has ${size} characters as JSON, and a workflow carries at most ${LARGEST_ARGS}. Put the rest into a file.`;
}

/**
 * Reads the delegation that an earlier attempt recorded, for a workflow that did not receive it.
 */
export async function readEarlierDelegation(call: ClaimedCall): Promise<DelegationNeeded | null> {
  const record = await readDelegated(call.environment.store, journalNameOf(call));
  return record && { kind: 'delegate', delegation: record.delegation };
}

/** Words the outcome of a call that the workflow has carried out. Throws StoreError. */
export async function concludeDelegated(
  call: ClaimedCall,
  end: DelegatedEnd,
): Promise<{ readonly verdict: CallVerdict; readonly began: number }> {
  const { environment, run } = call;
  const record = await readDelegated(environment.store, journalNameOf(call));
  if (record === null) throw new Error(`call ${run.key} was carried out and never handed over`);
  const { at: began, changed, approved, edited, delegation } = record;
  const input = changed === undefined ? call.block.input : await readStoredInput(environment.store, changed);
  const chosen = {
    input,
    ...(changed ? { stored: changed } : {}),
    ...(approved ? { approved } : {}),
    ...(edited ? { edited } : {}),
  };
  const prepared = call.prepareWith(input);
  const context = call.buildContext();
  const ran = await concludeEnd(call, { delegation, end }, prepared.kind === 'ready' ? prepared : null, context);
  const safe = prepared.kind === 'ready' && prepared.safe;
  const verdict = concludeCall(ran, safe);
  if (prepared.kind !== 'ready' || ran.kind === 'stopped' || run.plain)
    return { verdict: addApproval(verdict, chosen), began };
  const concluded = await runPostToolHooks(call, { tool: prepared.tool, input }, verdict);
  return { verdict: addApproval(concluded, chosen), began };
}

async function concludeEnd(
  { environment: { store }, name }: ClaimedCall,
  { delegation, end }: { readonly delegation: Delegation; readonly end: DelegatedEnd },
  ready: ReadyCall | null,
  context: ToolContext,
): Promise<ToolRunEnd> {
  if (end.kind === 'agent') return await concludeAgent(store, end, context.signal, name !== AGENT_TOOL);
  if (end.kind === 'result') return await readResult(store, end);
  if (end.kind === 'stopped')
    return { kind: 'stopped', cause: abortCause(context.signal), partial: describeStopped(delegation, end) };
  return await wordEnd(ready, await loadWholeEnd(store, end), context);
}

type Stopped = Extract<DelegatedEnd, { kind: 'stopped' }>;

/** Says what the stopped work may still do. */
function describeStopped(delegation: Delegation, { ended }: Stopped): string {
  if (delegation.kind === 'outside' && isOfWorker(delegation.by))
    return 'Nobody waits for it any more, but the sandbox was not told to stop it: it may still be running there.';
  return ended ? '' : 'It was asked to stop, and had not ended 5 s later: it may still be at work.';
}

type PlainEnd = Exclude<DelegatedEnd, { kind: 'agent' | 'result' | 'stopped' }>;

/** Loads a long answer from the store. */
async function loadWholeEnd(store: Store, end: PlainEnd): Promise<PlainEnd> {
  if (end.kind !== 'answered') return end;
  return { ...end, body: { kind: 'text', text: await readText(store, end.body) } };
}

async function readText(store: Store, body: MessageBody): Promise<string> {
  return body.kind === 'text' ? body.text : Buffer.from(await store.get(body.hash)).toString();
}

/** The result that somebody outside gave is the tool's own output (G53). Throws StoreError. */
async function readResult(store: Store, { body, isError }: OutsideResult): Promise<ToolRunEnd> {
  const content = await readText(store, body);
  if (isError) return { kind: 'failed', text: content };
  const media = await Promise.all((body.media ?? []).map(({ hash }) => store.get(hash)));
  return { kind: 'output', output: { content, ...(media.length > 0 && { media }) } };
}

/** Lets the tool word its end. A tool that was removed, or refuses the input now, cannot. */
async function wordEnd(ready: ReadyCall | null, end: PlainEnd, context: ToolContext): Promise<ToolRunEnd> {
  if (end.kind === 'failed') return { kind: 'failed', text: end.detail };
  const conclude = ready?.tool.conclude;
  if (!ready || !conclude) return { kind: 'output', output: formatPlainEnd(end) };
  const worded = await guardTool(ready.tool, context.signal, async () => await conclude(ready.input, end, context));
  if (worded.kind !== 'value') return worded;
  // This is the author's own code, as in `callTool`.
  if (typeof worded.value.content === 'string') return { kind: 'output', output: worded.value };
  return { kind: 'failed', text: `${ready.tool.name} failed: it returned no text (a defect of the tool).` };
}

/** Keeps texts as they are and prints everything else as JSON. */
function formatPlainEnd(end: Exclude<PlainEnd, { kind: 'failed' }>): ToolOutput {
  if (end.kind !== 'done') return { content: endInWords(end) ?? '' };
  const { result, cut } = end;
  if (cut !== undefined) return { content: `${cut}\n(the result is longer than this: its rest was not carried)` };
  if (result === undefined || result === null) return { content: 'Done.' };
  return { content: typeof result === 'string' ? result : JSON.stringify(result, null, 2) };
}

/**
 * Words the end of an agent as the outcome of a call (L67): its last message and its spend.
 * `isAboutAgent`: the call was about an agent, and its outcome is not the agent's own. Throws
 * StoreError.
 */
async function concludeAgent(
  store: Store,
  end: AgentEnd,
  signal: AbortSignal,
  isAboutAgent: boolean,
): Promise<ToolRunEnd> {
  const text = describeEnd(end, await readLastWords(store, end));
  if (isAboutAgent || end.run?.terminal.reason === 'completed') return { kind: 'output', output: { content: text } };
  return signal.aborted ? { kind: 'stopped', cause: abortCause(signal), partial: text } : { kind: 'failed', text };
}

async function readLastWords(store: Store, end: AgentEnd): Promise<AgentWords> {
  const last = await lastRunOf(store, end);
  return last === null ? { text: '', deeds: '' } : { ...last, text: await readAnswer(store, end, last) };
}

async function readAnswer(store: Store, end: AgentEnd, { completed, entries, text }: LastRun): Promise<string> {
  if (!completed) return text;
  const started = entries.findLast((entry) => entry.kind === 'run_started' && entry.run === end.run?.run);
  if (started?.kind !== 'run_started') return text;
  const { outputSchema } = await createConfigReader(store)(started.config);
  const found = outputSchema ? parseStructuredOutput(text) : null;
  return found?.kind === 'value' ? JSON.stringify(found.value, null, 2) : text;
}
