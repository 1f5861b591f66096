// A call as people are asked about it: for a decision (L55), or with a question of the model's own
// (L81).
import type { Ask } from '../contract/activities.ts';
import type { DelegatedEnd, Question } from '../contract/delegation.ts';
import { type Elicitation, elicitedName } from '../contract/people.ts';
import type { Hash } from '../contract/ids.ts';
import type { PendingApproval } from '../contract/session.ts';
import type { Decided } from './approvals.ts';

/** Where the call stands. Times in milliseconds, `now` since the epoch. */
export type AskedPlace = {
  readonly run: number;
  readonly iteration: number;
  readonly head: Hash;
  readonly index: number;
  readonly tool: string;
  readonly now: number;
  /** How long a decision is waited for. */
  readonly approvalMs: number;
};

const nameOf = ({ run, iteration, index }: AskedPlace): string => `${run}.${iteration}.${index}`;

/** `before`: it was asked about already, and the input that was given instead would not do. */
export function approvalOf(place: AskedPlace, ask: Ask, before: PendingApproval | null): PendingApproval {
  const { head, index, now, approvalMs } = place;
  const asked = { ...ask, head, index, askedAt: before?.askedAt ?? now };
  // The same question again, for the edited input would not do: a late answer to the first is none
  // to this one.
  if (before?.inputHash === ask.inputHash)
    return { ...asked, call: nextQuestion(before.call), deadline: before.deadline };
  return { ...asked, call: nameOf(place), deadline: now + approvalMs };
}

/** The name under which a call is asked about once more: 1.2.0, 1.2.0+2, 1.2.0+3. */
function nextQuestion(call: string): string {
  const [name = call, times = '1'] = call.split('+');
  return `${name}+${Number(times) + 1}`;
}

/** `before`: someone allowed that the question is put. */
export function questionOf(
  place: AskedPlace,
  { until, seconds, options, inputHash = '' }: Question,
  before: PendingApproval | null,
): PendingApproval {
  const { tool, head, index, now, approvalMs } = place;
  return {
    call: before ? nextQuestion(before.call) : nameOf(place),
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

/** `count`: how many the call has asked with this, while it runs (L77). */
export function elicitedOf(place: AskedPlace, asked: Elicitation, count: number): PendingApproval {
  const { tool, head, index, now, approvalMs } = place;
  const { reason = '', inputHash = '', options } = asked;
  return {
    call: elicitedName(nameOf(place), count),
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

/** Null for a person's denial, which is one of the call. */
export function endOfQuestion(decision: Decided): DelegatedEnd | null {
  if (decision.kind === 'answered') return decision;
  return decision.kind === 'deny' && decision.expired ? { kind: 'waited', by: 'time' } : null;
}
