// Collects what is wrong right now, in the words of a banner: what it is, and what to do. A trouble
// that is over disappears.
// Reads what waits for a person, and notes where the store cannot be read.
import { StoreError } from '../../client/faces/sessions.ts';
import type { WaitingApproval } from '../../client/faces/types.ts';
import { reasonOf } from '../../system/text.ts';
import type { PagePorts } from '../ports.ts';

export type TroubleKind = 'gone' | 'server' | 'worker' | 'store' | 'live' | 'damaged';

export type Trouble = { readonly kind: TroubleKind; readonly title: string; readonly detail: string };

const titles: Readonly<Record<TroubleKind, string>> = {
  gone: 'This session no longer exists on the server. You’re seeing its last known state.',
  server: 'The Temporal server isn’t responding. Reconnecting automatically.',
  worker: 'No worker is running for this session. It’s paused; nothing is lost.',
  store: 'The transcript store can’t be read, so newer entries are missing. Check that it’s reachable.',
  live: 'Live output is delayed. Text appears once it’s stored.',
  damaged: 'Part of the transcript is damaged. Run `perdure repair`.',
};

export function createTroubles() {
  const now = new Map<TroubleKind, string>();
  return {
    /** Sets a trouble; null ends it. */
    set(kind: TroubleKind, detail: string | null): void {
      if (detail === null) now.delete(kind);
      else now.set(kind, detail);
    },
    list: (): readonly Trouble[] =>
      Object.keys(titles).flatMap((key) => {
        const kind = key as TroubleKind;
        const detail = now.get(kind);
        return detail === undefined ? [] : [{ kind, title: titles[kind], detail }];
      }),
  };
}

/** Returns an empty list where the store cannot be read, which is then a trouble. */
export async function readWaiting(
  ports: Pick<PagePorts, 'inbox'>,
  trouble: ReturnType<typeof createTroubles>,
): Promise<readonly WaitingApproval[]> {
  try {
    const waiting = await ports.inbox();
    trouble.set('store', null);
    return waiting;
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    trouble.set('store', reasonOf(error));
    return [];
  }
}
