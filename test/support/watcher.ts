// A watcher of the live channel in a test: follows until the test is over, and can be asked what it
// has seen.
import { onTestFinished } from 'vitest';
import type { ChannelItem, WatchedEvent } from '../../store/live/events.ts';
import { fileLive } from '../../store/live/file-live.ts';
import type { Cursor, Live, LiveItem, Watching } from '../../store/live/follow.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { heldToSchema } from './held-to-schema.ts';
import { until } from './until.ts';

export type Watcher = {
  /** Without the marks of what is stored. */
  readonly items: (WatchedEvent & Pick<LiveItem, 'cursor'>)[];
  readonly warnings: string[];
  /** That nothing came, each time, and null when it did again. */
  readonly troubles: (string | null)[];
  /** Texts of the deltas that no tombstone took back, in the order they came. */
  said(): string[];
  /** Resolves when `found` is true of what was seen. */
  sees(found: (items: Watcher['items']) => boolean): Promise<void>;
  stop(): Promise<void>;
};

/** `place`: the channel, or the folder that it is in. */
export function watcher(place: string | Live, session: string, from?: Cursor): Watcher {
  const live = typeof place === 'string' ? fileLive({ dir: place }) : place;
  const items: Watcher['items'] = [];
  const warnings: string[] = [];
  const troubles: Watcher['troubles'] = [];
  const abort = new AbortController();
  const watching: Watching = {
    signal: abort.signal,
    from,
    log: (_, message) => warnings.push(message),
    onTrouble: (why) => troubles.push(why),
  };
  const following = (async () => {
    for await (const item of live.follow(session as SessionId, watching)) {
      if (item.type === 'stored') continue;
      const { cursor: _, ...event } = item;
      heldToSchema(event);
      items.push(item);
    }
  })();
  const stop = async (): Promise<void> => {
    abort.abort();
    await following;
  };
  onTestFinished(stop);
  return {
    items,
    warnings,
    troubles,
    said: () => said(items),
    sees: async (found) => void (await until(() => found(items))),
    stop,
  };
}

export function said(items: readonly ChannelItem[]): string[] {
  return items.flatMap((item, at) => {
    if (item.type !== 'text_delta') return [];
    const taken = items
      .slice(at)
      .some((later) => later.type === 'tombstone' && later.step === item.step && later.attempt === item.attempt);
    return taken ? [] : [item.text];
  });
}
