// Carries out the calls that are handed over to the workflow (L62–L64): begins their work, awaits
// its end, and stops it.
import { CancellationScope, condition, isCancellation, startChild, TemporalFailure } from '@temporalio/workflow';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import type { DelegatedEnd } from '../contract/delegation.ts';
import { begunInBackground, performDeed } from './background.ts';
import { agentSessionId, childOf, type CarriedOut, type Child } from './children.ts';
import type { OpenDelegation } from './delegations.ts';
import type { HostSession } from './host-session.ts';
import { askToStop, FIRST_LOOK_MS, isGone, LAST_LOOK_MS, LOST, REPORT_MS, STOP_MS } from './reports.ts';

/**
 * Begins what `runTool` handed over. A child of this name that runs already is this call's own: it
 * was started before a reset.
 */
export async function beginDelegation(
  session: HostSession,
  call: Pick<OpenDelegation, 'key' | 'index'>,
  delegation: CarriedOut,
): Promise<OpenDelegation> {
  const open = openAs(session, call, delegation);
  session.delegations.begin(open);
  const { delegations } = session;
  const { key } = open;
  if ('agent' in delegation) {
    delegations.settle(key, await performDeed(delegations.agents, key, delegation));
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
  session: HostSession,
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
  session: HostSession,
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
export async function awaitDelegation(session: HostSession, open: OpenDelegation, due: () => boolean): Promise<void> {
  let look = open.carried ? FIRST_LOOK_MS : LAST_LOOK_MS;
  while (endOf(session, open) === null && !due()) {
    const left = open.until === undefined ? look : open.until - Date.now();
    const woken = await condition(() => endOf(session, open) !== null || due(), Math.max(1, left));
    if (woken || open.child === undefined) continue;
    look = Math.min(2 * look, LAST_LOOK_MS);
    if (await isGone(open.child, open.agent)) await endWithout(session, open);
  }
}

async function endWithout(session: HostSession, open: OpenDelegation): Promise<void> {
  await condition(() => endOf(session, open) !== null, REPORT_MS);
  session.delegations.report({ key: open.key, end: LOST });
}

/**
 * A session closes when none of its agents can report any more: what they took is counted (L69).
 */
export async function agentsEnded({ delegations: { agents } }: Pick<HostSession, 'delegations'>): Promise<void> {
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
export function endOf(session: HostSession, { key, until, message }: OpenDelegation): DelegatedEnd | null {
  const reported = session.delegations.endOf(key);
  if (reported) return reported;
  if (until === undefined) return null;
  if (session.resumed) return { kind: 'waited', by: 'resume' };
  if (message && session.inbox.count > 0) return { kind: 'waited', by: 'message' };
  return until <= Date.now() ? { kind: 'waited', by: 'time' } : null;
}

/** Asks it to stop, and waits for a bounded time until it has (L64). Cancelled by nothing. */
export function stopDelegation(session: HostSession, open: OpenDelegation): Promise<DelegatedEnd> {
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
