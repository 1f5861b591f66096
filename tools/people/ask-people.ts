// Asks people from within a call that runs (L77): the question is stored, the workflow puts it
// among the approvals, and the call looks for the answer until it comes, or nobody waits for it any
// more.
import { randomUUID } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import { ELICIT_SIGNAL, type Elicitation, type ElicitationEnd } from '../../workflows/contract/people.ts';
import type { CallKey } from '../../workflows/contract/ids.ts';
import { QUERIES } from '../../workflows/contract/session.ts';
import { pause } from '../../system/async.ts';
import { clip, onOneLine } from '../../system/text.ts';
import type { Store } from '../../store/values/store.ts';

/** The workflow of an attempt, as it is asked and looked at. */
export type People = {
  tell(asked: Elicitation): Promise<void>;
  endOf(id: string): Promise<ElicitationEnd>;
};

/**
 * `why`: one line for lists, without the question. `options`: nothing else is an answer; blanks
 * around one do not count.
 */
export type PeopleQuestion = { readonly why: string; readonly question: string; readonly options?: readonly string[] };

/** `unanswered`: in time, or the question was withdrawn. */
export type PeopleAnswer =
  { readonly kind: 'answered'; readonly text: string } | { readonly kind: 'declined' | 'unanswered' };

/** `signal`: withdraws the question. */
export type AskPeople = (question: PeopleQuestion, signal: AbortSignal) => Promise<PeopleAnswer>;

/**
 * Milliseconds between two looks at whether there is an answer, and from when on it is looked for
 * less often.
 */
const [LOOK_MS, LAST_LOOK_MS] = [250, 2_000];

const LONGEST_WHY = 200;
/** Of a call: answers that would not do are asked for again, and count. */
const MOST_QUESTIONS = 50;

/** `handle`: of the workflow, when it is needed. */
export function peopleOf(handle: () => Pick<WorkflowHandle, 'signal' | 'query'>): People {
  return {
    tell: (asked) => handle().signal(ELICIT_SIGNAL, asked),
    endOf: (id) => handle().query<ElicitationEnd, [string]>(QUERIES.elicited, id),
  };
}

/**
 * One question at a time of a call, and no more than a history bears: each is written there. Throws
 * StoreError, and what the server of the workflow says.
 */
export function askPeople(people: People, store: Store, key: CallKey): AskPeople {
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

type Asking = { readonly people: People; readonly store: Store; readonly key: CallKey };

async function askOne(
  { people, store, key }: Asking,
  { why, question, options: given }: PeopleQuestion,
  signal: AbortSignal,
): Promise<PeopleAnswer> {
  if (signal.aborted) return { kind: 'unanswered' };
  const options = given?.map((option) => option.trim());
  const input = { question, ...(options && { options }) };
  const inputHash = await store.put(Buffer.from(JSON.stringify(input)));
  const id = randomUUID();
  const reason = clip(onOneLine(why), LONGEST_WHY);
  await people.tell({ key, id, inputHash, reason, ...(options && { options }) });
  for (let ms = LOOK_MS; await pause(ms, signal); ms = Math.min(LAST_LOOK_MS, ms + LOOK_MS)) {
    // A server that does not answer is asked again.
    const end = await people.endOf(id).catch((): ElicitationEnd => ({ kind: 'waiting' }));
    if (end.kind === 'waiting') continue;
    return end.kind === 'answered' ? { kind: 'answered', text: await textOf(store, end.body) } : { kind: end.kind };
  }
  await people.tell({ key, id });
  return { kind: 'unanswered' };
}

/** A later attempt asks nothing that one before it has asked: nobody would take the answer. */
export async function withdrawAsked(people: People, key: CallKey): Promise<void> {
  await people.tell({ key, id: randomUUID() });
}

async function textOf(store: Store, body: Extract<ElicitationEnd, { kind: 'answered' }>['body']): Promise<string> {
  return body.kind === 'text' ? body.text : Buffer.from(await store.get(body.hash)).toString();
}
