// The calls that wait for a person: for a decision (L55), or for an answer (L81). Each counts once,
// for one call and one input; one that is late or for another input is refused before it is
// accepted.
// The descriptions of a session's updates in Temporal's clients.
import { ApplicationFailure, defineUpdate, setHandler } from '@temporalio/workflow';
import type { Decision } from '../contract/activities.ts';
import type { DelegatedEnd } from '../contract/delegation.ts';
import { isHash } from '../contract/ids.ts';
import {
  type Answer,
  type AnswerRecord,
  isBody,
  isName,
  LARGEST_ANSWER,
  LISTED_ANSWERS,
  LONGEST_NAME,
} from '../contract/people.ts';
import { present } from '../contract/present.ts';
import { type Approval, type Denial, LONGEST_REASON, type PendingApproval, UPDATES } from '../contract/session.ts';

/**
 * Is told of a decision about a call. What it returns is awaited before the person has their
 * answer.
 */
type DecisionListener = (approval: PendingApproval, decision: Decision) => Promise<void> | undefined;

/** A decision, or the answer to a question. */
export type PersonDecision = Decision | Extract<DelegatedEnd, { kind: 'answered' }>;

export class Approvals {
  private readonly waiting: Map<string, PendingApproval>;
  private readonly decisions = new Map<string, PersonDecision>();
  private lately: readonly AnswerRecord[];
  private changed: () => void = () => {};
  private decided: DecisionListener = () => undefined;

  /**
   * `carried`: what waited at a handover. `answered`: the questions that were answered before it.
   */
  constructor(carried: readonly PendingApproval[], answered: readonly AnswerRecord[] = []) {
    this.waiting = new Map(carried.map((approval) => [approval.call, approval]));
    this.lately = answered;
  }

  /**
   * Sets the update handlers. `changed` is called whenever what waits has changed, and at once if a
   * decision arrived during the handover.
   */
  listen(changed: () => void, decided: DecisionListener): void {
    this.changed = changed;
    this.decided = decided;
    setHandler(defineUpdate<void, [Approval]>(UPDATES.approve), (approval) => this.approve(approval), {
      description: UPDATE_DESCRIPTIONS.approve,
      validator: (approval) =>
        refuse(this.callProblem(approval) ?? this.approvalProblem(approval) ?? nameProblem(approval)),
    });
    setHandler(defineUpdate<void, [Denial]>(UPDATES.deny), (denial) => this.deny(denial), {
      description: UPDATE_DESCRIPTIONS.deny,
      validator: (denial) => refuse(this.callProblem(denial) ?? denialProblem(denial) ?? nameProblem(denial)),
    });
    setHandler(defineUpdate<void, [Answer]>(UPDATES.answer), (answer) => this.answer(answer), {
      description: UPDATE_DESCRIPTIONS.answer,
      validator: (answer) => refuse(this.callProblem(answer) ?? this.answerProblem(answer)),
    });
  }

  /**
   * All that waits, in the order of the calls. Decided calls are not in it, although their decision
   * is not taken yet.
   */
  get pending(): readonly PendingApproval[] {
    return [...this.waiting.values()].toSorted((one, other) => one.index - other.index);
  }

  /** The questions that were answered last, oldest first. */
  get answered(): readonly AnswerRecord[] {
    return this.lately;
  }

  get allTaken(): boolean {
    return this.decisions.size === 0;
  }

  /** Lists a call that waits. Returns false when it was listed before, or is decided already. */
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

  /** Returns the decision, or null without one. Either way the call no longer waits. */
  take(call: string): PersonDecision | null {
    const decision = this.decisions.get(call) ?? null;
    this.decisions.delete(call);
    if (this.waiting.delete(call)) this.changed();
    return decision;
  }

  /** Withdraws every open question: decisions that come after this are refused (L48). */
  withdraw(): void {
    if (this.waiting.size === 0 && this.allTaken) return;
    this.waiting.clear();
    this.decisions.clear();
    this.changed();
  }

  private approve({ call, inputHash, edited, by }: Approval): void | Promise<void> {
    return this.decideCall(call, { kind: 'allow', inputHash, ...present({ edited }), ...withName(by) });
  }

  private deny({ call, reason, interrupt, by }: Denial): void | Promise<void> {
    return this.decideCall(call, { kind: 'deny', reason, ...(interrupt === true && { interrupt }), ...withName(by) });
  }

  private decideCall(call: string, decision: Decision): void | Promise<void> {
    const approval = this.waiting.get(call);
    this.decide(call, decision);
    return approval && this.decided(approval, decision);
  }

  private answer({ call, body, by }: Answer): void {
    this.lately = [...this.lately, { call, by, at: Date.now() }].slice(-LISTED_ANSWERS);
    this.decide(call, { kind: 'answered', body, by });
  }

  private decide(call: string, decision: PersonDecision): void {
    this.decisions.set(call, decision);
    this.waiting.delete(call);
    this.changed();
  }

  private callProblem(value: Approval | Denial | Answer | undefined): string | undefined {
    const call: unknown = value?.call;
    if (typeof call !== 'string') return 'the decision names no call';
    const answered = this.lately.find((one) => one.call === call);
    if (answered) return `question ${call} is answered already, by ${answered.by}: yours did nothing`;
    if (this.decisions.has(call)) return `call ${call} is decided already`;
    if (this.waiting.has(call)) return undefined;
    const known = [...this.waiting.keys()].slice(0, 10).join(', ');
    return `no call ${call.slice(0, 100)} waits for a decision; ${known === '' ? 'none does' : `those that do: ${known}`}`;
  }

  private answerProblem({ call, body, by }: Answer): string | undefined {
    const question = this.waiting.get(call)?.question;
    if (!question) return `call ${call} is no question: it waits for a decision`;
    if (!isName(by)) return 'the answer does not say who gives it';
    if (!isBody(body) || body.media) return 'the answer is no text';
    const { options } = question;
    if (options && !(body.kind === 'text' && options.includes(body.text))) return notOffered(options);
    const bytes = body.kind === 'text' ? body.text.length : body.bytes;
    return bytes <= LARGEST_ANSWER ? undefined : `the answer has ${bytes} bytes: give at most ${LARGEST_ANSWER}`;
  }

  private approvalProblem({ call, inputHash, edited }: Approval): string | undefined {
    if (this.waiting.get(call)?.question) return `call ${call} is a question: answer it`;
    if (this.waiting.get(call)?.inputHash !== inputHash) {
      return `the approval of call ${call} is for another input than the one that waits: look at it again`;
    }
    return edited === undefined || isHash(edited) ? undefined : 'the edited input is not the hash of a stored value';
  }
}

function notOffered(options: readonly string[]): string {
  return `the answer is none of those offered: ${options.map((option) => JSON.stringify(option)).join(', ')}`;
}

function denialProblem({ reason }: Denial): string | undefined {
  if (typeof reason !== 'string' || reason.trim() === '') return 'a denial needs a reason';
  return reason.length <= LONGEST_REASON
    ? undefined
    : `the reason has ${reason.length} characters: give at most ${LONGEST_REASON}`;
}

const withName = (by: string | undefined): { readonly by?: string } => (by === undefined ? {} : { by });

function nameProblem({ by }: Pick<Approval, 'by'>): string | undefined {
  if (by === undefined || isName(by)) return undefined;
  return `the name of who decides is no text of 1 to ${LONGEST_NAME} characters`;
}

export function refuse(problem: string | undefined): void {
  if (problem !== undefined)
    throw ApplicationFailure.create({ type: 'DecisionRefused', message: problem, nonRetryable: true });
}

export const UPDATE_DESCRIPTIONS: Readonly<Record<keyof typeof UPDATES, string>> = {
  approve:
    'Allows a call that waits: {"call": "…", "inputHash": "…"}, both as the query `view` has them under `approvals`.',
  deny: 'Denies a call that waits: {"call": "…", "reason": "…"}. With "interrupt": true it ends the run.',
  answer: 'Answers a question: {"call": "…", "by": "ana", "body": {"kind": "text", "text": "…"}}.',
  giveResult:
    'Gives an outside call its result: {"call": "1.2.0", "result": {"body": {"kind": "text", "text": "…"}}}; "isError" says that it failed.',
  reportWorkers:
    'Notes for people that items of work in a row had workers without a heartbeat: {"work": "work_…", "items": 5}.',
  rewind:
    'Goes back to an earlier point, with the conversation, the files or both: {"from": "…", "to": "…", "files": […]}.',
  previewRewind: 'Says what a rewind of files would do, and does nothing: {"from": "…", "files": […]}.',
  repair: 'Goes on from an earlier head of a damaged transcript: {"from": "…", "to": "…", "lost": "…"}.',
  setOptions: 'Changes the options of the next run, such as {"maxTurns": 50}; null takes one back.',
  topUp:
    'Raises limits of the run under way: {"maxTurns": 80, "maxBudgetUsd": 5}. With "exact": true it also sets and lowers them.',
  changeRules:
    'Allows more calls of the run under way: {"allow": ["bash(npm test)"]}; "drop" takes such rules back, and "lasts": "session" keeps them.',
  move: 'Moves the session with its folders to another host: {} or {"to": {"id": "…", "name": "…"}}.',
  aside: 'Asks the model aside; nothing of it is stored: {"question": "…"}.',
};
