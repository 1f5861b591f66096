// What watchers of a session see, as it happens: the live channel on files, read. An attempt that was void before anything of it
// was given out is never seen; what was given out of an attempt that becomes void is taken back by a tombstone (L16).
import type { SessionId } from '../../workflows/contract/ids.ts';
import { attemptReader } from './attempt-reader.ts';
import type { Cursor, LiveItem } from './cursor.ts';
import { folderChanges } from './folder-changes.ts';
import { sessionFolder } from './live-files.ts';
import { sessionFollower } from './session-follower.ts';

export type { Cursor, LiveItem } from './cursor.ts';

export type FollowLiveOptions = {
  readonly dir: string;
  readonly session: SessionId;
  /** Ends the iteration: whether a run is over is for the caller to see. */
  readonly signal: AbortSignal;
  /** Go on after this item; absent: from the first file there is. */
  readonly from?: Cursor | undefined;
  /** Told of files that cannot be read. */
  readonly warn?: ((message: string) => void) | undefined;
};

/** Waits for a session that is not there yet. Best effort: what was forgotten before it was read is a gap. */
export async function* followLive(options: FollowLiveOptions): AsyncGenerator<LiveItem, void> {
  const { dir, session, signal, from, warn = () => undefined } = options;
  const folder = sessionFolder(dir, session);
  const reader = attemptReader(folder, warn);
  const look = sessionFollower(reader, from);
  const changes = folderChanges(folder, signal);
  try {
    while (!signal.aborted) {
      const items: LiveItem[] = [];
      try {
        look(items);
      } catch (error) {
        if (!(error instanceof Error && 'syscall' in error)) throw error;
        warn(`the live channel in ${folder} cannot be read now: ${error.message}`);
      }
      for (const item of items) {
        yield item;
        if (signal.aborted) return;
      }
      if (!(await changes.next())) reader.keepList();
    }
  } finally {
    changes.close();
    reader.close();
  }
}
