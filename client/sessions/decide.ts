// Decisions about calls that wait for one (L55), and answers to questions (L81).
import { type SessionId, questionParts } from '../../workflows/contract/ids.ts';
import {
  LISTED_APPROVALS,
  LONGEST_REASON,
  UPDATES,
  type Approval,
  type Denial,
  type OptionChanges,
  type PendingApproval,
  type Repair,
  type TopUp,
} from '../../workflows/contract/session.ts';
import { LARGEST_ANSWER, type Answer, type AskingAgent } from '../../workflows/contract/people.ts';
import type { Signed } from '../../workflows/contract/steered.ts';
import { type Store, hashOf, StoreError } from '../../store/values/store.ts';
import type { Abortable } from '../async.ts';
import { ClientProblem } from '../problem.ts';
import { oneLine } from '../paint.ts';
import { formatMoment } from '../units.ts';
import { closedProblem, nameProblem } from './send.ts';
import { storeTextBody } from '../../store/log/bodies.ts';
import type { SessionDescription } from './info.ts';
import { lastReply, type View } from '../../store/view/view.ts';

export type DecidePorts = {
  readonly store: Store;
  /** Whoever acts where a method names nobody: as the client was told, or as it names itself. */
  readonly name: string;
  readonly look: (session: SessionId) => Promise<SessionDescription>;
  /** Throws ClientProblem. */
  readonly update: (
    session: SessionId,
    name: string,
    arg: Approval | Denial | Answer | Repair | OptionChanges | TopUp,
    signed?: Signed,
  ) => Promise<void>;
};

/**
 * `by`: who it is, for the transcript and for whoever is second; absent: as the client was told, or
 * as it names itself. At most 200 characters.
 */
export type ActOptions = Abortable & { readonly by?: string };
/** `input`: runs with this instead of what the model wrote; it is validated again. */
export type ApproveOptions = ActOptions & { readonly input?: unknown };
/** `interrupt`: the run ends with the denial (L34). */
export type DenyOptions = ActOptions & { readonly interrupt?: boolean };

/** Bytes of JSON. */
const LARGEST_INPUT = 1024 * 1024;

/** The call that was decided about. */
export async function approve(
  { store, name, look, update }: DecidePorts,
  session: SessionId,
  call: string,
  options: ApproveOptions,
): Promise<PendingApproval> {
  const { by = name } = options;
  const problem = nameProblem(by);
  if (problem !== undefined) throw refused(problem);
  const bytes = 'input' in options && options.input !== undefined ? inputBytes(options.input) : null;
  const pending = pendingCall(await look(session), call);
  if (pending.question) throw refused(`call ${call} is a question: answer it with \`perdure answer\``);
  const edited = bytes && (await store.put(bytes));
  const { inputHash } = pending;
  const there = placeOf(session, pending);
  await update(there.session, UPDATES.approve, { call: there.call, inputHash, ...(edited ? { edited } : {}), by });
  return pending;
}

export async function deny(
  { name, look, update }: DecidePorts,
  session: SessionId,
  call: string,
  reason: string,
  { interrupt = false, by = name }: DenyOptions,
): Promise<PendingApproval> {
  const problem = reasonProblem(reason) ?? nameProblem(by);
  if (problem !== undefined) throw new ClientProblem('refused', problem);
  const pending = pendingCall(await look(session), call);
  const there = placeOf(session, pending);
  await update(there.session, UPDATES.deny, { call: there.call, reason, ...(interrupt ? { interrupt } : {}), by });
  return pending;
}

/**
 * The question that was answered. Of two answers the first counts; who is second is told who was
 * first.
 */
export async function answer(
  { store, name, look, update }: DecidePorts,
  session: SessionId,
  call: string,
  text: string,
  { by = name }: ActOptions,
): Promise<PendingApproval> {
  const problem = answerProblem(text) ?? nameProblem(by);
  if (problem !== undefined) throw refused(problem);
  const pending = pendingCall(await look(session), call);
  if (!pending.question) throw refused(`call ${call} is no question: approve or deny it`);
  const there = placeOf(session, pending);
  await update(there.session, UPDATES.answer, { call: there.call, body: await storeTextBody(store, text), by });
  return pending;
}

/** What waits in the session of an agent is decided there, whoever lists it (L70). */
function placeOf(session: SessionId, { call, agent }: PendingApproval): Pick<AskingAgent, 'session' | 'call'> {
  return agent ?? { session, call };
}

const refused = (sentence: string): ClientProblem => new ClientProblem('refused', sentence);

/** A sentence that says what is wrong with it, or undefined. */
export function answerProblem(text: string): string | undefined {
  if (text.trim() === '') return 'the answer is empty';
  const bytes = Buffer.byteLength(text);
  return bytes <= LARGEST_ANSWER ? undefined : `the answer has ${bytes} bytes: give at most ${LARGEST_ANSWER}`;
}

/** A sentence that says what is wrong with it, or undefined. */
export function reasonProblem(reason: string): string | undefined {
  if (reason.trim() === '') return 'the reason is empty: the model is told why, so say it';
  if (reason.length <= LONGEST_REASON) return undefined;
  return `the reason has ${reason.length} characters: give at most ${LONGEST_REASON}`;
}

function pendingCall(seen: SessionDescription, call: string): PendingApproval {
  if (seen.status !== 'open') throw closedProblem(seen);
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

// A call that waits for a decision, with the input that is to be decided about (L55). Read from the
// memo and the store alone.

export type WaitingApproval = PendingApproval & {
  readonly session: SessionId;
  /** The model's own id of the call; absent where it cannot be read. */
  readonly toolUseId?: string;
  /** The input that the tool would be called with. */
  readonly input: unknown;
  /** Why `input` is not known for certain. */
  readonly problem?: string;
};

/**
 * Events for a follower: a call waits for a decision, or a question for an answer, or no longer
 * does.
 */
export type ApprovalEvent =
  | ({ readonly type: 'approval' | 'question' } & WaitingApproval)
  | { readonly type: 'approval_settled'; readonly session: SessionId; readonly call: string };

export function isApprovalEvent<Event extends { readonly type: string }>(event: Event): event is Event & ApprovalEvent {
  return event.type === 'approval' || event.type === 'question' || event.type === 'approval_settled';
}

/**
 * `view`: the session at the approval's head. What cannot be read is told in `problem`. Throws
 * StoreError `unavailable`.
 */
export async function waitingApproval(
  store: Store,
  view: () => Promise<View>,
  session: SessionId,
  pending: PendingApproval,
): Promise<WaitingApproval> {
  try {
    return { ...pending, session, ...(await inputOf(store, await view(), pending)) };
  } catch (error) {
    if (!(error instanceof StoreError) || error.problem === 'unavailable') throw error;
    return { ...pending, session, input: null, problem: `its input cannot be read: ${error.message}` };
  }
}

async function inputOf(
  store: Store,
  view: View,
  { index, inputHash: question }: PendingApproval,
): Promise<Pick<WaitingApproval, 'input' | 'problem' | 'toolUseId'>> {
  const block = lastReply(view)?.reply.message.content[index];
  if (block?.type !== 'tool_use') return { input: null, problem: 'its call is not in the transcript' };
  const { inputHash } = questionParts(question);
  const { id: toolUseId } = block;
  if (inputHashOf(block.input) === inputHash) return { toolUseId, input: block.input };
  // A hook or a person may have put another in its place; that one is stored under its own hash.
  if (inputHash !== null && (await store.has(inputHash))) {
    return { toolUseId, input: JSON.parse(new TextDecoder().decode(await store.get(inputHash))) as unknown };
  }
  return { toolUseId, input: block.input, problem: 'this input was changed, and the one that would run is not stored' };
}

export function inputHashOf(input: unknown): string {
  return hashOf(Buffer.from(JSON.stringify(input)));
}
