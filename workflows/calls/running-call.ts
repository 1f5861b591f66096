// One call on its way to its outcome, through as many decisions of a person as it needs (L55): a
// person may answer it (L81), or the workflow may carry it out (L62). While it waits only for
// decisions, answers and times, the runtime limit pauses; while no activity runs, the session may
// continue as new (L4).
import { condition, isCancellation } from '@temporalio/workflow';
import type { Call, OutcomeFacts, RunTool, RunToolResult } from '../contract/activities.ts';
import { endInWords, LARGEST_PLAIN, type DelegatedEnd } from '../contract/delegation.ts';
import type { SessionId } from '../contract/ids.ts';
import type { PendingApproval } from '../contract/session.ts';
import { awaitDelegation, beginDelegation, findEnd, stopDelegation } from '../delegated/carry-out.ts';
import type { DelegatedTask } from '../delegated/children.ts';
import type { OpenDelegation } from '../delegated/delegations.ts';
import { activityProblem } from '../activity-problem.ts';
import { canHandOver } from '../session/handover.ts';
import type { Session } from '../session/session.ts';
import { reportWait } from '../told/report-seen.ts';
import type { PersonDecision } from '../updates/approvals.ts';
import { makeApproval, makeElicitation, endOfQuestion, makeQuestion } from '../updates/open-questions.ts';
import type { CallBatch } from './call-batch.ts';
import type { ReplyCalls } from './reply-calls.ts';

/** Schedules the call's activity. */
type RunActivity = (more: Pick<RunTool, 'decision' | 'delegated'>) => Promise<RunToolResult>;

/**
 * How a call has ended. The run was stopped, or a sibling failed, while the call waited
 * (`withdrawn`) or while the workflow carried it out (`stopped`). `end`: it is not recorded yet.
 */
export type CallEnd =
  | OutcomeFacts
  | { readonly withdrawn: PendingApproval }
  | { readonly stopped: DelegatedEnd }
  | { readonly end: DelegatedEnd; readonly note: string };

export class RunningCall {
  private readonly reply: ReplyCalls;
  private readonly batch: CallBatch;
  private readonly call: Call;
  private readonly runActivity: RunActivity;

  constructor(reply: ReplyCalls, batch: CallBatch, call: Call, runActivity: RunActivity) {
    this.reply = reply;
    this.batch = batch;
    this.call = call;
    this.runActivity = runActivity;
  }

  async awaitEnd(): Promise<CallEnd> {
    const { reply, batch, call } = this;
    const open = reply.delegated.get(call.index);
    if (open) return await this.carryOut(open);
    let approval = reply.asked.get(call.index) ?? null;
    // A call that was handed over with its reply runs no activity: `runTool` would answer the same.
    const handedOver = call.delegate ? { delegate: call.delegate } : null;
    let result: RunToolResult | null = approval ? null : (handedOver ?? (await batch.admit(false, () => this.run({}))));
    for (;;) {
      if (result && 'delegate' in result) {
        const { delegate } = result;
        if (delegate.kind !== 'question') return await this.carryOut(await this.begin(delegate));
        approval = makeQuestion(reply.placeOf(call), delegate, approval);
      } else if (result && !('ask' in result)) return result;
      else approval = result ? makeApproval(reply.placeOf(call), result.ask, approval) : approval;
      if (!approval) throw new Error(`call ${call.index} has neither an outcome nor a question`);
      const decision = await this.ask(approval);
      const end = approval.question && decision ? endOfQuestion(decision) : null;
      if (end) return await this.recordEnd(end);
      if (decision === null || decision.kind === 'answered') return { withdrawn: approval };
      const isEdited = decision.kind === 'allow' && decision.edited !== undefined;
      result = await batch.admit(isEdited, () => this.run({ decision }));
      if (!result) return { withdrawn: approval };
    }
  }

  private get session(): Session {
    return this.reply.session;
  }

  /** Runs the activity. While the call asks people something, it counts as one that waits (L77). */
  private run(more: Parameters<RunActivity>[0]): Promise<RunToolResult> {
    const { reply, call } = this;
    const place = reply.placeOf(call);
    return this.session.elicitations.during(
      reply.keyOf(call.index),
      () => this.runActivity(more),
      (elicitation, count) => this.ask(makeElicitation({ ...place, now: Date.now() }, elicitation, count)),
    );
  }

  /** Returns null when the call was cancelled while it waited: the question is withdrawn then. */
  private async ask(approval: PendingApproval): Promise<PersonDecision | null> {
    const { batch, session, reply } = this;
    const { iteration } = reply.state;
    const { call, deadline } = approval;
    if (session.approvals.ask(approval))
      session.alerts.alertWaiting(approval, iteration, reply.context.snapshot.config);
    batch.countSettled();
    let isWithdrawn = false;
    try {
      await this.awaitDecision(approval);
    } catch (error) {
      // Anything else that is thrown is the handover itself.
      if (!isCancellation(error)) throw error;
      isWithdrawn = true;
    }
    const decision = session.approvals.take(call);
    batch.countResumed();
    reportWait(session, iteration, approval, isWithdrawn ? 'withdrawn' : (decision?.kind ?? 'expired'));
    if (isWithdrawn) return null;
    const stored = decision ? undefined : session.waits.settleAsk(approval, { how: 'expired' });
    if (stored) await stored;
    return decision ?? { kind: 'deny', reason: `nobody decided by ${new Date(deadline).toISOString()}`, expired: true };
  }

  /** Resolves when the question is decided, or when its time is over. */
  private async awaitDecision({ call, deadline }: PendingApproval): Promise<void> {
    const isDecided = (): boolean => this.session.approvals.isDecided(call);
    const mayHandOver = (): boolean => this.mayHandOver;
    while (!isDecided() && deadline > Date.now()) {
      await condition(() => isDecided() || mayHandOver(), deadline - Date.now());
      if (mayHandOver()) await this.reply.handOver();
    }
  }

  /** No activity of the batch runs, and every decision and every end that has come is taken. */
  private get mayHandOver(): boolean {
    const { session } = this;
    return this.batch.isQuiet && session.approvals.allTaken && session.delegations.allTaken && canHandOver(session);
  }

  private async begin(delegation: DelegatedTask): Promise<OpenDelegation> {
    const { index } = this.call;
    const key = this.reply.keyOf(index);
    // A `resume` ends the waits that it finds, and no later ones.
    if (delegation.kind === 'wait') this.session.resumed = false;
    const name = this.reply.nameOf(index);
    const open = await beginDelegation(this.session, { key, index, name }, delegation);
    const hasBegun = open.agent && this.session.delegations.agents.knows(key);
    if (hasBegun) this.session.waits.beginAgent(name, open.child as SessionId);
    return open;
  }

  /** The workflow carries the call out; an activity makes an outcome of the end (L62). */
  private async carryOut(open: OpenDelegation): Promise<CallEnd> {
    const { batch, session } = this;
    const works = open.child !== undefined;
    if (works) batch.working.add(open);
    batch.countSettled();
    try {
      await this.awaitDelegation(open);
    } catch (error) {
      // Anything else that is thrown is the handover itself.
      if (!isCancellation(error)) throw error;
    }
    const end = findEnd(session, open);
    const stopped = end === null ? await stopDelegation(session, open) : null;
    session.delegations.close(open.key);
    if (open.agent) session.waits.endAgent(open.child as SessionId);
    batch.working.delete(open);
    batch.countResumed();
    return stopped ? { stopped } : await this.recordEnd(end!);
  }

  private async awaitDelegation(open: OpenDelegation): Promise<void> {
    const { session } = this;
    const mayHandOver = (): boolean => this.mayHandOver;
    while (findEnd(session, open) === null) {
      await awaitDelegation(session, open, mayHandOver);
      if (findEnd(session, open) === null && mayHandOver()) await this.reply.handOver();
    }
  }

  /**
   * An activity of its own records the end under the call's key or, where nothing waits for the
   * outcome, the next step that stores something does. A failure to record it loses nothing: the
   * end is then settled as that of a stopped call.
   */
  private async recordEnd(end: DelegatedEnd): Promise<CallEnd> {
    const isPlain = this.call.plain && JSON.stringify(end).length <= LARGEST_PLAIN;
    const note = isPlain ? endInWords(end) : null;
    if (note !== null) return { end, note };
    try {
      const result = await this.batch.admit(false, () => this.run({ delegated: end }));
      if (result === null) return { stopped: end };
      if ('ask' in result || 'delegate' in result) throw new Error('a call that was carried out wants to begin');
      return result;
    } catch (error) {
      const problem = activityProblem(error);
      if (!isCancellation(error) && (problem === null || problem.damaged)) throw error;
      return { stopped: end };
    }
  }
}
