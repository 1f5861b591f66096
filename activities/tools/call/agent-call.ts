// A call of another agent (L66), on both sides of its work: what the workflow carries of it, and the outcome that its end comes to (L67).
import type { AgentEnd, AgentRun, AgentWork } from '../../../workflows/contract/delegation.ts';
import { totalTokens, type Spend, type Terminal } from '../../../workflows/contract/loop.ts';
import { configReader } from '../../configuration.ts';
import type { Store } from '../../transcript/store/store.ts';
import { finalText, resultOf, structuredOutput } from '../../transcript/view/result.ts';
import { loadRun } from '../../transcript/view/view.ts';
import { abortCause, type Ran } from './call-tool.ts';

/** Bytes of a prompt that travels as it is; a longer one is stored, and travels by hash. */
const LARGEST_INLINE = 1024;

type Caller = { readonly store: Store; readonly allowedTools?: readonly string[] };

/** Throws StoreError. */
export async function carriedAgent({ store, allowedTools }: Caller, delegation: AgentWork): Promise<AgentWork> {
  const { prompt } = delegation;
  const bytes = prompt.kind === 'text' ? Buffer.from(prompt.text) : null;
  const body =
    bytes !== null && bytes.length > LARGEST_INLINE
      ? ({ kind: 'stored', hash: await store.put(bytes), bytes: bytes.length } as const)
      : prompt;
  return { ...delegation, prompt: body, ...(allowedTools && { tools: allowedTools }) };
}

/** Its last message, and what it took. Throws StoreError. */
export async function agentRan(store: Store, end: AgentEnd, signal: AbortSignal): Promise<Ran> {
  const { run, session } = end;
  const said = run?.head ? await lastWords(store, end, run) : '';
  const about = `(agent session ${session}: ${run?.turns ?? 0} turns, ${formatSpend(end.spend)})`;
  if (run?.terminal.reason === 'completed') return { kind: 'output', output: { content: joined(said, about) } };
  const why = run === null ? 'was stopped before it began' : `ended with ${formatEnd(run.terminal)}`;
  const words = said === '' ? 'It had said nothing.' : `Its last words:\n${said}`;
  const text = joined(`The agent ${why}.`, words, about);
  return signal.aborted ? { kind: 'stopped', cause: abortCause(signal), partial: text } : { kind: 'failed', text };
}

async function lastWords(store: Store, { session }: AgentEnd, { head, run }: AgentRun): Promise<string> {
  const { entries } = await loadRun(store, session, head!, run);
  const result = resultOf({ entries }, run);
  const text = (result?.text ?? finalText(entries)).trim();
  const started = entries.findLast((entry) => entry.kind === 'run_started' && entry.run === run);
  if (started?.kind !== 'run_started' || result?.reason !== 'completed') return text;
  const { outputSchema } = await configReader(store)(started.config);
  const found = outputSchema ? structuredOutput(text) : null;
  return found?.kind === 'value' ? JSON.stringify(found.value, null, 2) : text;
}

function formatEnd(terminal: Terminal): string {
  const detail = 'detail' in terminal ? `: ${terminal.detail}` : '';
  return `${terminal.reason}${detail}`.replace(/\.$/, '');
}

function formatSpend({ usage, usd }: Spend): string {
  const cost = usd === null ? '' : `, $${usd.toFixed(4)}`;
  return `${totalTokens(usage)} tokens${cost}`;
}

function joined(...parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('\n\n');
}
