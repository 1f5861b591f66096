// What people say and are asked: a message, a call that waits for a decision (L55), a question of
// the model (L81).
import type { CallKey, Hash, SessionId } from './ids.ts';

/**
 * A call that waits for a decision (L55). `call` names it, once. `head` and `index` say where its
 * input is stored.
 */
export type PendingApproval = {
  readonly call: string;
  readonly tool: string;
  readonly reason: string;
  readonly inputHash: string;
  readonly head: Hash;
  readonly index: number;
  /** Milliseconds since the epoch; then it counts as denied. */
  readonly deadline: number;
  /**
   * Milliseconds since the epoch: when it was first asked about. Absent in what an earlier release
   * asked.
   */
  readonly askedAt?: number;
  /**
   * It is a question to people, which waits for an answer instead of a decision; without one by the
   * deadline the model is told so (L81).
   */
  readonly question?: OpenQuestion;
  /** It waits in the session of an agent, and is listed here for people (L70). */
  readonly agent?: AskingAgent;
};

/**
 * `call`: as it is named there. `path`: the titles of the agents on the way to it, the last its
 * own.
 */
export type AskingAgent = {
  readonly session: SessionId;
  readonly call: string;
  readonly path: readonly string[];
};

/**
 * All that waits in an agent's session now, told to the session that a person began. By
 * DELEGATED_SIGNAL.
 */
export type AgentAsks = { readonly asks: readonly PendingApproval[]; readonly session: SessionId };

/**
 * `edited`: the hash of another input in the store. `by`: whoever decides, by name, for the
 * transcript (O12).
 */
export type Approval = {
  readonly call: string;
  readonly inputHash: string;
  readonly edited?: Hash;
  readonly by?: string;
};

export type Denial = {
  readonly call: string;
  readonly reason: string;
  readonly interrupt?: boolean;
  readonly by?: string;
};

/**
 * `options`: nothing else is an answer. The memo leaves them out: they stand in the call's input.
 */
export type OpenQuestion = { readonly options?: readonly string[] };

/** `by`: whoever answers, by name. */
export type Answer = { readonly call: string; readonly body: MessageBody; readonly by: string };

/** `at`: milliseconds since the epoch. */
export type Answered = { readonly call: string; readonly by: string; readonly at: number };

/**
 * The signal by which a call that runs asks people (L77). Anyone can signal: what no call that runs
 * asks is passed over.
 */
export const ELICIT_SIGNAL = 'elicit';

/**
 * `id`: of this question alone. `inputHash`: of what is asked, `{ question, options? }`, in the
 * store; absent: it asks no longer.
 */
export type Elicitation = {
  readonly key: CallKey;
  readonly id: string;
  readonly inputHash?: Hash;
  readonly reason?: string;
  readonly options?: readonly string[];
};

const BY_RUNNING_CALL = '+q';

/** The name of such a question: the `count`th of the call. */
export const elicitationName = (call: string, count: number): string => `${call}${BY_RUNNING_CALL}${count}`;

/** Its call runs while it waits. */
export const isElicited = ({ call }: Pick<PendingApproval, 'call'>): boolean => call.includes(BY_RUNNING_CALL);

/** `declined`: by a person. `unanswered`: its time is over, or it was withdrawn. */
export type ElicitationEnd =
  { readonly kind: 'waiting' | 'declined' | 'unanswered' } | { readonly kind: 'answered'; readonly body: MessageBody };

/** Bytes of an answer. */
export const LARGEST_ANSWER = 100_000;

/** Characters of the name of whoever decides or answers. */
export const LONGEST_NAME = 200;

export function isName(by: unknown): by is string {
  return typeof by === 'string' && by.trim() !== '' && by.length <= LONGEST_NAME;
}

/** A session remembers of so many questions, the newest, who answered them. */
export const LISTED_ANSWERS = 5;

/** `media` stand in the text. A version that does not know them shows the text alone. */
export type MessageBody = (
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'stored'; readonly hash: Hash; readonly bytes: number }
) & { readonly media?: readonly MessageMedium[] };

/**
 * An image or a PDF document, its bytes in the store. `characters`: its share of a window, as
 * characters of text.
 */
export type StoredMedium = {
  readonly hash: Hash;
  readonly bytes: number;
  readonly mediaType: MediaType;
  readonly characters: number;
};

/** One of a message. `at`: the characters of the text that come before it. */
export type MessageMedium = StoredMedium & { readonly at: number };

export const IMAGE_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'] as const;
export type ImageType = (typeof IMAGE_TYPES)[number];

export const MEDIA_TYPES = [...IMAGE_TYPES, 'application/pdf'] as const;
export type MediaType = (typeof MEDIA_TYPES)[number];

/** Images and documents in one message: with more images, the API takes only small ones. */
export const MOST_MEDIA = 20;

/** The size of a message in a request, about. */
export function bodyCharacters(body: MessageBody): number {
  const text = body.kind === 'text' ? body.text.length : body.bytes;
  return (body.media ?? []).reduce((sum, { characters }) => sum + characters, text);
}

/**
 * A signal that did nothing, and why, in a sentence. A view has the last of a workflow run, oldest
 * first; none where there are none.
 */
export type PassedOver = { readonly signal: string; readonly why: string };
