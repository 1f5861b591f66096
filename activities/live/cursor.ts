// How far a watcher is, in a form that it can keep and give back after a reconnect.
import type { LiveEvent, Told } from './events.ts';

export type Cursor = {
  /** Steps before this one are over and done with. */
  readonly before: number;
  /** By step number. */
  readonly steps: Readonly<Record<string, StepCursor>>;
};

export type StepCursor = {
  readonly attempt: number;
  /** Lines up to here were given out, or will never be. */
  readonly byte: number;
  /** Nothing of this step follows. */
  readonly over: boolean;
  /** Something of this attempt was given out that a tombstone would have to take back. */
  readonly shown: boolean;
  /** The last one that the attempt named. */
  readonly iteration: number | null;
};

export type LiveItem = Told & { readonly cursor: Cursor };

export const noCursor: Cursor = { before: 0, steps: {} };

export function newStep(attempt: number): StepCursor {
  return { attempt, byte: 0, over: false, shown: false, iteration: null };
}

/** Facts that stay true although their attempt died: a tombstone does not take them back. */
export function isAnnouncement(event: LiveEvent): boolean {
  return event.type === 'retry' || event.type === 'request_start';
}

/** `event` was given out, or passed over. */
export function passed(at: StepCursor, event: LiveEvent, byte: number): StepCursor {
  const shown = at.shown || !isAnnouncement(event);
  return { ...at, byte, shown, iteration: 'iteration' in event ? event.iteration : at.iteration };
}
