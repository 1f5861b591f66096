// The calls of a run that the workflow carries out itself (L62–L64): begun once, carried over a
// handover, ended by their report, their time, or a stop. Held open they cost nothing: no activity,
// no slot.
import { CancellationScope, condition, isCancellation, startChild, TemporalFailure } from '@temporalio/workflow';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import type { AgentSpent, DelegatedEnd } from '../contract/delegation.ts';
import type { CallKey } from '../contract/ids.ts';
import { agentSessionId, childOf, type CarriedOut, type Child, type Starting } from './children.ts';
import { Agents, type AgentListener, type AgentsCarry } from './agents.ts';
import { begunInBackground, performDeed } from './background.ts';
import { EarlyReports, type EarlyCarry } from './early.ts';
import { askToStop, FIRST_LOOK_MS, isGone, LAST_LOOK_MS, LOST, readReport, REPORT_MS, STOP_MS } from './reports.ts';

export type { AgentsCarry } from './agents.ts';
export type { Granting } from './grant.ts';
export type { CarriedOut } from './children.ts';

/** A call that is open: a workflow of its own does the work, or it waits for a time. */
export type OpenDelegation = {
  readonly key: CallKey;
  readonly index: number;
  /** The id of the workflow that does the work. */
  readonly child?: string;
  /** That workflow is the session of an agent. */
  readonly agent?: true;
  /** Milliseconds since the epoch: a wait is over then. */
  readonly until?: number;
  /** A message to the session ends the wait. */
  readonly message?: true;
  /**
   * It was begun before a handover: nothing tells this workflow run when its workflow is ended from
   * outside.
   */
  readonly carried?: true;
};

type CarriedDelegations = EarlyCarry & {
  readonly run?: { readonly tools: { readonly delegated?: readonly OpenDelegation[] } | null } | null;
  readonly agents?: AgentsCarry;
};

/** The parts of a session that an open call lives on. `resumed`: someone ended its waits. */
type Holder = Starting & {
  readonly delegations: Delegations;
  readonly inbox: { readonly count: number };
  readonly resumed: boolean;
};

export class Delegations {
  readonly agents: Agents;
  private readonly waiting: Map<CallKey, OpenDelegation>;
  private readonly ends: Map<CallKey, DelegatedEnd>;
  private readonly early: EarlyReports;

  constructor({ run, agents, ...early }: CarriedDelegations = {}, listener?: AgentListener) {
    const open = run?.tools?.delegated ?? [];
    this.agents = new Agents(agents, listener);
    this.early = new EarlyReports(early);
    this.waiting = new Map(open.map((each) => [each.key, each]));
    this.ends = new Map();
  }

  get open(): readonly OpenDelegation[] {
    return [...this.waiting.values()];
  }

  /** No end has come that its call has not taken. */
  get allTaken(): boolean {
    return this.ends.size === 0;
  }

  /**
   * Milliseconds since the epoch: when the last of the waits for a time is over. Null without one.
   */
  get longestWait(): number | null {
    const times = this.open.flatMap(({ until }) => (until === undefined ? [] : [until]));
    return times.length === 0 ? null : Math.max(...times);
  }

  begin(open: OpenDelegation): void {
    this.waiting.set(open.key, open);
  }

  /** Counted once, and only for a call that is open. */
  report(value: unknown): void {
    const report = readReport(value);
    if (report === null) return;
    const { key, end } = report;
    if (!this.waiting.has(key) && !this.agents.knows(key)) this.early.keep(report);
    this.agents.report(report);
    this.settle(key, end);
  }

  /** For a call that is open: the first counts. */
  settle(key: CallKey, end: DelegatedEnd): void {
    if (this.waiting.has(key) && !this.ends.has(key)) this.ends.set(key, end);
  }

  /** For a handover. Absent without any. */
  get carry(): EarlyCarry & { readonly agents?: AgentsCarry } {
    return { ...this.agents.carry, ...this.early.carry };
  }

  /**
   * What agents took whose calls a reset has undone, and that were not made again: the run that
   * could have is over (L69).
   */
  takeUnclaimed(): readonly AgentSpent[] {
    return this.early.takeSpent();
  }

  begun(key: CallKey): void {
    const report = this.early.take(key);
    if (report) this.report(report);
  }

  endOf(key: CallKey): DelegatedEnd | undefined {
    return this.ends.get(key);
  }

  close(key: CallKey): void {
    this.waiting.delete(key);
    this.ends.delete(key);
  }

  /** Closed without an end: one that comes later is passed over. */
  giveUp(key: CallKey): void {
    this.close(key);
    this.early.giveUp(key);
  }
}

/**
 * Begins what `runTool` handed over. A child of this name that runs already is this call's own: it
 * was started before a reset.
 */
export async function beginDelegation(
  session: Holder,
  call: Pick<OpenDelegation, 'key' | 'index'>,
  delegation: CarriedOut,
): Promise<OpenDelegation> {
  const open = openAs(session, call, delegation);
  session.delegations.begin(open);
  const { delegations } = session;
  const { key } = open;
  if ('agent' in delegation) {
    delegations.settle(key, await performDeed(session, key, delegation));
    return open;
  }
  const child = childOf(session, open, delegation);
  if (typeof child === 'string') delegations.settle(key, { kind: 'failed', detail: child });
  else if (child) await CancellationScope.nonCancellable(() => startWork(session, open, child));
  const inBackground = delegation.kind === 'agent' && delegation.background === true;
  if (inBackground) delegations.settle(key, begunInBackground(open.child!));
  delegations.begun(key);
  return open;
}

function openAs(
  session: Holder,
  { key, index }: Pick<OpenDelegation, 'key' | 'index'>,
  delegation: CarriedOut,
): OpenDelegation {
  if (delegation.kind === 'wait') {
    const { until = Date.now() + delegation.seconds * 1_000, message } = delegation;
    return { key, index, until, ...(message ? { message } : {}) };
  }
  if (delegation.kind === 'agent') return { key, index, child: agentSessionId(session, key, index), agent: true };
  const [chain = '', head = ''] = key.split('.');
  return { key, index, child: `${session.id}.call-${chain.slice(0, 8)}-${head.slice(0, 16)}-${index}` };
}

async function startWork(
  session: Holder,
  { key, child }: OpenDelegation,
  { type, args, ...options }: Child,
): Promise<void> {
  try {
    const started = await startChild<(...given: unknown[]) => Promise<unknown>>(type, {
      ...options,
      workflowId: child!,
      args: [...args],
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      // The session may continue as new, and stops what is left itself.
      parentClosePolicy: 'ABANDON',
      cancellationType: 'ABANDON',
    });
    const ended = (): void => session.delegations.report({ key, end: LOST });
    // Its report comes before its end does. While the session is not handed over it hears of an end
    // without one.
    void started.result().catch((error: unknown) => {
      if (!(error instanceof TemporalFailure)) throw error;
      if (!isCancellation(error)) ended();
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

/**
 * Waits until it has ended, or `due` says that the session is to be handed over. Cancelled with the
 * run, or by a failing sibling.
 */
export async function awaitDelegation(session: Holder, open: OpenDelegation, due: () => boolean): Promise<void> {
  let look = open.carried ? FIRST_LOOK_MS : LAST_LOOK_MS;
  while (endOf(session, open) === null && !due()) {
    const left = open.until === undefined ? look : open.until - Date.now();
    const woken = await condition(() => endOf(session, open) !== null || due(), Math.max(1, left));
    if (woken || open.child === undefined) continue;
    look = Math.min(2 * look, LAST_LOOK_MS);
    if (await isGone(open.child, open.agent)) await endWithout(session, open);
  }
}

async function endWithout(session: Holder, open: OpenDelegation): Promise<void> {
  await condition(() => endOf(session, open) !== null, REPORT_MS);
  session.delegations.report({ key: open.key, end: LOST });
}

/**
 * A session closes when none of its agents can report any more: what they took is counted (L69).
 */
export async function agentsEnded({ delegations: { agents } }: Pick<Holder, 'delegations'>): Promise<void> {
  await CancellationScope.nonCancellable(async () => {
    const areWorking = (): boolean => agents.working.length > 0;
    for (let look = REPORT_MS; areWorking(); look = Math.min(2 * look, LAST_LOOK_MS)) {
      if (await condition(() => !areWorking(), look)) continue;
      for (const { key, session: child } of agents.working)
        if (await isGone(child, true)) agents.report({ key, end: LOST });
    }
  });
}

/** Null while it is open. */
export function endOf(session: Holder, { key, until, message }: OpenDelegation): DelegatedEnd | null {
  const reported = session.delegations.endOf(key);
  if (reported) return reported;
  if (until === undefined) return null;
  if (session.resumed) return { kind: 'waited', by: 'resume' };
  if (message && session.inbox.count > 0) return { kind: 'waited', by: 'message' };
  return until <= Date.now() ? { kind: 'waited', by: 'time' } : null;
}

/** Asks it to stop, and waits for a bounded time until it has (L64). Cancelled by nothing. */
export function stopDelegation(session: Holder, open: OpenDelegation): Promise<DelegatedEnd> {
  return CancellationScope.nonCancellable(async () => {
    const known = endOf(session, open);
    if (!known && open.child !== undefined) await askToStop(open.child);
    const ended = (): DelegatedEnd | null => endOf(session, open);
    if (!known && open.child !== undefined) await condition(() => ended() !== null, STOP_MS);
    const end = known ?? ended();
    if (end) session.delegations.close(open.key);
    else session.delegations.giveUp(open.key);
    return end ?? { kind: 'stopped', ended: open.child === undefined };
  });
}
