// A call of another agent (L66), on both sides of its work: what the workflow carries of it, and the outcome that its end comes to (L67).
import type { AgentDeed, AgentEnd, AgentWork } from '../../../workflows/contract/delegation.ts';
import type { MessageBody } from '../../../workflows/contract/message-body.ts';
import { configReader } from '../../configuration.ts';
import type { Store } from '../../transcript/store/store.ts';
import { describeEnd, lastRunOf } from '../../transcript/view/agent-end.ts';
import { structuredOutput } from '../../transcript/view/result.ts';
import { abortCause, type Ran } from './call-tool.ts';

/** Bytes of a text that travels as it is; a longer one is stored, and travels by hash. */
const LARGEST_INLINE = 1024;

type Caller = { readonly store: Store; readonly allowedTools?: readonly string[] };

/** Throws StoreError. */
export async function carriedAgent(
  { store, allowedTools }: Caller,
  delegation: AgentWork | AgentDeed,
): Promise<AgentWork | AgentDeed> {
  if (delegation.kind === 'agent_send') return { ...delegation, message: await carriedText(store, delegation.message) };
  if (delegation.kind !== 'agent') return delegation;
  const prompt = await carriedText(store, delegation.prompt);
  return { ...delegation, prompt, ...(allowedTools && { tools: allowedTools }) };
}

async function carriedText(store: Store, body: MessageBody): Promise<MessageBody> {
  if (body.kind !== 'text') return body;
  const bytes = Buffer.from(body.text);
  if (bytes.length <= LARGEST_INLINE) return body;
  return { kind: 'stored', hash: await store.put(bytes), bytes: bytes.length };
}

/** Its last message, and what it took. `asked`: by a call that is about an agent, whose own outcome it is not. Throws StoreError. */
export async function agentRan(store: Store, end: AgentEnd, signal: AbortSignal, asked: boolean): Promise<Ran> {
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
  const { outputSchema } = await configReader(store)(started.config);
  const found = outputSchema ? structuredOutput(said) : null;
  return found?.kind === 'value' ? JSON.stringify(found.value, null, 2) : said;
}
