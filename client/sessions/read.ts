// Reads everything a person can be shown of a session: the server's facts, the stored transcript,
// and whether it is sound.
import type { Client } from '@temporalio/client';
import { verifyTranscript } from '../../store/log/audit.ts';
import type { AuditProblem } from '../../store/log/audit-entries.ts';
import { createBodyReader } from '../../store/log/bodies.ts';
import type { Entry } from '../../store/log/entries.ts';
import { resultOf } from '../../store/view/result.ts';
import { isDamage, type Store } from '../../store/values/store.ts';
import { emptyView, growAll } from '../../store/view/shared-view.ts';
import { loadWorkingView } from '../../store/view/view.ts';
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import { outputReader, runOutcome, type RunOutcome } from './outcome.ts';
import type { SessionDescription } from './info.ts';
import { headOf } from './newest-head.ts';

export type SessionReading = {
  readonly description: SessionDescription;
  /** The runs that ended, oldest first. */
  readonly runs: readonly RunOutcome[];
  /**
   * The entries, oldest first; empty when they cannot be read. If an old part is damaged, these are
   * the entries that the session continues with.
   */
  readonly entries: readonly Entry[];
  /** Position of the first entry in the transcript. */
  readonly first: number;
  /** Texts of the messages that are stored by hash. */
  readonly bodies: ReadonlyMap<Hash, string>;
  readonly problems: readonly AuditProblem[];
};

export type ReadingPorts = {
  readonly temporal: { readonly client: Client };
  readonly store: Store;
  readonly sessions: { describe(session: string): Promise<SessionDescription> };
};

/**
 * Reports damage in `problems`. Throws ClientProblem when the session does not exist, and
 * StoreError for other failures of the store.
 */
export async function readSession(
  { temporal, store, sessions }: ReadingPorts,
  session: SessionId,
): Promise<SessionReading> {
  const description = await sessions.describe(session);
  return readSessionAt(store, description, await headOf(temporal.client, session));
}

/** Reads what is stored up to the head. Reports damage and throws as `readSession` does. */
export async function readSessionAt(
  store: Store,
  description: SessionDescription,
  head: Hash | null,
): Promise<SessionReading> {
  const { session } = description;
  const { problems, chain } = await verifyTranscript(store, session, head);
  const view = chain
    ? growAll(emptyView(session), chain)
    : await readUnlessDamaged(loadWorkingView(store, session, head));
  const first = view?.begin ?? 0;
  const entries = view?.from(first) ?? [];
  const bodies = (await readUnlessDamaged(createBodyReader(store)(entries))) ?? new Map<Hash, string>();
  const output = outputReader(store);
  const runs: RunOutcome[] = [];
  let begin = 0;
  for (const [index, entry] of entries.entries()) {
    if (entry.kind !== 'run_ended') continue;
    const own = entries.slice(begin, index + 1);
    begin = index + 1;
    const result = resultOf({ entries: own }, entry.ended.run);
    if (result) runs.push(runOutcome(session, result, await output(own, result)));
  }
  return { description, runs, entries, first, bodies, problems };
}

/** Returns null for damaged data, which `problems` describes. */
async function readUnlessDamaged<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading;
  } catch (error) {
    if (isDamage(error)) return null;
    throw error;
  }
}
