// The two sources a follower reads: the live channel, and a look at the session every second or so.
import type { Told } from '../activities/live/events.ts';
import type { Mailbox } from './mailbox.ts';
import { pause } from './pause.ts';
import { ClientProblem } from './problem.ts';
import type { SessionDescription } from './session-info.ts';

export type News =
  | { readonly kind: 'event'; readonly event: Told }
  | { readonly kind: 'look'; readonly seen: SessionDescription }
  /** Looking makes no sense any more. */
  | { readonly kind: 'broken'; readonly error: unknown };

/** The channel is best effort: when it breaks, looking goes on, and the store has what counts. */
export async function liveNews(events: AsyncIterable<Told>, news: Mailbox<News>): Promise<void> {
  try {
    for await (const event of events) news.push({ kind: 'event', event });
  } catch {
    // Whatever broke it.
  }
}

export type LookNews = {
  readonly look: () => Promise<SessionDescription>;
  readonly first: SessionDescription;
  readonly everyMs: number;
  readonly signal: AbortSignal;
  readonly onTrouble: ((why: string | null) => void) | undefined;
  readonly news: Mailbox<News>;
};

export async function lookNews({ look, first, everyMs, signal, onTrouble, news }: LookNews): Promise<void> {
  news.push({ kind: 'look', seen: first });
  let trouble = false;
  while (await pause(everyMs, signal)) {
    try {
      news.push({ kind: 'look', seen: await look() });
      if (trouble) onTrouble?.(null);
      trouble = false;
    } catch (error) {
      if (!(error instanceof ClientProblem) || error.kind !== 'unanswered') return news.push({ kind: 'broken', error });
      if (!trouble) onTrouble?.(error.message);
      trouble = true;
    }
  }
}
