// One call to its outcome, with as many decisions of a person as it needs (L55), answered by one (L81), or carried out by the workflow (L62).
// While nothing but decisions, answers and times is waited for, the runtime limit stands still; while no activity runs the session may continue as new (L4).
import { condition, isCancellation } from '@temporalio/workflow';
import type { Call, OutcomeFacts, RunTool, ToolResult } from './contract/activities.ts';
import type { DelegatedEnd } from './contract/delegation.ts';
import { callKey } from './contract/ids.ts';
import type { PendingApproval } from './contract/session.ts';
import {
  awaitDelegation,
  beginDelegation,
  endOf,
  stopDelegation,
  type CarriedOut,
  type OpenDelegation,
} from './delegated/delegations.ts';
import { handOver, handoverReady } from './handover.ts';
import type { CallResult } from './machine/events.ts';
import type { RunState } from './machine/state.ts';
import { seeWait } from './told/see.ts';
import type { Decided } from './updates/approvals.ts';
import { approvalOf, endOfQuestion, questionOf, type AskedPlace } from './updates/asked.ts';
import { activityProblem } from './ports.ts';
import type { RunBench } from './run-bench.ts';
import { heldByNothing, type ToolsCarry } from './session-state.ts';

/** Calls that run together, and what is known of all calls of the reply. */
export type Batch = {
  readonly calls: readonly Call[];
  readonly cut: boolean;
  readonly batch: readonly Call[];
  readonly results: Map<number, CallResult>;
  /** Asked before a handover, by the call's index. */
  readonly asked: ReadonlyMap<number, PendingApproval>;
  /** Delegated before a handover, by the call's index. */
  readonly delegated: ReadonlyMap<number, OpenDelegation>;
  /** How many of the batch have neither an outcome, nor wait for a decision, nor are delegated. */
  running: number;
  /** How many are delegated to something that works: the runtime limit goes on for them. */
  working: number;
  /** Activities of the batch that run now, and whether it is one that nothing may run beside. */
  active: number;
  alone: boolean;
};

type Run = (more: Pick<RunTool, 'decision' | 'delegated'>) => Promise<ToolResult>;

/** The run was stopped, or a sibling failed, while it waited (`withdrawn`), or while the workflow carried it out (`stopped`). */
export type Approved = OutcomeFacts | { readonly withdrawn: PendingApproval } | { readonly stopped: DelegatedEnd };

export async function awaitDecision(
  bench: RunBench,
  state: RunState,
  batch: Batch,
  call: Call,
  run: Run,
): Promise<Approved> {
  const open = batch.delegated.get(call.index);
  if (open) return await carriedOut(bench, state, batch, open, run);
  let approval = batch.asked.get(call.index) ?? null;
  let result: ToolResult | null = approval ? null : await admitted(batch, false, () => run({}));
  for (;;) {
    if (result && 'delegate' in result) {
      const { delegate } = result;
      if (delegate.kind !== 'question')
        return await carriedOut(bench, state, batch, await begun(bench, state, call, delegate), run);
      approval = questionOf(placeOf(bench, state, call), delegate, approval);
    } else if (result && !('ask' in result)) return result;
    else approval = result ? approvalOf(placeOf(bench, state, call), result.ask, approval) : approval;
    if (!approval) throw new Error(`call ${call.index} has neither an outcome nor a question`);
    const decision = await decided(bench, state, batch, approval);
    const end = approval.question && decision ? endOfQuestion(decision) : null;
    if (end) return await recorded(batch, end, run);
    if (decision === null || decision.kind === 'answered') return { withdrawn: approval };
    const edited = decision.kind === 'allow' && decision.edited !== undefined;
    result = await admitted(batch, edited, () => run({ decision }));
    if (!result) return { withdrawn: approval };
  }
}

/**
 * An edited input was never judged safe: it runs when nothing of the batch does, and nothing begins beside it (L35). Null when it
 * was cancelled before it began.
 */
async function admitted(batch: Batch, alone: boolean, run: () => Promise<ToolResult>): Promise<ToolResult | null> {
  const free = (): boolean => !batch.alone && (!alone || batch.active === 0);
  try {
    while (!free()) await condition(free);
  } catch (error) {
    if (!isCancellation(error)) throw error;
    return null;
  }
  batch.active += 1;
  batch.alone = alone;
  try {
    return await run();
  } finally {
    batch.active -= 1;
    if (alone) batch.alone = false;
  }
}

function placeOf({ session, snapshot }: RunBench, { head, iteration }: RunState, { index, name }: Call): AskedPlace {
  if (head === null) throw new Error('a call without a stored reply');
  const { approvalMs } = snapshot.rules;
  return { run: session.facts.now.runs, iteration, head, index, tool: name, now: Date.now(), approvalMs };
}

/** Null when it was cancelled while it waited: then the question is withdrawn. */
async function decided(
  bench: RunBench,
  state: RunState,
  batch: Batch,
  approval: PendingApproval,
): Promise<Decided | null> {
  const { approvals, alerts } = bench.session;
  const { call, deadline } = approval;
  if (approvals.ask(approval)) alerts.waiting(approval, state.iteration, bench.snapshot.config);
  countSettled(bench, batch);
  let withdrawn = false;
  try {
    await waited(bench, state, batch, approval);
  } catch (error) {
    // Anything else that is thrown is the handover itself.
    if (!isCancellation(error)) throw error;
    withdrawn = true;
  }
  const decision = approvals.take(call);
  goOn(bench, batch);
  seeWait(bench.session, state.iteration, approval, withdrawn ? 'withdrawn' : (decision?.kind ?? 'expired'));
  if (withdrawn) return null;
  return decision ?? { kind: 'deny', reason: `nobody decided by ${new Date(deadline).toISOString()}`, expired: true };
}

/** Until it is decided, or its time is over. */
async function waited(
  bench: RunBench,
  state: RunState,
  batch: Batch,
  { call, deadline }: PendingApproval,
): Promise<void> {
  const isDecided = (): boolean => bench.session.approvals.isDecided(call);
  const ready = (): boolean => mayHandOver(bench, batch);
  while (!isDecided() && deadline > Date.now()) {
    await condition(() => isDecided() || ready(), deadline - Date.now());
    if (ready()) await handOverCalls(bench, state, batch);
  }
}

/** No activity of the batch runs, and nothing that has come for a call was left untaken. */
function mayHandOver({ session }: RunBench, batch: Batch): boolean {
  return batch.running === 0 && session.approvals.allTaken && session.delegations.allTaken && handoverReady(session);
}

function handOverCalls(bench: RunBench, state: RunState, { calls, cut, results }: Batch): Promise<never> {
  const { approvals, delegations } = bench.session;
  const delegated = delegations.open.map((open) => ({ ...open, carried: true as const }));
  const tools: ToolsCarry = {
    calls,
    cut,
    results: [...results],
    approvals: approvals.pending,
    ...(delegated.length > 0 ? { delegated } : {}),
  };
  return handOver(bench.session, bench.carried(state, { ...heldByNothing, tools }));
}

/** One of the batch has its outcome, waits or is delegated; when all that is left waits, so does the run. */
export function countSettled(bench: RunBench, batch: Batch): void {
  batch.running -= 1;
  waitOrWork(bench, batch);
}

function goOn(bench: RunBench, batch: Batch): void {
  batch.running += 1;
  waitOrWork(bench, batch);
}

/** Time spent waiting for a decision, or for a time that the model asked for, does not count (L51, L82). */
function waitOrWork({ session, clock }: RunBench, { running, working }: Batch): void {
  const until = session.delegations.longestWait;
  const asks = session.approvals.pending.length > 0;
  const waits = running === 0 && working === 0 && (asks || until !== null);
  session.park(waits && !asks ? until : null);
  if (waits) clock.pause();
  else clock.resume();
  session.enter(waits ? (asks ? 'waiting_approval' : 'parked') : 'running');
}

async function begun(
  { session }: RunBench,
  { head }: RunState,
  { index }: Call,
  delegation: CarriedOut,
): Promise<OpenDelegation> {
  if (head === null) throw new Error('a call without a stored reply');
  // A `resume` ends the waits that it finds.
  if (delegation.kind === 'wait') session.resumed = false;
  return await beginDelegation(session, { key: callKey(session.facts.now.chain, head, index), index }, delegation);
}

/** A call that the workflow carries out, to the outcome that an activity makes of its end (L62). */
async function carriedOut(
  bench: RunBench,
  state: RunState,
  batch: Batch,
  open: OpenDelegation,
  run: Run,
): Promise<Approved> {
  const { session } = bench;
  const works = open.child !== undefined;
  if (works) batch.working += 1;
  countSettled(bench, batch);
  try {
    await ended(bench, state, batch, open);
  } catch (error) {
    // Anything else that is thrown is the handover itself.
    if (!isCancellation(error)) throw error;
  }
  const end = endOf(session, open);
  const stopped = end === null ? await stopDelegation(session, open) : null;
  session.delegations.close(open.key);
  if (works) batch.working -= 1;
  goOn(bench, batch);
  return stopped ? { stopped } : await recorded(batch, end!, run);
}

/** The end is recorded under the call's key; whoever keeps that from happening keeps the end from nobody. */
async function recorded(batch: Batch, end: DelegatedEnd, run: Run): Promise<Approved> {
  try {
    const result = await admitted(batch, false, () => run({ delegated: end }));
    if (result === null) return { stopped: end };
    if ('ask' in result || 'delegate' in result) throw new Error('a call that was carried out wants to begin');
    return result;
  } catch (error) {
    const problem = activityProblem(error);
    if (!isCancellation(error) && (problem === null || problem.damaged)) throw error;
    return { stopped: end };
  }
}

async function ended(bench: RunBench, state: RunState, batch: Batch, open: OpenDelegation): Promise<void> {
  const ready = (): boolean => mayHandOver(bench, batch);
  while (endOf(bench.session, open) === null) {
    await awaitDelegation(bench.session, open, ready);
    if (endOf(bench.session, open) === null && ready()) await handOverCalls(bench, state, batch);
  }
}
