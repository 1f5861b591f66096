// What a transcript is made of. A segment is what one step wrote: some entries and the hash of the segment before it.
// The hash of the last segment is the session's head. Entries are never changed; what the model sees is computed from them.
import type { Message } from '@anthropic-ai/sdk/resources/messages';
import type { CallKey, Hash, MessageId, SessionId } from '../../workflows/contract/ids.ts';
import type { Notice, RunEnded, SeenFile } from '../../workflows/contract/activities.ts';
import type { Spend, TransitionReason } from '../../workflows/contract/loop.ts';
import type { MessageBody } from '../../workflows/contract/session.ts';

export type Segment = {
  readonly v: 1;
  readonly session: SessionId;
  readonly parent: Hash | null;
  /** 0 for the first segment. */
  readonly n: number;
  /** Position of the first entry in the session, from 0. */
  readonly first: number;
  /** On every 64th segment, the hashes of the 64 before it, oldest first: a cold read is a handful of parallel reads. */
  readonly page?: readonly Hash[];
  readonly entries: readonly Entry[];
};

export type Entry =
  | { readonly kind: 'run_started'; readonly run: number; readonly config: Hash; readonly at: number }
  | { readonly kind: 'user'; readonly id: MessageId; readonly body: MessageBody }
  | ReplyEntry
  | { readonly kind: 'outcomes'; readonly outcomes: readonly Outcome[] }
  | BoundaryEntry
  /** Tool results of replies before position `before` are shown as a short marker from here on (L8). */
  | { readonly kind: 'microcompact'; readonly before: number; readonly freed: number }
  /** A short form of the entries from `from` up to but not including `to`, not shown until it is committed (L9). */
  | { readonly kind: 'collapse_staged'; readonly from: number; readonly to: number; readonly short: string }
  | { readonly kind: 'collapse_committed'; readonly count: number }
  | { readonly kind: 'snip'; readonly entries: readonly number[] }
  | { readonly kind: 'notice'; readonly notice: Notice }
  | { readonly kind: 'transition'; readonly iteration: number; readonly reason: TransitionReason }
  | { readonly kind: 'run_ended'; readonly ended: RunEnded }
  | { readonly kind: 'session_closed'; readonly notTaken: readonly MessageId[] };

/** What the model sees begins here: a summary of what was before, the prompts of the run, and the entries from `from` on (L5, L10). */
export type BoundaryEntry = {
  readonly kind: 'boundary';
  readonly trigger: 'auto' | 'reactive';
  readonly summary: string;
  /** Positions of user entries before `from` that stay verbatim: the prompt of the run. */
  readonly prompts: readonly number[];
  readonly from: number;
  /** Estimated tokens in context before and after. */
  readonly before: number;
  readonly after: number;
};

/** One assistant message, equal as JSON to what the API sent but for what its fate says was dropped (L16). */
export type ReplyEntry = {
  readonly kind: 'reply';
  readonly fate: 'whole' | 'cut' | 'interrupted';
  readonly message: Message;
  /** The model that was asked, when the message names another: an alias answers under its dated name. */
  readonly asked?: string;
  readonly iteration: number;
  readonly attempt: number;
  readonly spend: Spend;
  /** Milliseconds since the epoch. */
  readonly at: number;
};

/** The outcome of one call: what the model gets as its tool_result, and where the whole is when that is only a part (L6, L39). */
export type Outcome = {
  readonly index: number;
  readonly toolUseId: string;
  readonly isError: boolean;
  readonly content: string;
  /** The whole result, when `content` is a preview of it. */
  readonly whole?: { readonly hash: Hash; readonly bytes: number };
  /** Files that the call read or wrote, as they were then (L43). */
  readonly seen?: readonly SeenFile[];
  readonly log: CallLog;
};

/** L33: every call is logged. */
export type CallLog = {
  readonly key: CallKey | null;
  readonly name: string;
  readonly decision: 'allowed' | 'denied' | 'not_run';
  /** A person allowed it: the hash they were asked about, and of the input they put in its place (L55). */
  readonly approved?: { readonly inputHash: string; readonly editedHash?: Hash };
  /** Milliseconds. */
  readonly duration: number;
  readonly outcome: 'ok' | 'error' | 'cancelled' | 'unknown' | 'not_run';
};
