// How work of a call ends (L63): its workflow tells the session that waits for it, by a signal with the call's key. Anyone can signal.
import { CancellationScope, getExternalWorkflowHandle, TemporalFailure } from '@temporalio/workflow';
import {
  DELEGATED_SIGNAL,
  type AgentEnd,
  type AgentOrigin,
  type AgentRun,
  type DelegatedEnd,
  type DelegatedReport,
} from '../contract/delegation.ts';
import { isHash, type SessionId } from '../contract/ids.ts';
import { noSpend, noUsage, type Spend } from '../contract/loop.ts';
import type { RunSummary } from '../contract/session.ts';

const KINDS: readonly string[] = ['done', 'failed', 'stopped', 'agent'] satisfies readonly DelegatedEnd['kind'][];

export function isReport(value: unknown): value is DelegatedReport {
  const { key, end } = (value ?? {}) as { readonly key?: unknown; readonly end?: { readonly kind?: unknown } };
  if (typeof key !== 'string' || typeof end?.kind !== 'string' || !KINDS.includes(end.kind)) return false;
  return end.kind !== 'agent' || isAgentEnd(end);
}

/** Its numbers are added up, and its run is looked up. */
function isAgentEnd(end: object): boolean {
  const { session, run, spend } = end as { readonly [Key in keyof AgentEnd]?: unknown };
  const { usage, usd } = (spend ?? {}) as { readonly usage?: object; readonly usd?: unknown };
  const {
    run: n,
    terminal,
    head,
  } = (run ?? { run: 1, terminal: { reason: '' }, head: null }) as {
    readonly [Key in keyof AgentRun]?: unknown;
  };
  const isCount = (value: unknown): boolean => Number.isFinite(value) && Number(value) >= 0;
  const reason: unknown = (terminal as { readonly reason?: unknown } | undefined)?.reason;
  return (
    typeof session === 'string' &&
    Object.keys(noUsage).every((kind) => isCount((usage as Readonly<Record<string, unknown>> | undefined)?.[kind])) &&
    (usd === null || isCount(usd)) &&
    isCount(n) &&
    typeof reason === 'string' &&
    (head === null || isHash(head))
  );
}

/** An agent that is about to close tells its parent, once. */
export async function reportToParent(
  { key, parent }: AgentOrigin,
  session: SessionId,
  last: RunSummary | null,
  spend: Spend = noSpend,
): Promise<void> {
  const end: AgentEnd = { kind: 'agent', session, run: last && runOf(last), spend };
  const told: DelegatedReport = { key, end };
  await CancellationScope.nonCancellable(async () => {
    try {
      await getExternalWorkflowHandle(parent).signal(DELEGATED_SIGNAL, told);
    } catch (error) {
      // The parent was closed meanwhile: there is nobody to tell.
      if (!(error instanceof TemporalFailure)) throw error;
    }
  });
}

function runOf({ run, terminal, turns, head }: RunSummary): AgentEnd['run'] {
  return { run, terminal, turns, head };
}
