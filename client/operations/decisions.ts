// Decisions about a waiting call (L55), and the answer to a question of the model (L81).
import { z } from 'zod';
import { storeTextBody } from '../../store/log/bodies.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import type { RequestingAgent } from '../../workflows/contract/people.ts';
import { present } from '../../workflows/contract/present.ts';
import { LISTED_APPROVALS, type PendingApproval, UPDATES } from '../../workflows/contract/session.ts';
import { oneLine } from '../paint.ts';
import { ClientProblem } from '../problem.ts';
import type { ClientMeans } from '../sessions/client-means.ts';
import {
  type ActOptions,
  answerProblem,
  type ApproveOptions,
  type DenyOptions,
  reasonProblem,
} from '../sessions/waiting-approval.ts';
import type { SessionDescription } from '../sessions/info.ts';
import { nameProblem } from '../sessions/message.ts';
import { formatMoment } from '../units.ts';
import { defineOperation, text } from './operation.ts';

type Call = ActOptions & { readonly call: string };

export const approve = defineOperation<ApproveOptions & Call, PendingApproval>({
  name: 'approve',
  target: 'call',
  role: 'decide',
  summary: 'Lets the call run.',
  body: z.strictObject({
    input: z.unknown().describe('runs with this instead of what the model wrote').optional(),
  }),
  done: 'Allowed.',
  steeringIn: ({ input }) => (input === undefined ? undefined : 'to change what a call does'),
  run(means, session, { input, ...request }) {
    const bytes = input === undefined ? undefined : inputBytes(input);
    return decide(means, { session, ...request }, UPDATES.approve, async ({ question, inputHash }) => {
      if (question) throw toRefusal(`call ${request.call} is a question: answer it with \`perdure answer\``);
      return { inputHash, edited: bytes && (await means.options.store.put(bytes)) };
    });
  },
  isAppliedBy: (earlier, { call, input }) =>
    earlier.kind === 'approve' && earlier.call === call && earlier.edited === (input !== undefined),
});

export const deny = defineOperation<DenyOptions & Call & { readonly reason: string }, PendingApproval>({
  name: 'deny',
  target: 'call',
  role: 'decide',
  summary: 'Denies the call; the model reads why.',
  takes: ['reason'],
  body: z.strictObject({ reason: text, interrupt: z.boolean().optional() }),
  done: 'Denied.',
  problemOf: ({ reason }) => reasonProblem(reason),
  steeringIn: ({ interrupt }) => (interrupt ? 'to interrupt' : undefined),
  run: (means, session, { reason, interrupt, ...request }) =>
    decide(means, { session, ...request }, UPDATES.deny, () => ({ reason, interrupt: interrupt || undefined })),
  isAppliedBy: (earlier, { call, reason }) =>
    earlier.kind === 'deny' && earlier.call === call && earlier.reason === reason,
});

export const answer = defineOperation<Call & { readonly text: string }, PendingApproval>({
  name: 'answer',
  target: 'call',
  role: 'decide',
  summary: 'Answers a question of the model.',
  takes: ['text'],
  body: z.strictObject({ text }),
  done: 'Answered.',
  problemOf: (request) => answerProblem(request.text),
  run: (means, session, request) =>
    decide(means, { session, ...request }, UPDATES.answer, async ({ question }) => {
      if (!question) throw toRefusal(`call ${request.call} is no question: approve or deny it`);
      return { body: await storeTextBody(means.options.store, request.text) };
    }),
  isAppliedBy: (earlier, { call }) => earlier.kind === 'answer' && earlier.call === call,
});

/**
 * Decides about a waiting call, and returns what was decided about. A second decision is refused
 * with who was first.
 */
async function decide(
  means: ClientMeans,
  { session, call, by = means.name }: Call & { readonly session: SessionId },
  update: string,
  partsFor: (pending: PendingApproval) => object | Promise<object>,
): Promise<PendingApproval> {
  const problem = nameProblem(by);
  if (problem !== undefined) throw toRefusal(problem);
  const pending = await findPending(means, session, call);
  const parts = await partsFor(pending);
  const there = placeOf(session, pending);
  await means.update(there.session, update, present({ call: there.call, ...parts, by }));
  return pending;
}

/** The memo lists the oldest calls; whether a later one waits is asked of the session itself. */
async function findPending(means: ClientMeans, session: SessionId, call: string): Promise<PendingApproval> {
  const described = await means.lookAtOpen(session);
  const { approvals = [] } = described;
  const isUnlisted = approvals.length >= LISTED_APPROVALS && !approvals.some((pending) => pending.call === call);
  return pendingCall(isUnlisted ? { ...described, approvals: (await means.view(session)).approvals } : described, call);
}

const toRefusal = (sentence: string): ClientProblem => new ClientProblem('refused', sentence);

/** A call of an agent is decided in the agent's session, wherever it is listed (L70). */
function placeOf(session: SessionId, { call, agent }: PendingApproval): Pick<RequestingAgent, 'session' | 'call'> {
  return agent ?? { session, call };
}

function pendingCall(description: SessionDescription, call: string): PendingApproval {
  const waiting = description.approvals ?? [];
  const found = waiting.find((pending) => pending.call === call);
  if (found) return found;
  const first = description.answered?.find((one) => one.call === call);
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
    `no call ${oneLine(call, 100)} of session ${description.session} waits for a decision (${past}); ${rest}`,
  );
}

/** Bytes of JSON. */
const LARGEST_INPUT = 1024 * 1024;

function inputBytes(input: unknown): Uint8Array {
  const json = JSON.stringify(input) as string | undefined;
  if (json === undefined) throw toRefusal('the edited input cannot be written as JSON');
  const bytes = new TextEncoder().encode(json);
  if (bytes.length <= LARGEST_INPUT) return bytes;
  throw toRefusal(`the edited input has ${bytes.length} bytes of JSON: give at most ${LARGEST_INPUT}`);
}
