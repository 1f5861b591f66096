// Puts calls that wait for a decision to a function of the program, for query() (L55). Who decides elsewhere is heeded: what the
// function then says no longer counts.
import { inspect } from 'node:util';
import { didYouMean, nearName } from '../workflows/contract/options-problem.ts';
import { type ApprovalEvent, type WaitingApproval, reasonProblem } from './sessions/decide.ts';
import type { PerdureClient } from './perdure-client.ts';
import { awaitArrival } from './async.ts';
import { ClientProblem } from './problem.ts';
import { oneLine } from './paint.ts';

/** `input`: runs with this instead of what the model wrote. `interrupt`: the run ends with the denial (L34). */
export type ApprovalAnswer =
  | { readonly kind: 'allow'; readonly input?: unknown }
  | { readonly kind: 'deny'; readonly reason: string; readonly interrupt?: boolean };

/** `signal`: aborted when nobody waits for the answer any more. */
export type OnApproval = (
  approval: WaitingApproval,
  asked: { readonly signal: AbortSignal },
) => ApprovalAnswer | Promise<ApprovalAnswer>;

export type AnswerApprovals = {
  hear(event: ApprovalEvent): void;
  /** Aborted with what the function threw, or why its answer will not do or could not be given. */
  readonly failed: AbortSignal;
  /** Answers that are still to come are passed over. Those that came have a while to arrive; a sentence for each that may not have. */
  stop(): Promise<readonly string[]>;
};

type Sessions = Pick<PerdureClient, 'approvals' | 'approve' | 'deny'>;

type Answering = {
  readonly sessions: Sessions;
  readonly onApproval: OnApproval;
  /** Answers on their way to the session, each with its call: whether it was taken. */
  readonly giving: Map<Promise<boolean>, string>;
  /** By the call's first name: the same of one with an input of the function. */
  readonly edits: Map<string, Promise<boolean>>;
};

export function answerApprovals(sessions: Sessions, onApproval: OnApproval): AnswerApprovals {
  const open = new Map<string, AbortController>();
  const failure = new AbortController();
  const answering: Answering = { sessions, onApproval, giving: new Map(), edits: new Map() };
  return {
    failed: failure.signal,
    hear: (event) => {
      open.get(event.call)?.abort();
      open.delete(event.call);
      if (event.type === 'approval_settled') return;
      const { type: _, ...approval } = event;
      const gone = new AbortController();
      open.set(event.call, gone);
      answer(answering, approval, gone.signal).catch((error: unknown) => {
        if (!gone.signal.aborted) failure.abort(error);
      });
    },
    stop: async () => {
      for (const gone of open.values()) gone.abort();
      open.clear();
      const giving = [...answering.giving].map(([given, call]) =>
        awaitArrival(`the decision about call ${call}`, given),
      );
      return (await Promise.all(giving)).filter((problem) => problem !== null);
    },
  };
}

async function answer(answering: Answering, approval: WaitingApproval, signal: AbortSignal): Promise<void> {
  const { sessions, onApproval, giving, edits } = answering;
  const { call, tool, reason } = approval;
  const [first = call] = call.split('+');
  // 1.2.0+2 is asked when the input given to 1.2.0 would not do: the function would give it again, until the deadline.
  const before = call === first ? undefined : edits.get(first);
  if (before && (await before.catch(() => false)))
    throw new ClientProblem(
      'refused',
      `the input that onApproval gave call ${first} (${oneLine(tool, 60)}) was not taken: ${reason}`,
    );
  if (signal.aborted) return;
  const said = await onApproval(approval, { signal });
  if (signal.aborted) return;
  const problem = answerProblem(said);
  if (problem !== undefined)
    throw new ClientProblem('refused', `what onApproval said of call ${call} (${oneLine(tool, 60)}) ${problem}`);
  const given = give(sessions, approval, said);
  giving.set(given, call);
  if (said.kind === 'allow' && said.input !== undefined) edits.set(first, given);
  try {
    await given;
  } finally {
    giving.delete(given);
  }
}

const PARTS: readonly string[] = ['kind', 'input', 'reason', 'interrupt'];

/** A sentence that says what is wrong with it, or undefined: a program in JavaScript may say anything. */
function answerProblem(said: unknown): string | undefined {
  const { kind, reason } = (typeof said === 'object' && said !== null ? said : {}) as Readonly<Record<string, unknown>>;
  // An input that was misspelled would let the model's own run.
  const wrong = Object.keys(Object(said) as object).find((key) => !PARTS.includes(key) && nearName(key, PARTS));
  if (wrong !== undefined) return `has ${JSON.stringify(wrong)}: ${didYouMean(wrong, PARTS)}`;
  if (kind === 'allow') return undefined;
  if (kind !== 'deny' || typeof reason !== 'string')
    return `is ${oneLine(inspect(said, { depth: 1 }), 100)}: return { kind: 'allow' } or { kind: 'deny', reason: 'why' }`;
  const problem = reasonProblem(reason);
  return problem && `will not do: ${problem}`;
}

/** False: someone else was faster. */
async function give(sessions: Sessions, approval: WaitingApproval, said: ApprovalAnswer): Promise<boolean> {
  const { session, call } = approval;
  try {
    if (said.kind === 'allow')
      await sessions.approve(session, call, said.input === undefined ? {} : { input: said.input });
    else await sessions.deny(session, call, said.reason, { interrupt: said.interrupt ?? false });
    return true;
  } catch (error) {
    if (error instanceof ClientProblem && !(await waits(sessions, approval))) return false;
    throw error;
  }
}

async function waits(sessions: Sessions, { session, call }: WaitingApproval): Promise<boolean> {
  return (await sessions.approvals(session)).some((waiting) => waiting.call === call);
}
