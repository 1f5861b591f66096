// A transcript is a chain of segments. A segment holds the entries that one step wrote and the hash
// of the segment before it. The hash of the last segment is the session's head. Entries are never
// changed; the model's view is computed from them.
import type { Message, Tool } from '@anthropic-ai/sdk/resources/messages';
import type { SentNames } from '../configuration.ts';
import type { CallKey, Hash, MessageId, SessionId } from '../../workflows/contract/ids.ts';
import type {
  CompactionTrigger,
  Notice,
  RunEnded,
  RunStarted,
  SeenFile,
  SystemPart,
  UserEntry,
} from '../../workflows/contract/activities.ts';
import type { Spend, TransitionReason } from '../../workflows/contract/loop.ts';
import type { StoredMedium } from '../../workflows/contract/people.ts';
import type { RewindRecord } from '../../workflows/contract/rewind.ts';
import type { SteeringRecord } from '../../workflows/contract/steered.ts';
import type { BudgetEntry, SettledEntry, WaitEntry } from '../../workflows/contract/waits.ts';
import type { FilesEntry } from '../snapshots/files-entry.ts';

export type Segment = {
  readonly v: 1;
  readonly session: SessionId;
  readonly parent: Hash | null;
  /** 0 for the first segment. */
  readonly n: number;
  /** Position of the first entry in the session, from 0. */
  readonly first: number;
  /** The hashes of the 64 segments before it, on every 64th: for few parallel reads. */
  readonly page?: readonly Hash[];
  /**
   * The hashes of the segments since the last one with a page, that one included, on every 8th of
   * the others: they are read at once too.
   */
  readonly near?: readonly Hash[];
  /** Stored with a boundary: the entries before it that a worker still needs. */
  readonly behind?: Behind;
  readonly entries: readonly Entry[];
};

/**
 * The entries before `from` that still count, each with as little as counts. `behindOf` picks them.
 */
export type Behind = {
  readonly from: number;
  readonly entries: readonly (readonly [position: number, entry: Entry])[];
};

export type Entry =
  | RunStarted
  | UserEntry
  | ReplyEntry
  | { readonly kind: 'outcomes'; readonly outcomes: readonly Outcome[] }
  | BoundaryEntry
  /**
   * From here on tool results of replies before position `before` are shown as a short marker (L8):
   * `results` of them, which frees `freed` tokens, an estimate. An earlier release does not say how
   * many.
   */
  | { readonly kind: 'microcompact'; readonly before: number; readonly freed: number; readonly results?: number }
  /**
   * A short form of the entries from `from` up to but not including `to`. It is not shown until it
   * is committed (L9).
   */
  | { readonly kind: 'collapse_staged'; readonly from: number; readonly to: number; readonly short: string }
  | { readonly kind: 'collapse_committed'; readonly count: number }
  | { readonly kind: 'snip'; readonly entries: readonly number[] }
  /** Calls that wait, how a wait ended, a wait at the budget; the model sees none (G37 G69). */
  | WaitEntry
  | SettledEntry
  | BudgetEntry
  /**
   * Records that a person did something to the session, who and when; the model never sees it
   * (O12).
   */
  | { readonly kind: 'steered'; readonly steered: SteeringRecord }
  | EpochEntry
  | FilesEntry
  | { readonly kind: 'notice'; readonly notice: Notice }
  | { readonly kind: 'transition'; readonly iteration: number; readonly reason: TransitionReason }
  | { readonly kind: 'run_ended'; readonly ended: RunEnded }
  | { readonly kind: 'session_closed'; readonly notTaken: readonly MessageId[] };

/**
 * From here on `system` and `tools` are sent as they stand here, and messages are only added to,
 * until the next entry of this kind. Models bind their thinking to all of it, and the prompt cache
 * holds as long as it stays.
 */
export type EpochEntry = {
  readonly kind: 'epoch';
  readonly why: EpochReason;
  readonly system: readonly SystemPart[];
  readonly tools: readonly Tool[];
  /** By our names of tools, those that the model knows them under (L89); absent: ours. */
  readonly names?: SentNames;
  /** Changes are told in messages of the role system, for models that take them. */
  readonly bySystem?: true;
  /** These messages bring tools too, while `tools` stay as they are. */
  readonly bringsTools?: true;
};

/**
 * `compacted`: a boundary came before it. `tools`: one came, or takes other inputs than before, or
 * cannot stay as it was. `server`: it no longer takes changes as they were told. `older`: earlier
 * requests were not recorded, by a version without epochs. `refused`: the API found earlier
 * thinking bound to something else. `summary_refused`: it does not take the summary that it has
 * signed. After either of the last two, no earlier thinking is sent.
 */
export type EpochReason = 'first' | 'compacted' | 'tools' | 'server' | 'older' | 'refused' | 'summary_refused';

/**
 * The model's view begins here: a summary of everything before, the prompts of the run, and the
 * entries from `from` on (L5, L10).
 */
export type BoundaryEntry = {
  readonly kind: 'boundary';
  readonly trigger: CompactionTrigger;
  readonly summary: string;
  /** The positions of user entries before `from` that stay verbatim: the prompt of the run. */
  readonly prompts: readonly number[];
  readonly from: number;
  /** The task list as it stood then, word for word (L83); absent without one. */
  readonly tasks?: string;
  /**
   * Images and documents before this position are named and no longer shown: a request with them
   * was refused (L24).
   */
  readonly bareBefore?: number;
  /** The summary as the API made and signed it. */
  readonly signed?: SignedSummary;
  /**
   * Set for a model that binds its thinking to all before it: entries from `from` on count as
   * unchanged then (L59).
   */
  readonly keepsThinking?: true;
  /** Estimated tokens in context, before and after. */
  readonly before: number;
  readonly after: number;
};

/**
 * A compaction block: its `content` is the summary in words, and the rest is sent back as it came.
 */
export type SignedSummary = {
  readonly type: 'compaction';
  readonly content: string;
  readonly [more: string]: unknown;
};

/**
 * One assistant message, equal as JSON to what the API sent, except for what its fate says was
 * dropped (L16).
 */
export type ReplyEntry = {
  readonly kind: 'reply';
  readonly fate: 'whole' | 'cut' | 'interrupted';
  readonly message: Message;
  /**
   * The model that was asked, when the message names another: an alias answers under its dated
   * name.
   */
  readonly asked?: string;
  /**
   * The ids under which calls are sent, by their positions in the reply, where their own will not
   * do: they came before, or are not allowed.
   */
  readonly ids?: Readonly<Record<number, string>>;
  /**
   * The verdicts about its calls before any ran, by their positions; absent in runs that store no
   * waits (G37).
   */
  readonly judged?: Readonly<Record<number, CallJudgement>>;
  readonly iteration: number;
  readonly attempt: number;
  readonly spend: Spend;
  /** Milliseconds since the epoch. */
  readonly at: number;
};

/** `custom`: an app outside gives the result, and no rule keeps it from being asked. */
export type CallJudgement = 'allow' | 'ask' | 'deny' | 'custom';

/**
 * The outcome of one call: what the model gets as its tool_result, and where the whole is when that
 * is only a part (L6, L39).
 */
export type Outcome = {
  readonly index: number;
  readonly toolUseId: string;
  readonly isError: boolean;
  readonly content: string;
  /** The whole result, when `content` is a preview of it. */
  readonly whole?: { readonly hash: Hash; readonly bytes: number };
  /**
   * Images and documents that the model is shown after `content`, which says in words what they are
   * (L85).
   */
  readonly media?: readonly StoredMedium[];
  /** Files that the call read or wrote, as they were then (L43). */
  readonly seen?: readonly SeenFile[];
  /** Tools that the call found, whose definitions are sent from then on (L74). */
  readonly found?: readonly string[];
  readonly log: CallLog;
};

/** The log of one call; every call is logged (L33). */
export type CallLog = {
  readonly key: CallKey | null;
  readonly name: string;
  readonly decision: 'allowed' | 'denied' | 'not_run';
  /**
   * A person allowed it: the hash of the input they were asked about, and of the input they put in
   * its place (L55). `by` is their name (O12).
   */
  readonly approved?: { readonly inputHash: string; readonly editedHash?: Hash; readonly by?: string };
  /**
   * The hash of the input that ran, where a hook, the tool's own check or a person replaced the
   * call's own.
   */
  readonly ran?: Hash;
  /** The name of the person who denied it (O12). */
  readonly deniedBy?: string;
  /** Milliseconds. */
  readonly duration: number;
  readonly outcome: 'ok' | 'error' | 'cancelled' | 'unknown' | 'not_run';
};

/** Every PAGE-th segment lists the hashes of those before it. */
export const PAGE = 64;
/**
 * Every NEAR-th of the others lists those since the last page: on average 235 bytes a segment save
 * 50 reads one after the other.
 */
export const NEAR = 8;

/**
 * Tells whether a call repeats the id of an earlier one in its reply. Only the first of them counts
 * (L39): the others never have an outcome.
 */
export function isRepeated({ message: { content } }: ReplyEntry, index: number): boolean {
  const block = content[index];
  if (block?.type !== 'tool_use') return false;
  return content.slice(0, index).some((before) => before.type === 'tool_use' && before.id === block.id);
}

/** Returns the rewind that an entry tells of; undefined for all other entries. */
export const rewoundIn = (entry: Entry | undefined): RewindRecord | undefined =>
  entry?.kind === 'steered' ? entry.steered.rewound : undefined;

/**
 * Returns the head from which a rewind has left entries behind; undefined for all other entries.
 */
export function headLeftBy(entry: Entry): Hash | undefined {
  const rewound = rewoundIn(entry);
  return rewound?.to === undefined ? undefined : rewound.from;
}

export type EntryRange = { readonly from: number; readonly to: number };

const ENTRY_NAME = /^perdure:entry\/(\d{1,9})(?:-(\d{1,9}))?$/;

/**
 * Names the entries from `from` up to but not including `to`, by their positions in the session;
 * the name has both ends in it.
 */
export function entryName({ from, to }: EntryRange): string {
  return to - from <= 1 ? `perdure:entry/${from}` : `perdure:entry/${from}-${to - 1}`;
}

/** Reads a name made by `entryName`; undefined for anything else. */
export function parseEntryName(name: string): EntryRange | undefined {
  const found = ENTRY_NAME.exec(name);
  if (!found) return undefined;
  const from = Number(found[1]);
  const to = Number(found[2] ?? found[1]) + 1;
  return from < to ? { from, to } : undefined;
}
