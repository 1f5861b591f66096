// How work of a call ends (L63): its workflow tells the session that waits for it, by a signal with the call's key. Anyone can signal.
import { CancellationScope, condition, getExternalWorkflowHandle, TemporalFailure } from '@temporalio/workflow';
import {
  DELEGATED_SIGNAL,
  type AgentEnd,
  type AgentOrigin,
  type AgentRun,
  type DelegatedEnd,
  type DelegatedReport,
} from '../contract/delegation.ts';
import type { AgentAsks, AskingAgent, PendingApproval } from '../contract/asked.ts';
import { isHash, type SessionId } from '../contract/ids.ts';
import { noSpend, noUsage, type Spend } from '../contract/loop.ts';
import { LISTED_APPROVALS, type RunSummary } from '../contract/session.ts';

/** Characters of a text of a call that waits. */
const LONGEST_ASKED = 1_000;

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
  await tell(parent, told);
}

async function tell(session: SessionId, told: DelegatedReport | AgentAsks): Promise<void> {
  await CancellationScope.nonCancellable(async () => {
    try {
      await getExternalWorkflowHandle(session).signal(DELEGATED_SIGNAL, told);
    } catch (error) {
      // It was closed meanwhile: there is nobody to tell.
      if (!(error instanceof TemporalFailure)) throw error;
    }
  });
}

function runOf({ run, terminal, turns, head }: RunSummary): AgentEnd['run'] {
  return { run, terminal, turns, head };
}

type Asking = {
  readonly id: SessionId;
  readonly input: { readonly agent?: AgentOrigin };
  readonly approvals: { readonly pending: readonly PendingApproval[] };
};

/** What waits in an agent's session is told to the root, where people see it and decide (L70); the newest state of it, one after the other. */
export class Asks {
  private readonly session: Asking;
  /** As it was told last; null when this workflow run has told nothing. */
  private told: string | null = null;
  private telling = false;

  constructor(session: Asking) {
    this.session = session;
  }

  get isSettled(): boolean {
    return !this.telling;
  }

  change(): void {
    const { agent } = this.session.input;
    if (!agent || this.telling) return;
    this.telling = true;
    void this.tellAll(agent);
  }

  async settled(): Promise<void> {
    if (this.telling) await CancellationScope.nonCancellable(() => condition(() => this.isSettled));
  }

  private async tellAll({ root, path }: AgentOrigin): Promise<void> {
    for (let asks = this.listed(path); JSON.stringify(asks) !== this.told; asks = this.listed(path)) {
      this.told = JSON.stringify(asks);
      await tell(root, { asks, session: this.session.id });
    }
    this.telling = false;
  }

  /** Under names that no other session has. */
  private listed(path: readonly string[]): readonly PendingApproval[] {
    const { id: session, approvals } = this.session;
    const [, name = session] = /\.(agent-[^.]*)$/.exec(session) ?? [];
    return approvals.pending
      .slice(0, LISTED_APPROVALS)
      .map((one) => ({ ...one, call: `${name}.${one.call}`, agent: { session, call: one.call, path } }))
      .map((one) => (one.question ? { ...one, question: {} } : one));
  }
}

/** Anyone can signal: shape only. */
export function isAsks(value: unknown): value is AgentAsks {
  const { asks, session } = (value ?? {}) as { readonly [Key in keyof AgentAsks]?: unknown };
  return typeof session === 'string' && Array.isArray(asks) && asks.length <= LISTED_APPROVALS && asks.every(isAsk);
}

function isAsk(value: unknown): boolean {
  const { call, tool, reason, inputHash, head, index, deadline, agent } = (value ?? {}) as {
    readonly [Key in keyof PendingApproval]?: unknown;
  };
  const { session, call: own, path } = (agent ?? {}) as { readonly [Key in keyof AskingAgent]?: unknown };
  const texts = [call, tool, reason, inputHash, session, own, ...(Array.isArray(path) ? path : [null])];
  return (
    texts.every((text) => typeof text === 'string' && text.length <= LONGEST_ASKED) &&
    isHash(head) &&
    Number.isSafeInteger(index) &&
    Number.isFinite(deadline)
  );
}
