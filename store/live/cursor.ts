// How far a watcher has come, in a form that it can keep and return after a reconnect.
import type { LiveEvent, ChannelItem } from './events.ts';

export type Cursor = {
  /** Steps before this one are over. */
  readonly before: number;
  /** The cursors of later steps, by step number. */
  readonly steps: Readonly<Record<string, StepCursor>>;
};

export type StepCursor = {
  readonly attempt: number;
  /** Lines up to this byte were given out, or never will be. */
  readonly byte: number;
  /** True when nothing of this step follows. */
  readonly over: boolean;
  /** True when an event of this attempt was given out that a tombstone would have to take back. */
  readonly shown: boolean;
  /** The last iteration that the attempt named. */
  readonly iteration: number | null;
};

export type LiveItem = ChannelItem & { readonly cursor: Cursor };

export const START: Cursor = { before: 0, steps: {} };

export function startStep(attempt: number): StepCursor {
  return { attempt, byte: 0, over: false, shown: false, iteration: null };
}

/**
 * Tells whether an event stays true although its attempt died: a tombstone does not take it back.
 */
export function isAnnouncement(event: LiveEvent): boolean {
  return event.type === 'retry' || event.type === 'request_start';
}

/** Moves the cursor past `event`, which was given out or passed over. */
export function passEvent(at: StepCursor, event: LiveEvent, byte: number): StepCursor {
  const isVisible = at.shown || !isAnnouncement(event);
  return { ...at, byte, shown: isVisible, iteration: 'iteration' in event ? event.iteration : at.iteration };
}
