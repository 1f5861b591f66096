// Everything a person can be shown of a session: what the server knows, what the store has, and whether it is sound.
import type { Client } from '@temporalio/client';
import { verifyTranscript, type Problem } from '../activities/transcript/log/audit.ts';
import { bodyReader } from '../activities/transcript/log/bodies.ts';
import type { Entry } from '../activities/transcript/log/entries.ts';
import { resultOf } from '../activities/transcript/view/result.ts';
import { isDamage, type Store } from '../activities/transcript/store/store.ts';
import { loadView } from '../activities/transcript/view/view.ts';
import type { Hash, SessionId } from '../workflows/contract/ids.ts';
import { headOf } from './head.ts';
import { outputReader } from './run-output.ts';
import { runOutcome, type RunOutcome } from './run-outcome.ts';
import type { SessionDescription } from './session-info.ts';

export type SessionReading = {
  readonly description: SessionDescription;
  /** Of the runs that ended, oldest first. */
  readonly runs: readonly RunOutcome[];
  /** Oldest first; empty when they cannot be read. */
  readonly entries: readonly Entry[];
  /** Texts of the messages that are stored by hash. */
  readonly bodies: ReadonlyMap<Hash, string>;
  readonly problems: readonly Problem[];
};

export type ReadingPorts = {
  readonly temporal: { readonly client: Client };
  readonly store: Store;
  readonly sessions: { describe(session: string): Promise<SessionDescription> };
};

/** Throws ClientProblem when there is no such session, StoreError for what is no damage; damage is told in `problems`. */
export async function readSession(
  { temporal, store, sessions }: ReadingPorts,
  session: SessionId,
): Promise<SessionReading> {
  const description = await sessions.describe(session);
  const head = await headOf(temporal.client, session);
  const { problems } = await verifyTranscript(store, session, head);
  const entries = (await readable(loadView(store, session, head)))?.entries ?? [];
  const bodies = (await readable(bodyReader(store)(entries))) ?? new Map<Hash, string>();
  const output = outputReader(store);
  const runs: RunOutcome[] = [];
  for (const entry of entries) {
    const result = entry.kind === 'run_ended' ? resultOf({ entries }, entry.ended.run) : null;
    if (result) runs.push(runOutcome(session, result, await output(entries, result)));
  }
  return { description, runs, entries, bodies, problems };
}

/** Null for what is damaged: `problems` has the sentence. */
async function readable<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading;
  } catch (error) {
    if (isDamage(error)) return null;
    throw error;
  }
}
