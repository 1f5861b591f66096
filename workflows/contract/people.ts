// Messages from people, and what people decide or answer: calls that wait for a decision (L55), and
// questions of the model (L81).
import { type CallKey, type Hash, isHash, type SessionId } from './ids.ts';

/**
 * A call that waits for a decision (L55). `call` is its name, used once. `head` and `index` say
 * where its input is stored.
 */
export type PendingApproval = {
  readonly call: string;
  readonly tool: string;
  readonly reason: string;
  readonly inputHash: string;
  readonly head: Hash;
  readonly index: number;
  /** Milliseconds since the epoch: the call counts as denied after this. */
  readonly deadline: number;
  /**
   * Milliseconds since the epoch: when it was first asked about. Absent in what an earlier release
   * asked.
   */
  readonly askedAt?: number;
  /**
   * Present when it is a question, which waits for an answer instead of a decision. Without an
   * answer by the deadline the model is told so (L81).
   */
  readonly question?: OpenQuestion;
  /** Present when it waits in the session of an agent, and is only listed here (L70). */
  readonly agent?: RequestingAgent;
};

/**
 * `call`: its name in the agent's session. `path`: the titles of the agents on the way to it, its
 * own last.
 */
export type RequestingAgent = {
  readonly session: SessionId;
  readonly call: string;
  readonly path: readonly string[];
};

/**
 * All that waits in an agent's session now. The agent tells the session that a person began, by
 * DELEGATED_SIGNAL.
 */
export type AgentAsks = { readonly asks: readonly PendingApproval[]; readonly session: SessionId };

/**
 * `edited`: the hash of another input in the store. `by`: the name of the person who decides, for
 * the transcript (O12).
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
 * `options`: the only possible answers. The memo leaves them out, because they stand in the call's
 * input.
 */
export type OpenQuestion = { readonly options?: readonly string[] };

/** `by`: the name of the person who answers. */
export type Answer = { readonly call: string; readonly body: MessageBody; readonly by: string };

/** `at`: milliseconds since the epoch. */
export type AnswerRecord = { readonly call: string; readonly by: string; readonly at: number };

/**
 * The signal by which a running call asks people (L77). Anyone can signal: a question of a call
 * that does not run is ignored.
 */
export const ELICIT_SIGNAL = 'elicit';

/**
 * `id`: of this question alone. `inputHash`: the hash of `{ question, options? }` in the store;
 * absent when the call takes its question back.
 */
export type Elicitation = {
  readonly key: CallKey;
  readonly id: string;
  readonly inputHash?: Hash;
  readonly reason?: string;
  readonly options?: readonly string[];
};

const BY_RUNNING_CALL = '+q';

/** Names the `count`th question of a running call. */
export const elicitationName = (call: string, count: number): string => `${call}${BY_RUNNING_CALL}${count}`;

/** The question belongs to a call that runs while it waits. */
export const isElicited = ({ call }: Pick<PendingApproval, 'call'>): boolean => call.includes(BY_RUNNING_CALL);

/** `declined`: a person declined. `unanswered`: its time is over, or it was withdrawn. */
export type ElicitationEnd =
  { readonly kind: 'waiting' | 'declined' | 'unanswered' } | { readonly kind: 'answered'; readonly body: MessageBody };

/** Bytes of an answer. */
export const LARGEST_ANSWER = 100_000;

/** Characters of the name of a person who decides or answers. */
export const LONGEST_NAME = 200;

export function isName(by: unknown): by is string {
  return typeof by === 'string' && by.trim() !== '' && by.length <= LONGEST_NAME;
}

/** A session remembers who answered this many questions, the newest. */
export const LISTED_ANSWERS = 5;

/**
 * The body of a message: a text, short or by hash, with images and PDF documents by hash. `media`
 * stand in the text; a release that does not know them shows the text alone.
 */
export type MessageBody = (
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'stored'; readonly hash: Hash; readonly bytes: number }
) & { readonly media?: readonly MessageMedium[] };

/**
 * An image or a PDF document, whose bytes are in the store. `characters`: its share of a window, as
 * characters of text.
 */
export type StoredMedium = {
  readonly hash: Hash;
  readonly bytes: number;
  readonly mediaType: MediaType;
  readonly characters: number;
};

/** A medium of a message. `at`: the characters of the text that come before it. */
export type MessageMedium = StoredMedium & { readonly at: number };

export const IMAGE_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'] as const;
export type ImageType = (typeof IMAGE_TYPES)[number];

export const MEDIA_TYPES = [...IMAGE_TYPES, 'application/pdf'] as const;
export type MediaType = (typeof MEDIA_TYPES)[number];

/** Images and documents in one message. With more images the API accepts only small ones. */
export const MOST_MEDIA = 20;

/** Checks the shape alone. */
export function isBody(value: unknown): value is MessageBody {
  const { kind, text, hash, bytes, media = [] } = (value ?? {}) as Readonly<Record<string, unknown>>;
  if (!Array.isArray(media) || media.length > MOST_MEDIA || !media.every(isMedium)) return false;
  if (kind === 'text') return typeof text === 'string';
  return kind === 'stored' && isHash(hash) && typeof bytes === 'number';
}

function isMedium(value: unknown): boolean {
  const { hash, mediaType, ...sizes } = (value ?? {}) as Readonly<Record<string, unknown>>;
  const isSize = (size: unknown): boolean => Number.isSafeInteger(size) && Number(size) >= 0;
  const isKnown = MEDIA_TYPES.some((type) => type === mediaType);
  return isHash(hash) && isKnown && [sizes['bytes'], sizes['characters'], sizes['at']].every(isSize);
}

/** Estimates the size of a message in a request, in characters. */
export function bodyCharacters(body: MessageBody): number {
  const text = body.kind === 'text' ? body.text.length : body.bytes;
  return (body.media ?? []).reduce((sum, { characters }) => sum + characters, text);
}

/**
 * A signal that did nothing, and why, in a sentence. A view lists the last of a workflow run,
 * oldest first.
 */
export type PassedOver = { readonly signal: string; readonly why: string };

/**
 * Words with the weight of a system prompt that come right after a message or a result (G46). `id`
 * has 1 to 200 characters, and `text` at most 32,768.
 */
export type SystemMessage = { readonly id: string; readonly text: string };

/** Characters of its text. */
export const LONGEST_SYSTEM_MESSAGE = 32 * 1024;

/** Checks the shape alone. */
export function systemTextProblem(value: unknown): string | undefined {
  const { id, text } = (value ?? {}) as { readonly [Key in keyof SystemMessage]?: unknown };
  const isShort = (words: unknown): boolean =>
    typeof words === 'string' && words.trim() !== '' && words.length <= LONGEST_SYSTEM_MESSAGE;
  if (isName(id) && isShort(text)) return undefined;
  return `a system message is {"id": …, "text": …} with a text of 1 to ${LONGEST_SYSTEM_MESSAGE} characters`;
}
