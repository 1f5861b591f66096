// Sends decisions about waiting calls (L55), and answers to questions (L81).
import type { SessionId } from '../../workflows/contract/ids.ts';
import {
  LISTED_APPROVALS,
  LONGEST_REASON,
  UPDATES,
  type Approval,
  type Denial,
  type OptionChanges,
  type PendingApproval,
  type Repair,
  type RuleChanges,
  type TopUp,
} from '../../workflows/contract/session.ts';
import { LARGEST_ANSWER, type Answer, type RequestingAgent } from '../../workflows/contract/people.ts';
import type { Signature } from '../../workflows/contract/steered.ts';
import type { Store } from '../../store/values/store.ts';
import type { Abortable } from '../async.ts';
import { ClientProblem } from '../problem.ts';
import { oneLine } from '../paint.ts';
import { formatMoment } from '../units.ts';
import { sessionClosedProblem } from './send.ts';
import { nameProblem } from './message.ts';
import { storeTextBody } from '../../store/log/bodies.ts';
import type { SessionDescription } from './info.ts';
import { present } from '../../workflows/contract/present.ts';

export type DecidePorts = {
  readonly store: Store;
  /** Name of the person who acts unless a method names one: the client's, or its identity. */
  readonly name: string;
  readonly look: (session: SessionId) => Promise<SessionDescription>;
  /** Throws ClientProblem. */
  readonly update: (
    session: SessionId,
    name: string,
    arg: Approval | Denial | Answer | Repair | OptionChanges | TopUp | RuleChanges,
    signed?: Signature,
  ) => Promise<void>;
};

/**
 * `by` names the person who acts, for the transcript and for someone who decides second; at most
 * 200 characters. Absent: the client's name, or its identity.
 */
export type ActOptions = Abortable & { readonly by?: string };
/** `input` replaces what the model wrote and is validated again. */
export type ApproveOptions = ActOptions & { readonly input?: unknown };
/** `interrupt` ends the run with the denial (L34). */
export type DenyOptions = ActOptions & { readonly interrupt?: boolean };

/** Bytes of JSON. */
const LARGEST_INPUT = 1024 * 1024;

/** Returns the approved call. */
export async function approveCall(
  { store, name, look, update }: DecidePorts,
  session: SessionId,
  call: string,
  options: ApproveOptions,
): Promise<PendingApproval> {
  const { by = name } = options;
  const problem = nameProblem(by);
  if (problem !== undefined) throw refusalOf(problem);
  const bytes = 'input' in options && options.input !== undefined ? inputBytes(options.input) : null;
  const pending = pendingCall(await look(session), call);
  if (pending.question) throw refusalOf(`call ${call} is a question: answer it with \`perdure answer\``);
  const edited = bytes && (await store.put(bytes));
  const { inputHash } = pending;
  const there = placeOf(session, pending);
  await update(
    there.session,
    UPDATES.approve,
    present({ call: there.call, inputHash, edited: edited ?? undefined, by }),
  );
  return pending;
}

export async function sendDenial(
  { name, look, update }: DecidePorts,
  session: SessionId,
  { call, reason, interrupt = false, by = name }: DenyOptions & { readonly call: string; readonly reason: string },
): Promise<PendingApproval> {
  const problem = reasonProblem(reason) ?? nameProblem(by);
  if (problem !== undefined) throw new ClientProblem('refused', problem);
  const pending = pendingCall(await look(session), call);
  const there = placeOf(session, pending);
  await update(
    there.session,
    UPDATES.deny,
    present({ call: there.call, reason, interrupt: interrupt || undefined, by }),
  );
  return pending;
}

/**
 * Returns the answered question. The first of two answers counts, and the second person is told who
 * was first.
 */
export async function answerQuestion(
  { store, name, look, update }: DecidePorts,
  session: SessionId,
  { call, text, by = name }: ActOptions & { readonly call: string; readonly text: string },
): Promise<PendingApproval> {
  const problem = answerProblem(text) ?? nameProblem(by);
  if (problem !== undefined) throw refusalOf(problem);
  const pending = pendingCall(await look(session), call);
  if (!pending.question) throw refusalOf(`call ${call} is no question: approve or deny it`);
  const there = placeOf(session, pending);
  await update(there.session, UPDATES.answer, { call: there.call, body: await storeTextBody(store, text), by });
  return pending;
}

/** A call of an agent is decided in the agent's session, wherever it is listed (L70). */
function placeOf(session: SessionId, { call, agent }: PendingApproval): Pick<RequestingAgent, 'session' | 'call'> {
  return agent ?? { session, call };
}

const refusalOf = (sentence: string): ClientProblem => new ClientProblem('refused', sentence);

/** Returns a sentence that says what is wrong with the answer, or undefined. */
export function answerProblem(text: string): string | undefined {
  if (text.trim() === '') return 'the answer is empty';
  const bytes = Buffer.byteLength(text);
  return bytes <= LARGEST_ANSWER ? undefined : `the answer has ${bytes} bytes: give at most ${LARGEST_ANSWER}`;
}

/** Returns a sentence that says what is wrong with the reason, or undefined. */
export function reasonProblem(reason: string): string | undefined {
  if (reason.trim() === '') return 'the reason is empty: the model is told why, so say it';
  if (reason.length <= LONGEST_REASON) return undefined;
  return `the reason has ${reason.length} characters: give at most ${LONGEST_REASON}`;
}

function pendingCall(seen: SessionDescription, call: string): PendingApproval {
  if (seen.status !== 'open') throw sessionClosedProblem(seen);
  const waiting = seen.approvals ?? [];
  const found = waiting.find((pending) => pending.call === call);
  if (found) return found;
  const first = seen.answered?.find((one) => one.call === call);
  if (first)
    throw new ClientProblem(
      'no_call',
      `question ${oneLine(call, 100)} was answered by ${oneLine(first.by, 100)}, ${formatMoment(first.at)}: yours did nothing`,
    );
  const those = waiting.map((pending) => `${pending.call} (${pending.tool})`).join(', ');
  const more = waiting.length < LISTED_APPROVALS ? '' : ', and later ones when these are decided';
  const rest = waiting.length === 0 ? 'none of its calls does' : `those that do: ${those}${more}`;
  const past = 'it was decided already, or never asked about';
  throw new ClientProblem(
    'no_call',
    `no call ${oneLine(call, 100)} of session ${seen.session} waits for a decision (${past}); ${rest}`,
  );
}

function inputBytes(input: unknown): Uint8Array {
  const json = JSON.stringify(input) as string | undefined;
  if (json === undefined) throw new ClientProblem('refused', 'the edited input cannot be written as JSON');
  const bytes = new TextEncoder().encode(json);
  if (bytes.length <= LARGEST_INPUT) return bytes;
  throw new ClientProblem(
    'refused',
    `the edited input has ${bytes.length} bytes of JSON: give at most ${LARGEST_INPUT}`,
  );
}
