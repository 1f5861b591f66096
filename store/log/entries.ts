// A transcript is a chain of segments. A segment holds the entries that one step wrote and the hash
// of the segment before it. The hash of the last segment is the session's head. Entries are never
// changed; the model's view is computed from them.
import type { Message, Tool } from '@anthropic-ai/sdk/resources/messages';
import type { SentNames } from '../configuration.ts';
import type { CallKey, Hash, MessageId, SessionId } from '../../workflows/contract/ids.ts';
import type {
  Append,
  CompactionTrigger,
  Notice,
  RunEnded,
  SeenFile,
  SystemPart,
} from '../../workflows/contract/activities.ts';
import type { Spend, TransitionReason } from '../../workflows/contract/loop.ts';
import type { StoredMedium } from '../../workflows/contract/people.ts';
import type { Steered } from '../../workflows/contract/steered.ts';

export type Segment = {
  readonly v: 1;
  readonly session: SessionId;
  readonly parent: Hash | null;
  /** 0 for the first segment. */
  readonly n: number;
  /** Position of the first entry in the session, from 0. */
  readonly first: number;
  /**
   * On every 64th segment, the hashes of the 64 before it, oldest first: a cold read is a handful
   * of parallel reads.
   */
  readonly page?: readonly Hash[];
  /**
   * On every 8th of the others, the hashes of those since the last with a page, it included: they
   * are read at once too.
   */
  readonly near?: readonly Hash[];
  /** Beside a boundary: what a worker needs of what comes before it. */
  readonly behind?: Behind;
  readonly entries: readonly Entry[];
};

/** The entries before `from` that still count, each with as little as counts. See `behindOf`. */
export type Behind = {
  readonly from: number;
  readonly entries: readonly (readonly [position: number, entry: Entry])[];
};

export type Entry =
  | { readonly kind: 'run_started'; readonly run: number; readonly config: Hash; readonly at: number }
  /** `by`: the name of whoever sent it, `querySource`: how, where that was said (O12). */
  | Extract<Append, { readonly kind: 'user' }>
  | ReplyEntry
  | { readonly kind: 'outcomes'; readonly outcomes: readonly Outcome[] }
  | BoundaryEntry
  /**
   * Tool results of replies before position `before` are shown as a short marker from here on (L8).
   */
  | { readonly kind: 'microcompact'; readonly before: number; readonly freed: number }
  /**
   * A short form of the entries from `from` up to but not including `to`, not shown until it is
   * committed (L9).
   */
  | { readonly kind: 'collapse_staged'; readonly from: number; readonly to: number; readonly short: string }
  | { readonly kind: 'collapse_committed'; readonly count: number }
  | { readonly kind: 'snip'; readonly entries: readonly number[] }
  /** Somebody did something to the session, who and when; never shown to the model (O12). */
  | { readonly kind: 'steered'; readonly steered: Steered }
  | EpochEntry
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
  /** What is told of changes stands in messages of the role system, for models that take them. */
  readonly bySystem?: true;
  /** Those messages bring tools, too: `tools` stay as they are. */
  readonly bringsTools?: true;
};

/**
 * `compacted`: a boundary came before it. `tools`: one came, or takes other inputs than before, or
 * cannot stay as it was. `server`: it no longer takes how changes have been told. `older`: what was
 * sent before it was not recorded, by a version that had no epochs. `refused`: the API has found
 * earlier thinking bound to something else. `summary_refused`: it does not take the summary that it
 * has signed. After either, nothing is sent of what was thought before.
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
  /** Positions of user entries before `from` that stay verbatim: the prompt of the run. */
  readonly prompts: readonly number[];
  readonly from: number;
  /** The task list as it stood then, word by word (L83); absent without one. */
  readonly tasks?: string;
  /**
   * Images and documents before this position are named and no longer shown: a request with them
   * was refused (L24).
   */
  readonly bareBefore?: number;
  /** The API made the summary itself. */
  readonly signed?: SignedSummary;
  /**
   * By a model that binds its thinking to what stood before it: what comes after `from` counts as
   * unchanged then (L59).
   */
  readonly keepsThinking?: true;
  /** Estimated tokens in context before and after. */
  readonly before: number;
  readonly after: number;
};

/**
 * A block of compaction: its `content` is the summary in words, the rest is sent back as it came.
 */
export type SignedSummary = {
  readonly type: 'compaction';
  readonly content: string;
  readonly [more: string]: unknown;
};

/**
 * One assistant message, equal as JSON to what the API sent but for what its fate says was dropped
 * (L16).
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
   * Ids under which its calls are sent, by their positions in the reply, where not under their own:
   * one that was there before, or is not allowed.
   */
  readonly ids?: Readonly<Record<number, string>>;
  readonly iteration: number;
  readonly attempt: number;
  readonly spend: Spend;
  /** Milliseconds since the epoch. */
  readonly at: number;
};

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
  readonly log: CallLog;
};

/** L33: every call is logged. */
export type CallLog = {
  readonly key: CallKey | null;
  readonly name: string;
  readonly decision: 'allowed' | 'denied' | 'not_run';
  /**
   * A person allowed it: the hash they were asked about, and of the input they put in its place
   * (L55). `by`: their name (O12).
   */
  readonly approved?: { readonly inputHash: string; readonly editedHash?: Hash; readonly by?: string };
  /**
   * The input that ran, where a hook, the tool's own check or a person put it in the place of the
   * call's own.
   */
  readonly ran?: Hash;
  /** The name of the person who denied it (O12). */
  readonly deniedBy?: string;
  /** Milliseconds. */
  readonly duration: number;
  readonly outcome: 'ok' | 'error' | 'cancelled' | 'unknown' | 'not_run';
};

// Names of transcript entries that the read tool opens: what is shown short or not at all can be
// read in full (L8–L10).

export type EntryRange = { readonly from: number; readonly to: number };

const NAME = /^perdure:entry\/(\d{1,9})(?:-(\d{1,9}))?$/;

/**
 * The entries from `from` up to but not including `to`, by their positions in the session; a name
 * has both ends in it.
 */
export function entryName({ from, to }: EntryRange): string {
  return to - from <= 1 ? `perdure:entry/${from}` : `perdure:entry/${from}-${to - 1}`;
}

/** Reads a name made by `entryName`; undefined for anything else. */
export function entryRange(name: string): EntryRange | undefined {
  const found = NAME.exec(name);
  if (!found) return undefined;
  const from = Number(found[1]);
  const to = Number(found[2] ?? found[1]) + 1;
  return from < to ? { from, to } : undefined;
}

// The kinds of entries and of notices that this version knows. The hash vouches for what is stored:
// one that is not among them comes from a newer version, and what is left out of a request because
// nobody knew it would change what the model is told.

const entryKinds: Readonly<Record<Entry['kind'], true>> = {
  run_started: true,
  user: true,
  reply: true,
  outcomes: true,
  boundary: true,
  microcompact: true,
  collapse_staged: true,
  collapse_committed: true,
  snip: true,
  steered: true,
  epoch: true,
  notice: true,
  transition: true,
  run_ended: true,
  session_closed: true,
};

const noticeKinds: Readonly<Record<Notice['kind'], true>> = {
  interrupted: true,
  continue: true,
  call_cut: true,
  max_turns_reached: true,
  wrap_up: true,
  budget_spent: true,
  error: true,
  model_switched: true,
  stop_hook: true,
  token_budget: true,
  structured_output: true,
  hook_context: true,
  files_changed: true,
  attachment: true,
  batch_summary: true,
  about_model: true,
  about_skills: true,
  compaction_failed: true,
  repaired: true,
  hook_failed: true,
  preamble_changed: true,
};

/** The first of them in words, for a sentence; undefined when all are known. */
export function unknownKind(entries: readonly unknown[]): string | undefined {
  for (const entry of entries) {
    const kind = kindOf(entry);
    if (kind !== undefined && !Object.hasOwn(entryKinds, kind)) return `an entry of kind ${JSON.stringify(kind)}`;
    const notice = kind === 'notice' ? kindOf((entry as { readonly notice?: unknown }).notice) : undefined;
    if (notice !== undefined && !Object.hasOwn(noticeKinds, notice))
      return `a notice of kind ${JSON.stringify(notice)}`;
  }
  return undefined;
}

/** Undefined for what has none: then it is no entry of any version. */
export function kindOf(value: unknown): string | undefined {
  const kind = (value as { readonly kind?: unknown } | null | undefined)?.kind;
  return typeof kind === 'string' ? kind : undefined;
}

/** Every how many segments one lists the hashes of those before it. */
export const PAGE = 64;
/**
 * Every how many of the others one lists those since the last of these: on average 235 bytes a
 * segment, for 50 reads one after the other less.
 */
export const NEAR = 8;

/**
 * Only the first of several calls with the same id in one reply counts (L39): the others never have
 * an outcome.
 */
export function isRepeated({ message: { content } }: ReplyEntry, index: number): boolean {
  const block = content[index];
  if (block?.type !== 'tool_use') return false;
  return content.slice(0, index).some((before) => before.type === 'tool_use' && before.id === block.id);
}
