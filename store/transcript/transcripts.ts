// The transcript as an activity works with it: a view and the entries about to be appended to it,
// the messages the model gets of both, and the segment they become.
import type { Append } from '../../workflows/contract/activities.ts';
import type { CallKey, Hash, SessionId } from '../../workflows/contract/ids.ts';
import { prepareAppend, nextSegment, type NextSegment } from '../view/append.ts';
import { type Bodies, createBodyReader } from '../log/bodies.ts';
import type { Entry, Outcome } from '../log/entries.ts';
import { inView, type ShownPart } from '../view/in-view.ts';
import type { ExtendedView } from '../view/shared-view.ts';
import { planMicrocompact } from '../view/microcompact.ts';
import { type CalledModel, createMemo, openProjection, type SentView } from '../view/project.ts';
import type { Store } from '../values/store.ts';
import { createViewCache, loadView, loadWorkingView, type View } from '../view/view.ts';

export type { ExtendedView };

export type Transcripts = {
  /**
   * Reads as much as the loop needs: entries before the model's view are read in part. Throws
   * StoreError.
   */
  view(session: SessionId, head: Hash | null): Promise<View>;
  /** Reads the whole transcript. Throws StoreError. */
  whole(session: SessionId, head: Hash | null): Promise<View>;
  /**
   * Extends a view by entries that are made from inputs and records only, so that a second attempt
   * makes the same ones. Throws StoreError.
   */
  extend(session: SessionId, head: Hash | null, append: readonly Append[]): Promise<ExtendedView>;
  /**
   * Shrinks old tool results for `model` when it is time for it (L8), by one more entry in `added`.
   */
  shrinkResults(extended: ExtendedView, now: number, model: Pick<CalledModel, 'checksPrefix'>): ExtendedView;
  /**
   * Returns the messages that `model` is shown. Those of rounds that are over are the same objects
   * from request to request.
   */
  messages(extended: ExtendedView, model?: CalledModel): Promise<SentView>;
  /** Reads the stored texts of the messages among `entries` that are shown. */
  bodies(entries: readonly Entry[]): Promise<Bodies>;
  /** Returns the segment of `added` and `more`, which is not stored yet. */
  next(extended: ExtendedView, more: readonly Entry[]): NextSegment;
  /** Tells that the segment is stored, so that its view may be used. */
  keep(next: NextSegment): void;
};

/** `viewBytes`: stored bytes of the transcripts that are kept. */
export function createTranscripts(
  store: Store,
  readOutcome: (session: SessionId, key: CallKey) => Promise<Outcome | null>,
  viewBytes?: number,
): Transcripts {
  const cache = createViewCache(viewBytes === undefined ? {} : { maxBytes: viewBytes });
  const read = createBodyReader(store);
  // Bodies of entries that are no longer shown may be missing.
  const bodies = (parts: readonly ShownPart[]): Promise<Bodies> => read(parts.flatMap(entriesNeededFor));
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
    shrinkResults(extended, now, { checksPrefix }) {
      // Shrinking would cost such a model all that it has thought, and frees less than its cache
      // saves.
      if (checksPrefix) return extended;
      const shrunk = planMicrocompact(extended, now);
      return shrunk ? { ...extended, added: [...extended.added, shrunk] } : extended;
    },
    async messages(extended, model) {
      const projection = openProjection(inView(extended), { model, memo });
      return projection.finish(await bodies(projection.parts));
    },
    bodies: (entries) => bodies(inView(entries).shown),
    next: ({ view: base, added }, more) => nextSegment(base, [...added, ...more]),
    keep: (next) => cache.keep(next.view),
  };
}

function entriesNeededFor(part: ShownPart): readonly Entry[] {
  if (part.kind !== 'entry') return [];
  const { entry, bare } = part;
  if (!bare) return [entry];
  if (entry.kind !== 'user') return [];
  const { media: _, ...body } = entry.body;
  return [{ ...entry, body }];
}

/** Returns all entries, those about to be appended included. */
export function entriesOf({ view, added }: ExtendedView): readonly Entry[] {
  return [...view.entries, ...added];
}
