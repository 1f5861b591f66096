// What a test looks at of the agents of a session: their sessions, transcripts and sums.
import { fileStore } from '../../store/values/file-store.ts';
import type { Entry, Outcome } from '../../store/log/entries.ts';
import { loadView } from '../../store/view/view.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { addSpend, noSpend, type Spend } from '../../workflows/contract/loop.ts';
import { MEMO_KEY, type SessionMemo } from '../../workflows/contract/session.ts';
import type { Harness, OpenSession } from './harness.ts';
import { until } from './until.ts';

export async function outcomes(session: Pick<OpenSession, 'entries'>): Promise<readonly Outcome[]> {
  return (await session.entries()).flatMap((entry) => (entry.kind === 'outcomes' ? entry.outcomes : []));
}

type AgentsHome = Pick<Harness, 'client' | 'storePlace'>;

export type Seen = { readonly id: SessionId; readonly status: string; readonly memo: SessionMemo };

/** The sessions of all agents below a session. */
export async function agentsOf(h: AgentsHome, root: SessionId): Promise<readonly Seen[]> {
  const found = new Map<string, Seen>();
  for await (const { workflowId } of h.client.workflow.list({ query: `PerdureRoot = '${root}'` })) {
    // The list lags behind.
    const { status, memo } = await h.client.workflow.getHandle(workflowId).describe();
    const id = workflowId as SessionId;
    found.set(workflowId, { id, status: status.name, memo: memo?.[MEMO_KEY] as SessionMemo });
  }
  return [...found.values()];
}

export function agentsEnded(h: AgentsHome, root: SessionId, count: number): Promise<readonly Seen[]> {
  return until(async () => {
    const found = await agentsOf(h, root);
    return found.length === count && found.every(({ status }) => status !== 'RUNNING') ? found : null;
  });
}

export async function entriesOf(h: AgentsHome, { id, memo }: Seen): Promise<readonly Entry[]> {
  return (await loadView(fileStore({ dir: h.storePlace }), id, memo.head)).entries;
}

/** What the runs of a transcript took, those of agents with them. */
export function spentIn(entries: readonly Entry[]): Spend {
  const ends = entries.flatMap((entry) => (entry.kind === 'run_ended' ? [entry.ended.spend] : []));
  return ends.reduce(addSpend, noSpend);
}

/** What replies alone took. */
export function usageOf(entries: readonly Entry[]): number {
  const sum = (usage: object): number =>
    ['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens']
      .map((key) => Number((usage as Readonly<Record<string, unknown>>)[key] ?? 0))
      .reduce((a, b) => a + b, 0);
  return entries.reduce((total, entry) => total + (entry.kind === 'reply' ? sum(entry.message.usage) : 0), 0);
}

export const tokensOf = ({ usage }: Spend): number => Object.values(usage).reduce((a, b) => a + b, 0);

/** Tokens that its parent granted an agent. */
export async function grantOf({ client }: AgentsHome, id: SessionId): Promise<number> {
  const { events } = await client.workflow.getHandle(id).fetchHistory();
  const [input] = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
  type Input = { readonly agent: { readonly grant: { readonly maxTokens?: number } } };
  const { agent } = client.options.loadedDataConverter.payloadConverter.fromPayload<Input>(input!);
  return agent.grant.maxTokens ?? Infinity;
}
