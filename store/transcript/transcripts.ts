// The transcript as an activity works with it: a view and what is about to be appended to it, what
// the model sees of both, and the segment they become.
import type { MessageParam } from '@anthropic-ai/sdk/resources/messages';
import type { Append } from '../../workflows/contract/activities.ts';
import type { CallKey, Hash, SessionId } from '../../workflows/contract/ids.ts';
import { prepareAppend } from '../view/append.ts';
import { type Bodies, bodyReader } from '../log/bodies.ts';
import type { Entry, Outcome } from '../log/entries.ts';
import { inView, type InView, type Shown } from '../view/in-view.ts';
import { microcompact } from '../view/microcompact.ts';
import { type CalledModel, createMemo, projectView } from '../view/project.ts';
import { nextSegment, type NextSegment } from '../view/next-segment.ts';
import type { Store } from '../values/store.ts';
import { createViewCache, loadView, loadWorkingView, type View } from '../view/view.ts';

/** A stored view and the entries that come after it. */
export type Extended = { readonly view: View; readonly added: readonly Entry[] };

export type Transcripts = {
  /**
   * Reads as much as the loop needs: entries before the model's view are read in part. Throws
   * StoreError.
   */
  view(session: SessionId, head: Hash | null): Promise<View>;
  /** With everything that was ever said. Throws StoreError. */
  whole(session: SessionId, head: Hash | null): Promise<View>;
  /**
   * Entries from inputs and records only: a second attempt makes the same ones. Throws StoreError.
   */
  extend(session: SessionId, head: Hash | null, append: readonly Append[]): Promise<Extended>;
  /**
   * With old tool results shrunk for `model`, if it is time for it (L8): one more entry in `added`.
   */
  prepared(extended: Extended, now: number, model: Pick<CalledModel, 'checksPrefix'>): Extended;
  /** The messages that `model` is shown. */
  messages(extended: Extended, model?: CalledModel): Promise<MessageParam[]>;
  /** Texts of the stored messages that are seen of `entries`. */
  bodies(entries: readonly Entry[]): Promise<Bodies>;
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
  const read = bodyReader(store);
  // Entries that are no longer seen need not be there either.
  const bodies = ({ shown }: InView): Promise<Bodies> => read(shown.flatMap(neededOf));
  const memo = createMemo();
  const view = (session: SessionId, head: Hash | null): Promise<View> => loadWorkingView(store, session, head, cache);
  return {
    view,
    async whole(session, head) {
      const known = await view(session, head);
      return known.begin === 0 ? known : loadView(store, session, head);
    },
    async extend(session, head, append) {
      const base = await view(session, head);
      const recorded = (key: CallKey): Promise<Outcome | null> => readOutcome(session, key);
      return { view: base, added: await prepareAppend(base, append, { store, readOutcome: recorded }) };
    },
    prepared(extended, now, { checksPrefix }) {
      // It would cost such a model all that it has thought, and what it frees is less than its
      // cache saves.
      if (checksPrefix) return extended;
      const shrunk = microcompact(entriesOf(extended), now);
      return shrunk ? { ...extended, added: [...extended.added, shrunk] } : extended;
    },
    async messages(extended, model) {
      const seen = inView(entriesOf(extended));
      return projectView(seen, await bodies(seen), { model, memo });
    },
    bodies: (entries) => bodies(inView(entries)),
    next: ({ view: base, added }, more) => nextSegment(base, [...added, ...more]),
    keep: (next) => cache.keep(next.view),
  };
}

function neededOf(shown: Shown): readonly Entry[] {
  if (shown.kind !== 'entry') return [];
  const { entry, bare } = shown;
  if (!bare) return [entry];
  if (entry.kind !== 'user') return [];
  const { media: _, ...body } = entry.body;
  return [{ ...entry, body }];
}

/** All entries, those to come among them. */
export function entriesOf({ view, added }: Extended): readonly Entry[] {
  return [...view.entries, ...added];
}
