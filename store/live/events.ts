// The events of the live channel, which is best-effort and apart from the history. There is one
// file per (step, attempt) of a session's activities; its first line is the header, its last a
// fate. A higher attempt of the same step voids a lower one, unless that one ended `stored` or
// `done`; `supersedes` voids an earlier step; a step without such a fate is void when one begins
// that waits for it (all but runTool).
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import type { AttemptName } from './files.ts';
import type { eventShapes, FieldsOf, tombstoneShape } from './event-shapes.ts';

export type LiveHeader = {
  readonly type: 'header';
  readonly session: SessionId;
  readonly step: number;
  readonly attempt: number;
  readonly activity:
    'openRun' | 'callModel' | 'runTool' | 'commit' | 'compact' | 'collapse' | 'runStopHooks' | 'gradeGoal';
  /** An earlier step whose streamed deltas are void (L26). */
  readonly supersedes?: number;
  /** The step, this one or the superseded one, whose stored reply the attempt tells again. */
  readonly retells?: number;
};

type Shapes = typeof eventShapes;

export type LiveEvent = { [Type in keyof Shapes]: { readonly type: Type } & FieldsOf<Shapes[Type]> }[keyof Shapes];

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
export type WatchedEvent = (LiveEvent | Tombstone) & { readonly step: number; readonly attempt: number };

export type Tombstone = { readonly type: 'tombstone' } & FieldsOf<typeof tombstoneShape>;

/** A tombstone with the attempt whose events it takes back. */
export type PlacedTombstone = Tombstone & AttemptName;

export function tombstoneOf(
  { step, attempt }: AttemptName,
  reason: Pick<Tombstone, 'why' | 'retold'>,
  iteration: number | null = null,
): PlacedTombstone {
  return { type: 'tombstone', step, attempt, iteration, ...reason };
}

export function isTombstone(event: { readonly type: string }): event is PlacedTombstone {
  return event.type === 'tombstone';
}

/**
 * The items that a follower of the channel is given: also that an attempt's events have become part
 * of the transcript.
 */
export type ChannelItem = WatchedEvent | StoredMark;

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
