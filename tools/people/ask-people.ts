// Asks people from within a call that runs (L77): the question is stored, the workflow puts it
// among the approvals, and the call looks for the answer until it comes, or the question is
// withdrawn. Also asks the Temporal server about sessions and schedules other than its own.
import { randomUUID } from 'node:crypto';
import { type WorkflowHandle, type Client, ScheduleNotFoundError, WorkflowNotFoundError } from '@temporalio/client';
import { ELICIT_SIGNAL, type Elicitation, type ElicitationEnd } from '../../workflows/contract/people.ts';
import type { CallKey, SessionId } from '../../workflows/contract/ids.ts';
import { QUERIES } from '../../workflows/contract/session.ts';
import { pause } from '../../system/async.ts';
import { clip, onOneLine } from '../../system/text.ts';
import type { Store } from '../../store/values/store.ts';

/** The workflow of an attempt, as it is told and asked. */
export type People = {
  tell(request: Elicitation): Promise<void>;
  endOf(id: string): Promise<ElicitationEnd>;
};

/**
 * `why` is one line for lists, without the question. `options`: only these are answers; blanks
 * around one do not count.
 */
export type PeopleQuestion = { readonly why: string; readonly question: string; readonly options?: readonly string[] };

/** `unanswered`: no answer came in time, or the question was withdrawn. */
export type PeopleAnswer =
  { readonly kind: 'answered'; readonly text: string } | { readonly kind: 'declined' | 'unanswered' };

/** Asks people. `signal` withdraws the question. */
export type AskPeople = (question: PeopleQuestion, signal: AbortSignal) => Promise<PeopleAnswer>;

/** Milliseconds between two looks for an answer: the first, and the longest. */
const LOOK_MS = 250;
const LAST_LOOK_MS = 2_000;

const LONGEST_WHY = 200;
/** Questions of one call: an answer that will not do is asked for again, and counts. */
const MOST_QUESTIONS = 50;

/** Reaches people through the workflow that `handle` returns when it is needed. */
export function createPeople(handle: () => Pick<WorkflowHandle, 'signal' | 'query'>): People {
  return {
    tell: (request) => handle().signal(ELICIT_SIGNAL, request),
    endOf: (id) => handle().query<ElicitationEnd, [string]>(QUERIES.elicited, id),
  };
}

/**
 * Makes the function that asks one question of a call at a time, and no more than a history bears,
 * because each is written there. Throws StoreError, and the errors of the workflow's server.
 */
export function createAskPeople(people: People, store: Store, key: CallKey): AskPeople {
  let left = MOST_QUESTIONS;
  let before: Promise<unknown> = Promise.resolve();
  return async (question, signal) => {
    if (left === 0) return { kind: 'unanswered' };
    left -= 1;
    const answer = before.then(() => askOne({ people, store, key }, question, signal));
    before = answer.catch(() => undefined);
    return await answer;
  };
}

type AskMeans = { readonly people: People; readonly store: Store; readonly key: CallKey };

async function askOne(
  { people, store, key }: AskMeans,
  { why, question, options: labels }: PeopleQuestion,
  signal: AbortSignal,
): Promise<PeopleAnswer> {
  if (signal.aborted) return { kind: 'unanswered' };
  const options = labels?.map((option) => option.trim());
  const input = { question, ...(options && { options }) };
  const inputHash = await store.put(Buffer.from(JSON.stringify(input)));
  const id = randomUUID();
  const reason = clip(onOneLine(why), LONGEST_WHY);
  await people.tell({ key, id, inputHash, reason, ...(options && { options }) });
  for (let ms = LOOK_MS; await pause(ms, signal); ms = Math.min(LAST_LOOK_MS, ms + LOOK_MS)) {
    // A server that does not answer is asked again.
    const end = await people.endOf(id).catch((): ElicitationEnd => ({ kind: 'waiting' }));
    if (end.kind === 'waiting') continue;
    return end.kind === 'answered'
      ? { kind: 'answered', text: await readAnswerText(store, end.body) }
      : { kind: end.kind };
  }
  await people.tell({ key, id });
  return { kind: 'unanswered' };
}

/** Withdraws the questions of earlier attempts, which nothing waits for. */
export async function withdrawQuestions(people: People, key: CallKey): Promise<void> {
  await people.tell({ key, id: randomUUID() });
}

async function readAnswerText(
  store: Store,
  body: Extract<ElicitationEnd, { kind: 'answered' }>['body'],
): Promise<string> {
  return body.kind === 'text' ? body.text : Buffer.from(await store.get(body.hash)).toString();
}

/**
 * A schedule as the server tells of it. `started` has the newest firings, oldest first. `startedAt`
 * is in milliseconds since the epoch.
 */
export type FiringsSeen = {
  readonly paused: boolean;
  readonly started: readonly { readonly workflow: string; readonly run: string; readonly startedAt: number }[];
};

/** Tells whether a session is over; a server that does not answer counts as no. */
export async function isSessionOver(client: Client, session: SessionId): Promise<boolean> {
  try {
    return (await client.workflow.getHandle(session).describe()).status.name !== 'RUNNING';
  } catch (error) {
    return error instanceof WorkflowNotFoundError;
  }
}

export async function readFirings(client: Client, schedule: string): Promise<FiringsSeen | null> {
  try {
    const { state, info } = await client.schedule.getHandle(schedule).describe();
    const started = info.recentActions.map(({ action: { workflow }, takenAt }) => ({
      workflow: workflow.workflowId,
      run: workflow.firstExecutionRunId,
      startedAt: takenAt.getTime(),
    }));
    return { paused: state.paused, started };
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return null;
    throw error;
  }
}
