// A follower of a session in a test, as a program or `perdure watch` has one: what it was shown
// must come to what is stored.
import type { Client } from '@temporalio/client';
import { expect, onTestFinished } from 'vitest';
import { fileLive } from '../../store/live/file-live.ts';
import type { ChannelItem } from '../../store/live/events.ts';
import type { Entry } from '../../store/log/entries.ts';
import { fileStore } from '../../store/values/file-store.ts';
import { createClient } from '../../client/client.ts';
import type { Followed } from '../../client/follow/news.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { heldToSchema } from './held-to-schema.ts';
import { shownLines, storedLines } from './standing.ts';

export type Follower = {
  readonly events: readonly Followed[];
  /** Waits for the run's end, and compares. */
  converges(): Promise<void>;
};

type Places = { readonly client: Client; readonly storePlace: string; readonly liveDir: string };

/** To the end of what runs, or ran last. Begins at once; the session is in its first run. */
export function follower({ client, storePlace, liveDir }: Places, session: SessionId): Follower {
  const sessions = createClient({
    temporal: client,
    store: fileStore({ dir: storePlace }),
    live: (id, signal) => told(liveDir, id, signal),
    visibility: () => Promise.resolve(false),
    lookMs: 100,
  });
  const events: Followed[] = [];
  const abort = new AbortController();
  onTestFinished(() => abort.abort());
  const following = (async () => {
    for await (const event of sessions.follow(session, { signal: abort.signal })) events.push(heldToSchema(event));
  })();
  following.catch(() => {});
  return {
    events,
    converges: async () => {
      await following;
      const entries: Entry[] = [];
      for await (const { entry } of sessions.transcript(session)) entries.push(entry);
      const ended = entries.findIndex(({ kind }) => kind === 'run_ended');
      expect(shownLines(events, entries)).toEqual(storedLines(entries.slice(0, ended + 1)));
    },
  };
}

async function* told(dir: string, session: SessionId, signal: AbortSignal): AsyncIterable<ChannelItem> {
  for await (const { cursor: _, ...event } of fileLive({ dir }).follow(session, { signal })) yield event;
}
