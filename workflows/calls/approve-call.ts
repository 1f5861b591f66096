// One call to its outcome, with as many decisions of a person as it needs (L55), answered by one
// (L81), or carried out by the workflow (L62). While nothing but decisions, answers and times is
// waited for, the runtime limit stands still; while no activity runs the session may continue as
// new (L4).
import { condition, isCancellation } from '@temporalio/workflow';
import type { Call, OutcomeFacts, RunTool, ToolResult } from '../contract/activities.ts';
import { endInWords, LARGEST_PLAIN, type DelegatedEnd } from '../contract/delegation.ts';
import { callKey } from '../contract/ids.ts';
import type { PendingApproval } from '../contract/session.ts';
import {
  awaitDelegation,
  beginDelegation,
  endOf,
  stopDelegation,
  type CarriedOut,
  type OpenDelegation,
} from '../delegated/delegations.ts';
import { handOver, handoverReady } from '../session/handover.ts';
import type { RunState } from '../machine/state.ts';
import { seeWait } from '../told/see.ts';
import type { Decided } from '../updates/approvals.ts';
import { approvalOf, elicitedOf, endOfQuestion, questionOf, type AskedPlace } from '../updates/asked.ts';
import { activityProblem } from '../ports.ts';
import { admitted, type Batch, countSettled, goOn, type RunBench } from '../run/run-bench.ts';
import { heldByNothing, type ToolsCarry } from '../session/session-state.ts';

type Run = (more: Pick<RunTool, 'decision' | 'delegated'>) => Promise<ToolResult>;

/**
 * The run was stopped, or a sibling failed, while it waited (`withdrawn`), or while the workflow
 * carried it out (`stopped`). `end`: nothing is recorded of it yet.
 */
export type Approved =
  | OutcomeFacts
  | { readonly withdrawn: PendingApproval }
  | { readonly stopped: DelegatedEnd }
  | { readonly end: DelegatedEnd; readonly note: string };

export async function awaitDecision(
  bench: RunBench,
  state: RunState,
  batch: Batch,
  call: Call,
  begin: Run,
): Promise<Approved> {
  const run: Run = (more) => asksAsItRuns(bench, state, batch, call, () => begin(more));
  const open = batch.delegated.get(call.index);
  if (open) return await carriedOut(bench, state, batch, call, open, run);
  let approval = batch.asked.get(call.index) ?? null;
  let result: ToolResult | null = approval ? null : (handedOver(call) ?? (await admitted(batch, false, () => run({}))));
  for (;;) {
    if (result && 'delegate' in result) {
      const { delegate } = result;
      if (delegate.kind !== 'question')
        return await carriedOut(bench, state, batch, call, await begun(bench, state, call, delegate), run);
      approval = questionOf(placeOf(bench, state, call), delegate, approval);
    } else if (result && !('ask' in result)) return result;
    else approval = result ? approvalOf(placeOf(bench, state, call), result.ask, approval) : approval;
    if (!approval) throw new Error(`call ${call.index} has neither an outcome nor a question`);
    const decision = await decided(bench, state, batch, approval);
    const end = approval.question && decision ? endOfQuestion(decision) : null;
    if (end) return await recorded(batch, call, end, run);
    if (decision === null || decision.kind === 'answered') return { withdrawn: approval };
    const edited = decision.kind === 'allow' && decision.edited !== undefined;
    result = await admitted(batch, edited, () => run({ decision }));
    if (!result) return { withdrawn: approval };
  }
}

/** With its reply: `runTool` would answer the same. */
function handedOver({ delegate }: Call): ToolResult | null {
  return delegate ? { delegate } : null;
}

/** All that was handed over has begun by the time of a handover: it is carried as what is open. */
function asBegun(call: Call): Call {
  const { delegate: _, ...rest } = call;
  return rest;
}

/** While a person is asked for it, a call is one that waits (L77). */
function asksAsItRuns(
  bench: RunBench,
  state: RunState,
  batch: Batch,
  call: Call,
  run: () => Promise<ToolResult>,
): Promise<ToolResult> {
  const { session } = bench;
  const place = placeOf(bench, state, call);
  const key = callKey(session.facts.now.chain, place.head, call.index);
  return session.elicitations.during(key, run, (asked, count) =>
    decided(bench, state, batch, elicitedOf({ ...place, now: Date.now() }, asked, count)),
  );
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

/**
 * No activity of the batch runs, not even one that waits for an answer, and nothing that has come
 * for a call was left untaken.
 */
function mayHandOver({ session }: RunBench, batch: Batch): boolean {
  return (
    batch.running === 0 &&
    batch.active === 0 &&
    session.approvals.allTaken &&
    session.delegations.allTaken &&
    handoverReady(session)
  );
}

function handOverCalls(bench: RunBench, state: RunState, { calls, cut, results }: Batch): Promise<never> {
  const { approvals, delegations } = bench.session;
  const delegated = delegations.open.map((open) => ({ ...open, carried: true as const }));
  const tools: ToolsCarry = {
    calls: calls.map(asBegun),
    cut,
    results: [...results],
    approvals: approvals.pending,
    ...(delegated.length > 0 ? { delegated } : {}),
  };
  return handOver(bench.session, bench.carried(state, { ...heldByNothing, tools }));
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
  call: Call,
  open: OpenDelegation,
  run: Run,
): Promise<Approved> {
  const { session } = bench;
  const works = open.child !== undefined;
  if (works) batch.working.add(open);
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
  batch.working.delete(open);
  goOn(bench, batch);
  return stopped ? { stopped } : await recorded(batch, call, end!, run);
}

/**
 * The end is recorded under the call's key, by an activity of its own or, where nothing waits for
 * what it comes to, by the next step that stores something; whoever keeps that from happening keeps
 * the end from nobody.
 */
async function recorded(batch: Batch, { plain }: Call, end: DelegatedEnd, run: Run): Promise<Approved> {
  const note = plain && JSON.stringify(end).length <= LARGEST_PLAIN ? endInWords(end) : null;
  if (note !== null) return { end, note };
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
