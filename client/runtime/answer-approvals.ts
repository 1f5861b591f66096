// Passes waiting calls and questions of the model to functions of the program, for query() (L55,
// L81). If someone decides or answers elsewhere first, the function's answer no longer counts.
import { inspect } from 'node:util';
import { didYouMean, nearName } from '../../workflows/contract/did-you-mean.ts';
import {
  answerProblem,
  type ApprovalEvent,
  reasonProblem,
  type WaitingApproval,
} from '../sessions/waiting-approval.ts';
import type { PerdureClient } from '../perdure-client.ts';
import { awaitArrival } from '../async.ts';
import { ClientProblem } from '../problem.ts';
import { oneLine } from '../paint.ts';

/**
 * `input` replaces the input that the model wrote. `interrupt` ends the run with the denial (L34).
 */
export type ApprovalAnswer =
  | { readonly kind: 'allow'; readonly input?: unknown }
  | { readonly kind: 'deny'; readonly reason: string; readonly interrupt?: boolean };

/** Decides about a call. `signal` aborts when the answer is no longer needed. */
export type OnApproval = (
  approval: WaitingApproval,
  options: { readonly signal: AbortSignal },
) => ApprovalAnswer | Promise<ApprovalAnswer>;

/** An answer to a question: one of its options, where it has some. */
export type QuestionAnswer =
  { readonly kind: 'answer'; readonly text: string } | { readonly kind: 'deny'; readonly reason: string };

/**
 * Answers a question; `question.input` has its text and its options. `signal` aborts when the
 * answer is no longer needed.
 */
export type OnQuestion = (
  question: WaitingApproval,
  options: { readonly signal: AbortSignal },
) => QuestionAnswer | Promise<QuestionAnswer>;

/** Functions of a program that answer. Without one, calls or questions are left to others. */
type Answerers = { readonly onApproval?: OnApproval | undefined; readonly onQuestion?: OnQuestion | undefined };

type AnswerApprovals = {
  hear(event: ApprovalEvent): void;
  /**
   * Aborts with the error that a function threw, or with the reason why its answer is not
   * acceptable or could not be given.
   */
  readonly failed: AbortSignal;
  /**
   * Ignores answers still to come and gives those under way time to arrive. Returns a sentence for
   * each that may not have.
   */
  stop(): Promise<readonly string[]>;
};

type Sessions = Pick<PerdureClient, 'approvals' | 'approve' | 'deny' | 'answer'>;

type Answering = {
  readonly sessions: Sessions;
  readonly answerers: Answerers;
  /**
   * Answers on their way to the session, each with its call; resolved with whether the session took
   * it.
   */
  readonly giving: Map<Promise<boolean>, string>;
  /** The same, by the call's first name, for approvals with an input from the function. */
  readonly edits: Map<string, Promise<boolean>>;
};

export function answerApprovals(sessions: Sessions, answerers: Answerers): AnswerApprovals {
  const open = new Map<string, AbortController>();
  const failure = new AbortController();
  const answering: Answering = { sessions, answerers, giving: new Map(), edits: new Map() };
  return {
    failed: failure.signal,
    hear: (event) => {
      open.get(event.call)?.abort();
      open.delete(event.call);
      if (event.type === 'approval_settled') return;
      const { type: _, ...approval } = event;
      const settled = new AbortController();
      open.set(event.call, settled);
      const answered = event.type === 'question' ? answerQuestion : decide;
      answered(answering, approval, settled.signal).catch((error: unknown) => {
        if (!settled.signal.aborted) failure.abort(error);
      });
    },
    stop: async () => {
      for (const settled of open.values()) settled.abort();
      open.clear();
      const giving = [...answering.giving].map(([delivery, call]) =>
        awaitArrival(`the decision about call ${call}`, delivery),
      );
      return (await Promise.all(giving)).filter((problem) => problem !== null);
    },
  };
}

async function answerQuestion(answering: Answering, question: WaitingApproval, signal: AbortSignal): Promise<void> {
  const { sessions, answerers, giving } = answering;
  const { session, call } = question;
  const answer = await answerers.onQuestion?.(question, { signal });
  if (answer === undefined || signal.aborted) return;
  const problem = questionAnswerProblem(answer);
  if (problem !== undefined) throw new ClientProblem('refused', `what onQuestion said of question ${call} ${problem}`);
  const send = () =>
    answer.kind === 'answer'
      ? sessions.answer(session, call, answer.text)
      : sessions.deny(session, call, answer.reason);
  await untilGiven(giving, call, isFirst(sessions, question, send));
}

async function untilGiven(giving: Answering['giving'], call: string, delivery: Promise<boolean>): Promise<void> {
  giving.set(delivery, call);
  try {
    await delivery;
  } finally {
    giving.delete(delivery);
  }
}

async function decide(answering: Answering, approval: WaitingApproval, signal: AbortSignal): Promise<void> {
  const { sessions, answerers, giving, edits } = answering;
  const { onApproval } = answerers;
  const { call, tool, reason } = approval;
  if (!onApproval) return;
  const [first = call] = call.split('+');
  // Call 1.2.0+2 asks because the input given to 1.2.0 was not acceptable: the function would give
  // it again, until the deadline.
  const before = call === first ? undefined : edits.get(first);
  if (before && (await before.catch(() => false)))
    throw new ClientProblem(
      'refused',
      `the input that onApproval gave call ${first} (${oneLine(tool, 60)}) was not taken: ${reason}`,
    );
  if (signal.aborted) return;
  const answer = await onApproval(approval, { signal });
  if (signal.aborted) return;
  const problem = decisionProblem(answer);
  if (problem !== undefined)
    throw new ClientProblem('refused', `what onApproval said of call ${call} (${oneLine(tool, 60)}) ${problem}`);
  const delivery = sendDecision(sessions, approval, answer);
  if (answer.kind === 'allow' && answer.input !== undefined) edits.set(first, delivery);
  await untilGiven(giving, call, delivery);
}

/**
 * Returns a sentence that says what is wrong with an answer, or undefined. A program in JavaScript
 * may return anything.
 */
function decisionProblem(answer: unknown): string | undefined {
  const { kind } = partsOf(answer);
  // A misspelled `input` would let the model's own input run.
  const misspelled = misspellingProblem(answer, ['kind', 'input', 'reason', 'interrupt']);
  if (misspelled !== undefined || kind === 'allow') return misspelled;
  return denialProblem(answer, "{ kind: 'allow' }");
}

function questionAnswerProblem(answer: unknown): string | undefined {
  const { kind, text } = partsOf(answer);
  if (kind === 'answer' && typeof text === 'string') return describeUnacceptable(answerProblem(text));
  return (
    misspellingProblem(answer, ['kind', 'text', 'reason']) ?? denialProblem(answer, "{ kind: 'answer', text: 'blue' }")
  );
}

/** `otherwise` shows how to write the other possible answer. */
function denialProblem(answer: unknown, otherwise: string): string | undefined {
  const { kind, reason } = partsOf(answer);
  if (kind !== 'deny' || typeof reason !== 'string')
    return `is ${oneLine(inspect(answer, { depth: 1 }), 100)}: return ${otherwise} or { kind: 'deny', reason: 'why' }`;
  return describeUnacceptable(reasonProblem(reason));
}

function partsOf(answer: unknown): Readonly<Record<string, unknown>> {
  return (typeof answer === 'object' && answer !== null ? answer : {}) as Readonly<Record<string, unknown>>;
}

function misspellingProblem(answer: unknown, parts: readonly string[]): string | undefined {
  const wrong = Object.keys(partsOf(answer)).find((key) => !parts.includes(key) && nearName(key, parts));
  return wrong === undefined ? undefined : `has ${JSON.stringify(wrong)}: ${didYouMean(wrong, parts)}`;
}

function describeUnacceptable(problem: string | undefined): string | undefined {
  return problem && `will not do: ${problem}`;
}

function sendDecision(sessions: Sessions, approval: WaitingApproval, answer: ApprovalAnswer): Promise<boolean> {
  const { session, call } = approval;
  return isFirst(sessions, approval, () =>
    answer.kind === 'allow'
      ? sessions.approve(session, call, answer.input === undefined ? {} : { input: answer.input })
      : sessions.deny(session, call, answer.reason, { interrupt: answer.interrupt ?? false }),
  );
}

/** Returns false when someone else was faster. */
async function isFirst(sessions: Sessions, approval: WaitingApproval, send: () => Promise<unknown>): Promise<boolean> {
  try {
    await send();
    return true;
  } catch (error) {
    if (error instanceof ClientProblem && !(await isStillWaiting(sessions, approval))) return false;
    throw error;
  }
}

async function isStillWaiting(sessions: Sessions, { session, call }: WaitingApproval): Promise<boolean> {
  return (await sessions.approvals(session)).some((waiting) => waiting.call === call);
}
