// Collects what is wrong right now, in the words of a banner: what it is, and what to do. A trouble
// that is over disappears.

export type TroubleKind = 'gone' | 'server' | 'worker' | 'workers' | 'store' | 'live' | 'damaged';

export type Trouble = { readonly kind: TroubleKind; readonly title: string; readonly detail: string };

const titles: Readonly<Record<TroubleKind, string>> = {
  gone: 'This session no longer exists on the server: what you see is the last that was known.',
  server: 'The Temporal server does not answer. What you see may be old; the page goes on by itself when it is back.',
  worker: 'Nobody works on this session. It waits, and nothing is lost.',
  workers: 'Sessions wait for a worker, and nothing is lost.',
  store: 'The transcript store cannot be read. What was said since cannot be shown; see that the store is reachable.',
  live: 'The live channel is behind: text appears when it is stored, not as it is said.',
  damaged: 'A part of the transcript is damaged; see `perdure repair`.',
};

export function createTroubles() {
  const now = new Map<TroubleKind, string>();
  return {
    /** Null ends the trouble. */
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
