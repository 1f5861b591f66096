// The calls of one reply: the state of each, what is known of it, and what all of them share.
import type { Call, OutcomeItem, RunTool } from '../contract/activities.ts';
import { type CallKey, callKey, type Hash } from '../contract/ids.ts';
import type { PendingApproval } from '../contract/session.ts';
import type { OpenDelegation } from '../delegated/delegations.ts';
import { toolContextAfter, withCallsSpend, withGranted } from '../machine/absorb.ts';
import type { CallResult, Move } from '../machine/events.ts';
import { spendableLeft } from '../machine/limits.ts';
import type { RunState } from '../machine/state.ts';
import type { RunContext } from '../run/run-context.ts';
import { handOverSession } from '../session/handover.ts';
import { notWaiting, type ToolsCarry } from '../session/session-state.ts';
import type { Session } from '../session/session.ts';
import { type AskedPlace, callName } from '../updates/open-questions.ts';

/** The part of an activity's input that all calls of a reply share. */
export type SharedInput = Pick<RunTool, 'config' | 'iteration' | 'context' | 'left'>;

export class ReplyCalls {
  readonly context: RunContext;
  readonly state: RunState;
  readonly calls: readonly Call[];
  /** The reply's last tool_use was cut by max_tokens (L15). */
  readonly cut: boolean;
  readonly results: Map<number, CallResult>;
  /** The questions that were open at a handover, by the call's index. */
  readonly asked: ReadonlyMap<number, PendingApproval>;
  /** The head of the reply, which names its calls. */
  private readonly head: Hash;
  /** The calls that were delegated before a handover, by their index. */
  readonly delegated: ReadonlyMap<number, OpenDelegation>;

  /** `carried`: the calls as the workflow run before has left them. */
  constructor(
    context: RunContext,
    state: RunState,
    { calls, cut }: Extract<Move, { do: 'run_tools' }>,
    carried: ToolsCarry | null,
  ) {
    this.context = context;
    this.state = state;
    const head = carried?.reply ?? state.head;
    if (head === null) throw new Error('a call without a stored reply');
    this.head = head;
    this.calls = calls;
    this.cut = cut;
    this.results = new Map(carried?.results);
    this.asked = new Map(carried?.approvals.map((approval) => [approval.index, approval]));
    this.delegated = new Map(carried?.delegated?.map((open) => [open.index, open]));
    for (const call of calls) {
      const known = this.knownResult(call);
      if (known) this.results.set(call.index, known);
    }
  }

  get session(): Session {
    return this.context.session;
  }

  get areSettled(): boolean {
    return this.calls.every(({ index }) => this.results.has(index));
  }

  keyOf(index: number): CallKey {
    return callKey(this.session.facts.now.chain, this.head, index);
  }

  /** Returns the name under which a call is decided or given its result. */
  nameOf(index: number): string {
    return callName({ run: this.session.facts.now.runs, iteration: this.state.iteration, index });
  }

  /** The item carries the call's key, so that whatever is recorded of the call counts. */
  itemOf(index: number): OutcomeItem {
    return { index, key: this.keyOf(index) };
  }

  placeOf({ index, name }: Call): AskedPlace {
    const { head, context, state } = this;
    const { approvalMs } = context.snapshot.rules;
    const run = this.session.facts.now.runs;
    return { run, iteration: state.iteration, head, index, tool: name, now: Date.now(), approvalMs };
  }

  /** `results`: of the calls whose changes and spending count for the next activity. */
  sharedInput(results: readonly (CallResult | undefined)[]): SharedInput {
    const { config, rules, granted } = this.context.snapshot;
    const { iteration, toolContext, spend } = this.state;
    const context = withGranted(toolContextAfter(toolContext, results), granted);
    const left = spendableLeft({ spend: withCallsSpend(spend, results) }, rules);
    return { config, iteration, ...(context && { context }), ...(left && { left }) };
  }

  /** The transcript as it is now, with the waits that were stored after the reply. */
  get heads(): Pick<RunTool, 'head' | 'reply'> {
    const head = this.session.run?.state.head ?? this.head;
    return head === this.head ? { head } : { head, reply: this.head };
  }

  /** Never returns: the session continues as new with these calls. */
  handOver(): Promise<never> {
    const { approvals, delegations, waits } = this.session;
    const { head, reply } = this.heads;
    const delegated = delegations.open.map((open) => ({ ...open, carried: true as const }));
    const tools: ToolsCarry = {
      calls: this.calls.map(withoutDelegate),
      cut: this.cut,
      results: [...this.results],
      approvals: approvals.pending,
      ...(delegated.length > 0 && { delegated }),
      ...(reply && { reply }),
      ...(waits.open.length > 0 && { waits: waits.open }),
    };
    return handOverSession(this.session, this.context.carryRun({ ...this.state, head }, { ...notWaiting, tools }));
  }

  /**
   * Returns a result for a call that ran with its reply, or right after it in the same activity.
   */
  private knownResult({ index, outcome, ran }: Call): CallResult | null {
    if (outcome) return { item: null, facts: outcome };
    return ran ? { item: this.itemOf(index), facts: ran } : null;
  }
}

/** All work that was handed over has begun by now: the handover carries it as open delegations. */
function withoutDelegate(call: Call): Call {
  const { delegate: _, ...rest } = call;
  return rest;
}
