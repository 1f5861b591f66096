// The calls that wait for a person (L55). A decision is taken once, for one call and one input; what comes late or for another
// input is refused before it is accepted.
import { ApplicationFailure, defineUpdate, setHandler } from '@temporalio/workflow';
import type { Decision } from '../contract/activities.ts';
import { isHash } from '../contract/ids.ts';
import { LONGEST_REASON, UPDATES, type Approval, type Denial, type PendingApproval } from '../contract/session.ts';

export class Approvals {
  private readonly waiting: Map<string, PendingApproval>;
  private readonly decisions = new Map<string, Decision>();
  private changed: () => void = () => {};

  /** `carried`: what waited at a handover. */
  constructor(carried: readonly PendingApproval[]) {
    this.waiting = new Map(carried.map((approval) => [approval.call, approval]));
  }

  /** `changed` is called when what waits has changed; at once, if a decision arrived during the handover. */
  listen(changed: () => void): void {
    this.changed = changed;
    setHandler(defineUpdate<void, [Approval]>(UPDATES.approve), (approval) => this.approve(approval), {
      validator: (approval) => refuse(this.callProblem(approval) ?? this.approvalProblem(approval)),
    });
    setHandler(defineUpdate<void, [Denial]>(UPDATES.deny), (denial) => this.deny(denial), {
      validator: (denial) => refuse(this.callProblem(denial) ?? denialProblem(denial)),
    });
  }

  /** In the order of the calls, whichever was asked about first; without those that are decided and not taken yet. */
  get pending(): readonly PendingApproval[] {
    return [...this.waiting.values()].toSorted((one, other) => one.index - other.index);
  }

  get allTaken(): boolean {
    return this.decisions.size === 0;
  }

  /** Whether it begins to wait with this, and did not wait before a handover. */
  ask(approval: PendingApproval): boolean {
    if (this.decisions.has(approval.call)) return false;
    const begins = !this.waiting.has(approval.call);
    this.waiting.set(approval.call, approval);
    this.changed();
    return begins;
  }

  isWaiting(call: string): boolean {
    return this.waiting.has(call);
  }

  isDecided(call: string): boolean {
    return this.decisions.has(call);
  }

  /** The decision, if there is one; either way the call waits no longer. */
  take(call: string): Decision | null {
    const decision = this.decisions.get(call) ?? null;
    this.decisions.delete(call);
    if (this.waiting.delete(call)) this.changed();
    return decision;
  }

  /** No call waits any more: what is undecided is withdrawn, and decisions that come now are refused (L48). */
  withdraw(): void {
    if (this.waiting.size === 0 && this.allTaken) return;
    this.waiting.clear();
    this.decisions.clear();
    this.changed();
  }

  private approve({ call, inputHash, edited }: Approval): void {
    this.decide(call, { kind: 'allow', inputHash, ...(edited === undefined ? {} : { edited }) });
  }

  private deny({ call, reason, interrupt }: Denial): void {
    this.decide(call, { kind: 'deny', reason, ...(interrupt === true ? { interrupt } : {}) });
  }

  private decide(call: string, decision: Decision): void {
    this.decisions.set(call, decision);
    this.waiting.delete(call);
    this.changed();
  }

  private callProblem(value: Approval | Denial | undefined): string | undefined {
    const call: unknown = value?.call;
    if (typeof call !== 'string') return 'the decision names no call';
    if (this.decisions.has(call)) return `call ${call} is decided already`;
    if (this.waiting.has(call)) return undefined;
    const known = [...this.waiting.keys()].slice(0, 10).join(', ');
    return `no call ${call.slice(0, 100)} waits for a decision; ${known === '' ? 'none does' : `those that do: ${known}`}`;
  }

  private approvalProblem({ call, inputHash, edited }: Approval): string | undefined {
    if (this.waiting.get(call)?.inputHash !== inputHash) {
      return `the approval of call ${call} is for another input than the one that waits: look at it again`;
    }
    return edited === undefined || isHash(edited) ? undefined : 'the edited input is not the hash of a stored value';
  }
}

/** The name under which a call is asked about once more: 1.2.0, 1.2.0+2, 1.2.0+3. */
export function nextQuestion(call: string): string {
  const [name = call, times = '1'] = call.split('+');
  return `${name}+${Number(times) + 1}`;
}

function denialProblem({ reason }: Denial): string | undefined {
  if (typeof reason !== 'string' || reason.trim() === '') return 'a denial needs a reason';
  return reason.length <= LONGEST_REASON
    ? undefined
    : `the reason has ${reason.length} characters: give at most ${LONGEST_REASON}`;
}

export function refuse(problem: string | undefined): void {
  if (problem !== undefined)
    throw ApplicationFailure.create({ type: 'DecisionRefused', message: problem, nonRetryable: true });
}
