// Tells the root what waits for people in an agent's session (L70).
import { CancellationScope, condition, patched } from '@temporalio/workflow';
import type { AgentOrigin } from '../contract/delegation.ts';
import { agentName, type SessionId } from '../contract/ids.ts';
import type { PendingApproval } from '../contract/people.ts';
import { LISTED_APPROVALS } from '../contract/session.ts';
import type { HostSession } from './host-session.ts';
import { tellSession } from './reports.ts';

/**
 * Tells the newest list, one after the other, to the root, where people see it and decide (L70).
 */
export class AskReporter {
  private readonly session: HostSession;
  /** The list as it was told last; null when this workflow run has told nothing. */
  private lastTold: string | null = null;
  private isTelling = false;

  constructor(session: HostSession) {
    this.session = session;
  }

  get isSettled(): boolean {
    return !this.isTelling;
  }

  change(): void {
    const { agent } = this.session.input;
    if (!agent || this.isTelling) return;
    this.isTelling = true;
    void this.tellAll(agent);
  }

  /** Empties the list of an agent whose session was ended from outside, and cannot do it itself. */
  tellLost(session: SessionId): void {
    const { agent } = this.session.input;
    if (agent && patched('perdure-agent-lost')) void tellSession(agent.root, { asks: [], session });
  }

  async awaitSettled(): Promise<void> {
    if (this.isTelling) await CancellationScope.nonCancellable(() => condition(() => this.isSettled));
  }

  private async tellAll({ root, path }: AgentOrigin): Promise<void> {
    for (let asks = this.nameAsks(path); JSON.stringify(asks) !== this.lastTold; asks = this.nameAsks(path)) {
      this.lastTold = JSON.stringify(asks);
      await tellSession(root, { asks, session: this.session.id });
    }
    this.isTelling = false;
  }

  /** Names the calls by their session, so that no two names are the same. */
  private nameAsks(path: readonly string[]): readonly PendingApproval[] {
    const { id: session, approvals } = this.session;
    const name = agentName(session);
    return approvals.pending
      .slice(0, LISTED_APPROVALS)
      .map((one) => ({ ...one, call: `${name}.${one.call}`, agent: { session, call: one.call, path } }))
      .map((one) => (one.question ? { ...one, question: {} } : one));
  }
}
