// Describes a call for the people who decide about it (L55), or who answer a question of the model
// in it (L81).
import type { Ask } from '../contract/activities.ts';
import type { DelegatedEnd, QuestionWork } from '../contract/delegation.ts';
import { type Elicitation, elicitationName } from '../contract/people.ts';
import type { Hash } from '../contract/ids.ts';
import type { PendingApproval } from '../contract/session.ts';
import type { PersonDecision } from './approvals.ts';

/** The place of a call. Times in milliseconds, `now` since the epoch. */
export type AskedPlace = {
  readonly run: number;
  readonly iteration: number;
  readonly head: Hash;
  readonly index: number;
  readonly tool: string;
  readonly now: number;
  /** How long a decision may take. */
  readonly approvalMs: number;
};

/** Names a call for people and for whoever gives its result. */
export const callName = ({ run, iteration, index }: Pick<AskedPlace, 'run' | 'iteration' | 'index'>): string =>
  `${run}.${iteration}.${index}`;

/** `before`: the question that was put before, when the edited input would not do. */
export function makeApproval(place: AskedPlace, ask: Ask, before: PendingApproval | null): PendingApproval {
  const { head, index, now, approvalMs } = place;
  const approval = { ...ask, head, index, askedAt: before?.askedAt ?? now };
  // The edited input would not do, so the same question is put again. It has another name: a late
  // answer to the first must not answer this one.
  if (before?.inputHash === ask.inputHash)
    return { ...approval, call: nextQuestion(before.call), deadline: before.deadline };
  return { ...approval, call: callName(place), deadline: now + approvalMs };
}

/** Returns the name of the next question about a call: 1.2.0, 1.2.0+2, 1.2.0+3. */
function nextQuestion(call: string): string {
  const [name = call, times = '1'] = call.split('+');
  return `${name}+${Number(times) + 1}`;
}

/** `before`: the approval in which a person allowed the question. */
export function makeQuestion(
  place: AskedPlace,
  { until, seconds, options, inputHash = '' }: QuestionWork,
  before: PendingApproval | null,
): PendingApproval {
  const { tool, head, index, now, approvalMs } = place;
  return {
    call: before ? nextQuestion(before.call) : callName(place),
    tool,
    reason: 'it asks a question',
    inputHash,
    head,
    index,
    askedAt: now,
    deadline: until ?? now + (seconds === undefined ? approvalMs : seconds * 1_000),
    question: options === undefined ? {} : { options },
  };
}

/** `count`: how many questions the running call has asked, this one included (L77). */
export function makeElicitation(place: AskedPlace, elicitation: Elicitation, count: number): PendingApproval {
  const { tool, head, index, now, approvalMs } = place;
  const { reason = '', inputHash = '', options } = elicitation;
  return {
    call: elicitationName(callName(place), count),
    tool,
    reason,
    inputHash,
    head,
    index,
    askedAt: now,
    deadline: now + approvalMs,
    question: options === undefined ? {} : { options },
  };
}

/** Returns null when a person denied the question, which denies the call. */
export function endOfQuestion(decision: PersonDecision): DelegatedEnd | null {
  if (decision.kind === 'answered') return decision;
  return decision.kind === 'deny' && decision.expired ? { kind: 'waited', by: 'time' } : null;
}
