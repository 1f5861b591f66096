// The two sources that a follower reads: the live channel, and a look at the session every second
// or so.
import type { ChannelItem } from '../../store/live/events.ts';
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import type { Mailbox } from '../mailbox.ts';
import { pause } from '../../system/async.ts';
import { ClientProblem } from '../problem.ts';
import type { SessionDescription } from '../sessions/info.ts';

/** Most events that wait in memory for a slow reader, who sees the rest when it is stored. */
const MOST_WAITING = 5_000;

export type News =
  | { readonly kind: 'event'; readonly event: ChannelItem }
  | { readonly kind: 'look'; readonly seen: SessionDescription }
  /** Looking again would make no sense. */
  | { readonly kind: 'broken'; readonly error: unknown };

/**
 * Passes on events of the channel, which is best effort: when it breaks, looking goes on, and the
 * store has what counts.
 */
export async function pushLiveEvents(
  events: AsyncIterable<ChannelItem>,
  news: Mailbox<News>,
  leave: () => void,
): Promise<void> {
  try {
    for await (const event of events)
      if (news.waiting < MOST_WAITING) news.push({ kind: 'event', event });
      else return leave();
  } catch {
    // The cause does not matter: looks replace the channel.
  }
}

type LookSource = {
  readonly look: () => Promise<SessionDescription>;
  readonly first: SessionDescription;
  readonly everyMs: number;
  readonly signal: AbortSignal;
  readonly onTrouble: ((why: string | null) => void) | undefined;
  readonly onHost: (description: SessionDescription) => void;
  readonly news: Mailbox<News>;
};

export async function pushLooks({ look, first, everyMs, signal, onTrouble, onHost, news }: LookSource): Promise<void> {
  const push = (description: SessionDescription): void => {
    onHost(description);
    if (news.waiting < 2 * MOST_WAITING) news.push({ kind: 'look', seen: description });
  };
  push(first);
  let trouble = false;
  while (await pause(everyMs, signal)) {
    try {
      push(await look());
      if (trouble) onTrouble?.(null);
      trouble = false;
    } catch (error) {
      if (!(error instanceof ClientProblem) || error.kind !== 'unanswered') return news.push({ kind: 'broken', error });
      if (!trouble) onTrouble?.(error.message);
      trouble = true;
    }
  }
}

export const LIVE_AGAIN = 'the live channel is back: what happens is shown while it happens';

/** Reads the head while the live channel is lost, and returns it when it has changed. */
export function headReader(
  { head: read }: { readonly head?: (session: SessionId) => Promise<Hash | null> },
  session: SessionId,
  channel: { readonly isLost: boolean },
): () => Promise<Hash | null> {
  let last: Hash | null = null;
  return async () => {
    if (!channel.isLost || !read) return null;
    try {
      const head = await read(session);
      if (head === last) return null;
      return (last = head);
    } catch (error) {
      // The next look says that the server does not answer.
      if (error instanceof ClientProblem) return null;
      throw error;
    }
  };
}
