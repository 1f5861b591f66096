// One call to its outcome, with as many decisions of a person as it needs (L55). While nothing but decisions is waited for, the
// runtime limit stands still and the session may continue as new (L4).
import { condition, isCancellation } from '@temporalio/workflow';
import type { Ask, Call, Decision, OutcomeFacts, RunTool, ToolResult } from './contract/activities.ts';
import type { PendingApproval } from './contract/session.ts';
import { handOver, handoverReady } from './handover.ts';
import type { CallResult } from './machine/events.ts';
import type { RunState } from './machine/state.ts';
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
  /** How many of the batch have neither an outcome nor wait for a decision. */
  running: number;
  /** Activities of the batch that run now, and whether it is one that nothing may run beside. */
  active: number;
  alone: boolean;
};

type Run = (more: Pick<RunTool, 'decision'>) => Promise<ToolResult>;

/** `withdrawn`: the run was stopped, or a sibling failed, while it waited. */
export type Approved = OutcomeFacts | { readonly withdrawn: PendingApproval };

export async function approved(
  bench: RunBench,
  state: RunState,
  batch: Batch,
  call: Call,
  run: Run,
): Promise<Approved> {
  let approval = batch.asked.get(call.index) ?? null;
  let result: ToolResult | null = approval ? null : await admitted(batch, false, () => run({}));
  for (;;) {
    if (result && !('ask' in result)) return result;
    approval = result ? approvalOf(bench, state, call, result.ask, approval) : approval;
    if (!approval) throw new Error(`call ${call.index} has neither an outcome nor a question`);
    const decision = await decided(bench, state, batch, approval);
    const edited = decision?.kind === 'allow' && decision.edited !== undefined;
    result = decision && (await admitted(batch, edited, () => run({ decision })));
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

function approvalOf(
  { session, snapshot }: RunBench,
  { head, iteration }: RunState,
  { index }: Call,
  ask: Ask,
  before: PendingApproval | null,
): PendingApproval {
  if (head === null) throw new Error('a call without a stored reply');
  const name = `${session.facts.now.runs}.${iteration}.${index}`;
  const asked = { ...ask, head, index };
  // The same question again, for the edited input would not do: a late answer to the first is none to this one.
  if (before?.inputHash === ask.inputHash) return { ...asked, call: again(before.call), deadline: before.deadline };
  return { ...asked, call: name, deadline: Date.now() + snapshot.rules.approvalMs };
}

/** 1.2.0, 1.2.0+2, 1.2.0+3 */
function again(call: string): string {
  const [name = call, times = '1'] = call.split('+');
  return `${name}+${Number(times) + 1}`;
}

/** Null when it was cancelled while it waited: then the question is withdrawn. */
async function decided(
  bench: RunBench,
  state: RunState,
  batch: Batch,
  approval: PendingApproval,
): Promise<Decision | null> {
  const { approvals } = bench.session;
  const { call, deadline } = approval;
  approvals.ask(approval);
  settled(bench, batch);
  try {
    await waited(bench, state, batch, approval);
  } catch (error) {
    // Anything else that is thrown is the handover itself.
    if (!isCancellation(error)) throw error;
    approvals.take(call);
    goOn(bench, batch);
    return null;
  }
  const decision = approvals.take(call);
  goOn(bench, batch);
  const reason = `nobody decided by ${new Date(deadline).toISOString()}`;
  return decision ?? { kind: 'deny', reason, expired: true };
}

/** Until it is decided, or its time is over. */
async function waited(
  bench: RunBench,
  state: RunState,
  batch: Batch,
  { call, deadline }: PendingApproval,
): Promise<void> {
  const { session } = bench;
  const isDecided = (): boolean => session.approvals.isDecided(call);
  const ready = (): boolean => batch.running === 0 && session.approvals.allTaken && handoverReady(session);
  while (!isDecided() && deadline > Date.now()) {
    await condition(() => isDecided() || ready(), deadline - Date.now());
    if (ready()) await handOver(session, bench.carried(state, { ...heldByNothing, tools: carriedTools(bench, batch) }));
  }
}

function carriedTools({ session }: RunBench, { calls, cut, results }: Batch): ToolsCarry {
  return { calls, cut, results: [...results], approvals: session.approvals.pending };
}

/** One of the batch has its outcome or waits; when all that is left waits, so does the run. */
export function settled({ session, clock }: RunBench, batch: Batch): void {
  batch.running -= 1;
  if (batch.running > 0 || session.approvals.pending.length === 0) return;
  clock.pause();
  session.enter('waiting_approval');
}

function goOn({ session, clock }: RunBench, batch: Batch): void {
  batch.running += 1;
  clock.resume();
  session.enter('running');
}
