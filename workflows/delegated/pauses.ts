// Tells whether a session's time is paused because all of its work waits for people or for a time.
// An agent reports this to its parent, whose runtime limit then pauses, too (L51).
// Waits for the end of what an activation does.
import { CancellationScope, condition, patched } from '@temporalio/workflow';
import type { AgentOrigin, AgentPause } from '../contract/delegation.ts';
import type { SessionId } from '../contract/ids.ts';
import type { HostSession } from './host-session.ts';
import { tellSession } from './reports.ts';

/** In sessions of earlier releases the time of a parent goes on while its agents wait. */
const AGENT_PAUSES = 'perdure-agent-pauses';

/**
 * `told`: the parent knows that the session stands still. `agents`: the session's agents that stand
 * still.
 */
export type PausesCarry = { readonly told: boolean; readonly agents: readonly SessionId[] };

export class Pauses {
  private readonly session: HostSession;
  private readonly agents: Set<SessionId>;
  /** The runtime limit of the run under way stands still. */
  private runStandsStill = false;
  /** The state as the parent was told last. */
  private lastTold: boolean;
  private isLooking = false;
  private isTelling = false;
  private onChange: () => void = () => {};

  constructor(session: HostSession, { told: lastTold, agents }: PausesCarry = { told: false, agents: [] }) {
    this.session = session;
    this.lastTold = lastTold;
    this.agents = new Set(agents);
  }

  /**
   * No news is on its way to the parent. A handover loses nothing: the next workflow run tells
   * later changes.
   */
  get isSettled(): boolean {
    return !this.isTelling;
  }

  /** Absent while the time of the session and all its agents goes on. */
  get carry(): { readonly pauses?: PausesCarry } {
    const { working } = this.session.delegations.agents;
    const agents = working.filter((each) => this.agents.has(each.session)).map((each) => each.session);
    return this.lastTold || agents.length > 0 ? { pauses: { told: this.lastTold, agents } } : {};
  }

  isWaiting(agent: string | undefined): boolean {
    return this.agents.has(agent as SessionId);
  }

  /** A run begins or ends, or its limit stands still or goes on. */
  readonly setRunPaused = (stands: boolean): void => {
    this.runStandsStill = stands;
    this.change();
  };

  /** Takes a signal's value: an agent of this session stands still, or goes on. */
  hear(value: unknown): void {
    if (!isPause(value) || !patched(AGENT_PAUSES)) return;
    const { session, paused } = value;
    if (!this.session.delegations.agents.working.some((each) => each.session === session)) return;
    if (paused) this.agents.add(session);
    else this.agents.delete(session);
    this.onChange();
    this.change();
  }

  /** Calls `onChange` whenever agents begin to wait or go on, as long as `run` does. */
  async during<Result>(onChange: () => void, run: () => Promise<Result>): Promise<Result> {
    this.onChange = onChange;
    try {
      return await run();
    } finally {
      this.onChange = () => {};
    }
  }

  async awaitSettled(): Promise<void> {
    if (this.isTelling) await CancellationScope.nonCancellable(() => condition(() => this.isSettled));
  }

  /** Does nothing for an agent without a runtime limit above it. */
  private change(): void {
    const { agent } = this.session.input;
    if (agent?.grant?.timeoutMs === undefined || this.isLooking || this.isTelling) return;
    this.isLooking = true;
    void CancellationScope.nonCancellable(() => this.tellAll(agent));
  }

  /**
   * Tells the parent the newest state, one after the other. A change that is undone within one
   * activation is not told.
   */
  private async tellAll({ parent }: AgentOrigin): Promise<void> {
    await nextRound();
    this.isLooking = false;
    this.isTelling = true;
    while (this.standsStill !== this.lastTold && patched(AGENT_PAUSES)) {
      this.lastTold = this.standsStill;
      await tellSession(parent, { session: this.session.id, paused: this.lastTold });
    }
    this.isTelling = false;
  }

  private get standsStill(): boolean {
    const { run, inbox, delegations } = this.session;
    const { background } = delegations.agents;
    const own = run === null ? background.length > 0 && inbox.count === 0 : this.runStandsStill;
    return own && background.every(({ session }) => this.agents.has(session));
  }
}

/** Anyone can signal, so the shape is checked. */
function isPause(value: unknown): value is AgentPause {
  const { session, paused } = (value ?? {}) as { readonly [Key in keyof AgentPause]?: unknown };
  return typeof session === 'string' && typeof paused === 'boolean';
}

/**
 * Resolves once nothing else of the activation is left to run: a condition is looked at when it is
 * made, and again then.
 */
export function nextRound(): Promise<void> {
  let looks = 0;
  return condition(() => (looks += 1) > 1);
}
