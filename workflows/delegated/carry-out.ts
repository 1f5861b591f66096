// Carries out the calls that are handed over to the workflow (L62–L64): starts their work, awaits
// its end, and stops it.
import {
  CancellationScope,
  condition,
  isCancellation,
  patched,
  startChild,
  TemporalFailure,
} from '@temporalio/workflow';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { type DelegatedEnd, isOfWorker } from '../contract/delegation.ts';
import { INTERRUPTED_CALL, WAITS_CHANGE } from '../contract/waits.ts';
import { describeBackgroundStart, performRequest } from './background.ts';
import { childSessionId, childOf, type DelegatedTask, type Child } from './children.ts';
import type { OpenDelegation } from './delegations.ts';
import type { HostSession } from './host-session.ts';
import { askToStop, FIRST_LOOK_MS, isGone, LAST_LOOK_MS, LOST_END, REPORT_MS, STOP_MS } from './reports.ts';

/** `name`: under which somebody outside gives the result. */
type BegunCall = Pick<OpenDelegation, 'key' | 'index'> & { readonly name: string };

/**
 * Begins work that `runTool` handed over. A running child of this name is the call's own: it was
 * started before a reset.
 */
export async function beginDelegation(
  session: HostSession,
  call: BegunCall,
  delegation: DelegatedTask,
): Promise<OpenDelegation> {
  if (delegation.kind === 'outside') patched(WAITS_CHANGE);
  const open = describeOpen(session, call, delegation);
  session.delegations.begin(open);
  const { delegations } = session;
  const { key } = open;
  if ('agent' in delegation) {
    delegations.settle(key, await performRequest(delegations.agents, key, delegation));
    return open;
  }
  const child = childOf(session, open, delegation);
  if (typeof child === 'string') delegations.settle(key, { kind: 'failed', detail: child });
  else if (child) await CancellationScope.nonCancellable(() => startWork(session, open, child));
  const inBackground = delegation.kind === 'agent' && delegation.background === true;
  if (inBackground) delegations.settle(key, describeBackgroundStart(open.child!));
  delegations.claimEarlyReport(key);
  return open;
}

function describeOpen(
  session: HostSession,
  { key, index, name }: BegunCall,
  delegation: DelegatedTask,
): OpenDelegation {
  if (delegation.kind === 'outside') return { key, index, outside: { call: name, by: delegation.by } };
  if (delegation.kind === 'wait') {
    const { until = Date.now() + delegation.seconds * 1_000, message } = delegation;
    return { key, index, until, ...(message && { message }) };
  }
  if (delegation.kind === 'agent') return { key, index, child: childSessionId(session, key, index), agent: true };
  const [chain = '', head = ''] = key.split('.');
  return { key, index, child: `${session.id}.call-${chain.slice(0, 8)}-${head.slice(0, 16)}-${index}` };
}

async function startWork(
  session: HostSession,
  { key, child }: OpenDelegation,
  { type, args, ...options }: Child,
): Promise<void> {
  try {
    const started = await startChild<(...input: unknown[]) => Promise<unknown>>(type, {
      ...options,
      workflowId: child!,
      args: [...args],
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      // The session may continue as new, and it stops children itself.
      parentClosePolicy: 'ABANDON',
      cancellationType: 'ABANDON',
    });
    const reportEnd = (): void => session.delegations.report({ key, end: LOST_END });
    // A report comes before its workflow's end. Until it continues as new, the session is told of
    // an end without a report.
    void started.result().catch((error: unknown) => {
      if (!(error instanceof TemporalFailure)) throw error;
      if (!isCancellation(error)) reportEnd();
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

/**
 * Resolves when the call has ended, or when `isDue` says that the session is to be handed over. It
 * is cancelled with the run, or by a failing sibling.
 */
export async function awaitDelegation(session: HostSession, open: OpenDelegation, isDue: () => boolean): Promise<void> {
  let lookMs = open.carried ? FIRST_LOOK_MS : LAST_LOOK_MS;
  while (findEnd(session, open) === null && !isDue()) {
    const waitMs = open.until === undefined ? lookMs : open.until - Date.now();
    const isWoken = await condition(() => findEnd(session, open) !== null || isDue(), Math.max(1, waitMs));
    if (isWoken || open.child === undefined) continue;
    lookMs = Math.min(2 * lookMs, LAST_LOOK_MS);
    if (await isGone(open.child, open.agent)) await reportLostChild(session, open);
  }
}

async function reportLostChild(session: HostSession, open: OpenDelegation): Promise<void> {
  await condition(() => findEnd(session, open) !== null, REPORT_MS);
  session.delegations.report({ key: open.key, end: LOST_END });
}

/**
 * Waits until no agent can report, so that what they took is counted before the session closes
 * (L69).
 */
export async function awaitAgents({ delegations: { agents } }: Pick<HostSession, 'delegations'>): Promise<void> {
  await CancellationScope.nonCancellable(async () => {
    const areWorking = (): boolean => agents.working.length > 0;
    for (let lookMs = REPORT_MS; areWorking(); lookMs = Math.min(2 * lookMs, LAST_LOOK_MS)) {
      if (await condition(() => !areWorking(), lookMs)) continue;
      for (const { key, session: child } of agents.working)
        if (await isGone(child, true)) agents.report({ key, end: LOST_END });
    }
  });
}

/** Returns null while the call is open. */
export function findEnd(session: HostSession, { key, until, message }: OpenDelegation): DelegatedEnd | null {
  const reported = session.delegations.endOf(key);
  if (reported) return reported;
  if (until === undefined) return null;
  if (session.resumed) return { kind: 'waited', by: 'resume' };
  if (message && session.inbox.count > 0) return { kind: 'waited', by: 'message' };
  return until <= Date.now() ? { kind: 'waited', by: 'time' } : null;
}

/** Milliseconds for which the result of an interrupted call is awaited (G96). */
const INTERRUPT_MS = 10_000;

/** A sandbox may go on with a call that was interrupted, or hears of it and gives what it has. */
async function endInterrupted(session: HostSession, open: OpenDelegation, call: string): Promise<void> {
  const { waits, delegations } = session;
  const isEnded = (): boolean => findEnd(session, open) !== null;
  if (isEnded() || !session.isInterrupted || !patched('perdure-sandbox-interrupt')) return;
  await waits.noteStop();
  await condition(() => isEnded() || !session.isInterrupted, INTERRUPT_MS);
  if (isEnded()) return;
  const result = { body: { kind: 'text', text: INTERRUPTED_CALL }, isError: true } as const;
  delegations.settle(open.key, { kind: 'result', ...result });
  await waits.settle({ call, how: 'result', result });
}

/** Asks the work to stop, and waits a bounded time for its end (L64). Nothing cancels this. */
export function stopDelegation(session: HostSession, open: OpenDelegation): Promise<DelegatedEnd> {
  return CancellationScope.nonCancellable(async () => {
    if (open.outside && isOfWorker(open.outside.by)) await endInterrupted(session, open, open.outside.call);
    const known = findEnd(session, open);
    if (!known && open.child !== undefined) await askToStop(open.child);
    const endNow = (): DelegatedEnd | null => findEnd(session, open);
    if (!known && open.child !== undefined) await condition(() => endNow() !== null, STOP_MS);
    const end = known ?? endNow();
    if (end) session.delegations.close(open.key);
    else session.delegations.giveUp(open.key);
    return end ?? { kind: 'stopped', ended: open.child === undefined };
  });
}
