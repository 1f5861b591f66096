// A call that the workflow carries out (L62), on both sides of it: what is handed over is recorded
// first, so that every attempt hands over the same, and what came of it becomes an outcome like any
// other, post-tool hooks included.
import {
  type AgentEnd,
  LARGEST_ARGS,
  type DelegatedEnd,
  type Delegation,
  endInWords,
} from '../../workflows/contract/delegation.ts';
import type { MessageBody } from '../../workflows/contract/people.ts';
import { createConfigReader } from '../../store/configuration.ts';
import { storedInput, withApproval, type Chosen } from './approval.ts';
import { abortCause, guardTool, type Ran } from './call-tool.ts';
import { withPostTool } from './check-call.ts';
import { inputHash, readDelegated, recordDelegated, type DelegatedRecord } from './journal.ts';
import { prepareCall, type ReadyCall } from './prepare.ts';
import { storeTextBody } from '../../store/log/bodies.ts';
import type { Store } from '../../store/values/store.ts';
import { describeEnd, lastRunOf } from '../../store/view/agent-end.ts';
import { parseStructuredOutput } from '../../store/view/structured-output.ts';
import type { Tool, ToolContext, ToolOutput } from '../../tools/tool.ts';
import { concludeCall, refuseCall, type Verdict } from './verdict.ts';
import {
  toolContext,
  type CallRequest,
  type CallRun,
  type HandedOver,
  type Void,
  type Workbench,
} from './workbench.ts';

type Delegable = { readonly ready: ReadyCall; readonly chosen: Chosen };

/** Hands a call that may run to the workflow. Null: its tool does the work itself. */
export async function handOver(
  bench: Workbench,
  run: CallRun,
  { ready, chosen }: Delegable,
  context: ToolContext,
): Promise<HandedOver | Verdict | Void | null> {
  const { tool } = ready;
  const { delegate } = tool;
  if (delegate === undefined) return null;
  const made = await guardTool(tool, context.signal, async () => checked(tool, await delegate(ready.input, context)));
  if (made.kind !== 'value')
    return made.kind === 'stopped' ? { kind: 'void', cause: made.cause } : concludeCall(made, ready.safe);
  if (typeof made.value === 'string') return refuseCall(made.value);
  if (!(await run.fence())) return { kind: 'void', cause: 'superseded' };
  run.begins();
  const { approved, stored: changed } = chosen;
  const record: DelegatedRecord = {
    delegation: await carriable(bench, made.value, chosen.input),
    at: Date.now(),
    ...(changed === undefined ? {} : { changed }),
    ...(approved === undefined ? {} : { approved }),
    ...(chosen.edited ? { edited: true as const } : {}),
  };
  const first = await recordDelegated(bench.store, { session: bench.session, key: run.key }, record);
  return { kind: 'delegate', delegation: first.delegation };
}

/** As the workflow carries it: with what only the call knows. */
async function carriable(bench: Workbench, delegation: Delegation, input: unknown): Promise<Delegation> {
  if (delegation.kind === 'question') return { ...delegation, inputHash: inputHash(input) };
  const { store, allowedTools } = bench;
  if (delegation.kind === 'agent_send') return { ...delegation, message: await carriedText(store, delegation.message) };
  if (delegation.kind !== 'agent') return delegation;
  const prompt = await carriedText(store, delegation.prompt);
  return { ...delegation, prompt, ...(allowedTools && { tools: allowedTools }) };
}

async function carriedText(store: Store, body: MessageBody): Promise<MessageBody> {
  return body.kind === 'text' ? await storeTextBody(store, body.text) : body;
}

/** A sentence when the workflow could not carry it. */
function checked(tool: Tool, delegation: Delegation): Delegation | string {
  if (!('args' in delegation)) return delegation;
  const size = JSON.stringify(delegation.args).length;
  return size <= LARGEST_ARGS
    ? delegation
    : `Not run: the input of ${tool.name} has ${size} characters as JSON, and a workflow carries at most ${LARGEST_ARGS}. Put the rest into a file.`;
}

/** The delegation that an earlier attempt recorded, for the workflow that did not get it. */
export async function handOverCall(bench: Workbench, run: CallRun): Promise<HandedOver | null> {
  const record = await readDelegated(bench.store, { session: bench.session, key: run.key });
  return record && { kind: 'delegate', delegation: record.delegation };
}

/** The outcome of a call that the workflow has carried out. */
export async function concludeDelegated(
  bench: Workbench,
  call: CallRequest,
  run: CallRun,
  end: DelegatedEnd,
): Promise<{ readonly verdict: Verdict; readonly began: number }> {
  const record = await readDelegated(bench.store, { session: bench.session, key: run.key });
  if (record === null) throw new Error(`call ${run.key} was carried out and never handed over`);
  const { at: began, changed, approved, edited } = record;
  const input = changed === undefined ? call.input : await storedInput(bench.store, changed);
  const chosen = {
    input,
    ...(changed ? { stored: changed } : {}),
    ...(approved ? { approved } : {}),
    ...(edited ? { edited } : {}),
  };
  const prepared = prepareCall(bench.registry, bench, { name: call.name, input });
  const context = toolContext(bench, { ...run, id: run.key, generation: null });
  const ran =
    end.kind === 'agent'
      ? await agentRan(bench.store, end, context.signal, call.name !== 'agent')
      : await conclude(prepared.kind === 'ready' ? prepared : null, await wholeEnd(bench.store, end), context);
  const safe = prepared.kind === 'ready' && prepared.safe;
  const verdict = concludeCall(ran, safe);
  if (prepared.kind !== 'ready' || ran.kind === 'stopped' || run.plain)
    return { verdict: withApproval(verdict, chosen), began };
  const told = await withPostTool(bench, run, { tool: prepared.tool, input }, verdict);
  return { verdict: withApproval(told, chosen), began };
}

type Plain = Exclude<DelegatedEnd, { kind: 'agent' }>;

/** A long answer lies in the store. */
async function wholeEnd(store: Store, end: Plain): Promise<Plain> {
  if (end.kind !== 'answered' || end.body.kind === 'text') return end;
  const text = Buffer.from(await store.get(end.body.hash)).toString();
  return { ...end, body: { kind: 'text', text } };
}

/** A tool that is there no more, or takes the input no more, cannot word its end. */
async function conclude(ready: ReadyCall | null, end: Plain, context: ToolContext): Promise<Ran> {
  if (end.kind === 'stopped') {
    const partial = end.ended ? '' : 'It was asked to stop, and had not ended 5 s later: it may still be at work.';
    return { kind: 'stopped', cause: abortCause(context.signal), partial };
  }
  if (end.kind === 'failed') return { kind: 'failed', text: end.detail };
  const told = ready?.tool.conclude;
  if (!ready || !told) return { kind: 'output', output: plainOutput(end) };
  const made = await guardTool(ready.tool, context.signal, async () => await told(ready.input, end, context));
  if (made.kind !== 'value') return made;
  // The author's own code, as in `runTool`.
  if (typeof made.value.content === 'string') return { kind: 'output', output: made.value };
  return { kind: 'failed', text: `${ready.tool.name} failed: it returned no text (a defect of the tool).` };
}

/** Texts as they are, everything else as JSON. */
function plainOutput(end: Exclude<Plain, { kind: 'failed' | 'stopped' }>): ToolOutput {
  if (end.kind !== 'done') return { content: endInWords(end) ?? '' };
  const { result, cut } = end;
  if (cut !== undefined) return { content: `${cut}\n(the result is longer than this: its rest was not carried)` };
  if (result === undefined || result === null) return { content: 'Done.' };
  return { content: typeof result === 'string' ? result : JSON.stringify(result, null, 2) };
}

// The end of an agent, as the outcome of a call (L67).

/**
 * Its last message, and what it took. `asked`: by a call that is about an agent, whose own outcome
 * it is not. Throws StoreError.
 */
async function agentRan(store: Store, end: AgentEnd, signal: AbortSignal, asked: boolean): Promise<Ran> {
  const text = describeEnd(end, await lastWords(store, end));
  if (asked || end.run?.terminal.reason === 'completed') return { kind: 'output', output: { content: text } };
  return signal.aborted ? { kind: 'stopped', cause: abortCause(signal), partial: text } : { kind: 'failed', text };
}

async function lastWords(store: Store, end: AgentEnd): Promise<string> {
  const last = await lastRunOf(store, end);
  if (!last?.completed) return last?.said ?? '';
  const { entries, said } = last;
  const started = entries.findLast((entry) => entry.kind === 'run_started' && entry.run === end.run?.run);
  if (started?.kind !== 'run_started') return said;
  const { outputSchema } = await createConfigReader(store)(started.config);
  const found = outputSchema ? parseStructuredOutput(said) : null;
  return found?.kind === 'value' ? JSON.stringify(found.value, null, 2) : said;
}
