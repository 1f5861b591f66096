// The events of the live channel, which is best-effort and apart from the history. There is one
// file per (step, attempt) of a session's activities; its first line is the header, its last a
// fate. A higher attempt of the same step voids a lower one, unless that one ended `stored` or
// `done`; `supersedes` voids an earlier step; a step without such a fate is void when one begins
// that waits for it (all but runTool).
import type { Hash, MessageId, SessionId } from '../../workflows/contract/ids.ts';
import type { CompactionTrigger, Notice, RunEnded } from '../../workflows/contract/activities.ts';
import type { Spend, TransitionReason } from '../../workflows/contract/loop.ts';
import type { SteeringRecord } from '../../workflows/contract/steered.ts';

export type LiveHeader = {
  readonly type: 'header';
  readonly session: SessionId;
  readonly step: number;
  readonly attempt: number;
  readonly activity: 'openRun' | 'callModel' | 'runTool' | 'commit' | 'compact' | 'collapse' | 'runStopHooks';
  /** An earlier step whose streamed deltas are void (L26). */
  readonly supersedes?: number;
  /** The step, this one or the superseded one, whose stored reply the attempt tells again. */
  readonly retells?: number;
};

export type LiveEvent =
  | {
      readonly type: 'run_start';
      readonly run: number;
      /** L13. */
      readonly queryId: string;
      readonly depth: number;
      readonly cwd: string;
      readonly model: string;
      /** The model's context window, in tokens. Absent when an older worker wrote the event. */
      readonly window?: number;
      readonly scripted: boolean;
    }
  | { readonly type: 'user'; readonly id: MessageId; readonly text: string }
  | { readonly type: 'transition'; readonly iteration: number; readonly reason: TransitionReason }
  | { readonly type: 'notice'; readonly notice: Notice }
  /** O12. */
  | { readonly type: 'steered'; readonly steered: SteeringRecord }
  /** L60. */
  | { readonly type: 'request_start'; readonly iteration: number; readonly attempt: number; readonly model: string }
  | { readonly type: 'text_delta'; readonly iteration: number; readonly index: number; readonly text: string }
  | { readonly type: 'thinking_delta'; readonly iteration: number; readonly index: number; readonly text: string }
  /**
   * A complete tool_use block. `input` is what observers see; the stored one is untouched (L18).
   */
  | {
      readonly type: 'tool_use';
      readonly iteration: number;
      readonly index: number;
      readonly id: string;
      readonly name: string;
      readonly input: unknown;
    }
  /** The API searches the web by itself while it replies (L88). */
  | { readonly type: 'web_search'; readonly iteration: number; readonly index: number; readonly query: string }
  | {
      readonly type: 'tool_start';
      readonly iteration: number;
      readonly index: number;
      readonly name: string;
      readonly early: boolean;
    }
  | { readonly type: 'tool_progress'; readonly iteration: number; readonly index: number; readonly text: string }
  | {
      readonly type: 'tool_end';
      readonly iteration: number;
      readonly index: number;
      readonly name: string;
      readonly isError: boolean;
      readonly content: string;
      readonly durationMs: number;
      /** `durationMs` is not a tool's: the tool did not run, or not here. */
      readonly untimed?: true;
    }
  /**
   * A retry is announced before the wait of `delayMs` (L14). `failures` counts the attempts of this
   * call, also those without any words (L15).
   */
  | {
      readonly type: 'retry';
      readonly iteration: number;
      readonly failures: number;
      readonly delayMs: number;
      readonly error: string;
    }
  | {
      readonly type: 'reply';
      readonly iteration: number;
      readonly stopReason: string | null;
      readonly fate: 'whole' | 'cut' | 'interrupted';
      /**
       * The head that the reply is stored under; its calls may still run. Absent where it is not
       * known yet whether it stays, and when an older worker wrote the event.
       */
      readonly head?: Hash;
      /** The cost of all attempts of its call. Absent when an older worker wrote the event. */
      readonly spend?: Spend;
    }
  /** L60. Tokens are estimates. */
  | { readonly type: 'compaction_start'; readonly iteration: number; readonly trigger: CompactionTrigger }
  | {
      readonly type: 'compaction_end';
      readonly iteration: number;
      readonly before: number;
      readonly after: number;
      readonly kept: number;
      readonly summary: string;
      /** The API made the summary. */
      readonly signed?: true;
      /** Later thinking is still sent to models that check what came before it. */
      readonly keepsThinking?: true;
    }
  | { readonly type: 'collapse_staged'; readonly iteration: number; readonly savings: readonly number[] }
  | { readonly type: 'hook_start'; readonly iteration: number; readonly hook: string }
  | { readonly type: 'hook_end'; readonly iteration: number; readonly hook: string; readonly result: string }
  | { readonly type: 'run_end'; readonly ended: RunEnded; readonly head: Hash };

/**
 * How an attempt ended. With `stored` or `done` its events are durable and stay; with `died` all
 * its deltas are void (L16).
 */
export type LiveFate =
  | { readonly type: 'fate'; readonly fate: 'stored'; readonly head: Hash }
  | { readonly type: 'fate'; readonly fate: 'done' }
  | { readonly type: 'fate'; readonly fate: 'died'; readonly why: string };

export type LiveLine = LiveHeader | LiveEvent | LiveFate;

/**
 * The items that a watcher is given: events with their place, and tombstones for what became void
 * (L16). Step 0 does not belong to the session: its events are told from the transcript, and
 * `attempt` is the position of the reply they belong to.
 */
export type WatchedEvent =
  | (LiveEvent & { readonly step: number; readonly attempt: number })
  | {
      readonly type: 'tombstone';
      readonly step: number;
      readonly attempt: number;
      readonly iteration: number | null;
      readonly why: string;
      /** The attempt's events are not void: they are stored, and told again. */
      readonly retold?: true;
    };

/**
 * The items that a follower of the channel is given: also that an attempt's events have become part
 * of the transcript.
 */
export type ChannelItem = WatchedEvent | StoredMark;

/** @deprecated The name that ChannelItem had until 0.2. */
export type Told = ChannelItem;

/** @deprecated The name that WatchedEvent had until 0.2. */
export type Watched = WatchedEvent;

export type StoredMark = {
  readonly type: 'stored';
  readonly step: number;
  readonly attempt: number;
  readonly head: Hash;
};

/**
 * Takes the events of one attempt. It never throws: losing the channel loses nothing that is
 * stored.
 */
export type LiveWriter = {
  write(event: LiveEvent): void;
  /** Writes the fate and closes; resolves when the lines are handed to the operating system. */
  end(fate: LiveFate): Promise<void>;
};

export type LiveChannel = {
  open(header: Omit<LiveHeader, 'type'>): LiveWriter;
  /** Forgets the live files of steps before `step`: their runs are over, and the store has them. */
  forgetBefore(session: SessionId, step: number): Promise<void>;
};

/**
 * A line waits for others only while one was written in the last `ms` milliseconds, or until `size`
 * characters wait.
 */
export const BATCH = { ms: 15, size: 16 * 1024 };
