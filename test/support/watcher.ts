// A watcher of the live channel in a test: follows until the test is over, and can be asked what it has seen.
import { onTestFinished } from 'vitest';
import type { Told, Watched } from '../../activities/live/events.ts';
import { type Cursor, followLive, type LiveItem } from '../../activities/live/follow.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { until } from './until.ts';

export type Watcher = {
  /** Without the marks of what is stored. */
  readonly items: (Watched & Pick<LiveItem, 'cursor'>)[];
  readonly warnings: string[];
  /** Texts of the deltas that no tombstone took back, in the order they came. */
  said(): string[];
  /** Resolves when `found` is true of what was seen. */
  sees(found: (items: Watcher['items']) => boolean): Promise<void>;
  stop(): Promise<void>;
};

export function watcher(dir: string, session: string, from?: Cursor): Watcher {
  const items: Watcher['items'] = [];
  const warnings: string[] = [];
  const abort = new AbortController();
  const options = { dir, session: session as SessionId, signal: abort.signal, from };
  const following = (async () => {
    for await (const item of followLive({ ...options, log: (_, message) => warnings.push(message) }))
      if (item.type !== 'stored') items.push(item);
  })();
  const stop = async (): Promise<void> => {
    abort.abort();
    await following;
  };
  onTestFinished(stop);
  return {
    items,
    warnings,
    said: () => said(items),
    sees: async (found) => void (await until(() => found(items))),
    stop,
  };
}

export function said(items: readonly Told[]): string[] {
  return items.flatMap((item, at) => {
    if (item.type !== 'text_delta') return [];
    const taken = items
      .slice(at)
      .some((later) => later.type === 'tombstone' && later.step === item.step && later.attempt === item.attempt);
    return taken ? [] : [item.text];
  });
}
