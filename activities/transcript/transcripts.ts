// The transcript as an activity works with it: a view and what is about to be appended to it, what the model sees of both, and
// the segment they become.
import type { MessageParam } from '@anthropic-ai/sdk/resources/messages';
import type { Append } from '../../workflows/contract/activities.ts';
import type { CallKey, Hash, SessionId } from '../../workflows/contract/ids.ts';
import { prepareAppend } from './append.ts';
import { bodyReader } from './bodies.ts';
import type { Entry, Outcome } from './entries.ts';
import { project } from './project.ts';
import { nextSegment, type NextSegment } from './segments.ts';
import type { ReplyMemo } from './sent-reply.ts';
import type { Store } from './store.ts';
import { createViewCache, loadView, type View } from './view.ts';

/** A stored view and the entries that come after it. */
export type Extended = { readonly view: View; readonly added: readonly Entry[] };

export type Transcripts = {
  /** Throws StoreError. */
  view(session: SessionId, head: Hash | null): Promise<View>;
  /** Entries from inputs and records only: a second attempt makes the same ones. Throws StoreError. */
  extend(session: SessionId, head: Hash | null, append: readonly Append[]): Promise<Extended>;
  messages(extended: Extended): Promise<MessageParam[]>;
  /** The segment of `added` and `more`, not stored yet. */
  next(extended: Extended, more: readonly Entry[]): NextSegment;
  /** The segment is stored: its view may be used. */
  keep(next: NextSegment): void;
};

export function createTranscripts(
  store: Store,
  readOutcome: (session: SessionId, key: CallKey) => Promise<Outcome | null>,
): Transcripts {
  const cache = createViewCache();
  const bodies = bodyReader(store);
  const memo: ReplyMemo = new WeakMap();
  const view = (session: SessionId, head: Hash | null): Promise<View> => loadView(store, session, head, cache);
  return {
    view,
    async extend(session, head, append) {
      const base = await view(session, head);
      const read = (key: CallKey): Promise<Outcome | null> => readOutcome(session, key);
      return { view: base, added: await prepareAppend(base, append, { store, readOutcome: read }) };
    },
    async messages({ view: base, added }) {
      const entries = [...base.entries, ...added];
      return project(entries, await bodies(entries), memo);
    },
    next: ({ view: base, added }, more) => nextSegment(base, [...added, ...more]),
    keep: (next) => cache.keep(next.view),
  };
}
