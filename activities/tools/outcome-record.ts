// The outcome of a call, recorded once under the call's key: of two attempts that both come to an end, the first counts.
import type { CallKey, SessionId } from '../../workflows/contract/ids.ts';
import type { OutcomeFacts } from '../../workflows/contract/activities.ts';
import type { Outcome } from '../transcript/entries.ts';
import { keySegment } from '../transcript/keys.ts';
import type { Store } from '../transcript/store.ts';
import { callId } from './claim.ts';

/** What goes into the transcript, and what the loop needs to know of it. */
export type RecordedOutcome = { readonly outcome: Outcome; readonly facts: OutcomeFacts };

/** Returns what is recorded now: `recorded`, or what another attempt wrote before. Throws StoreError. */
export async function recordOutcome(
  store: Store,
  session: SessionId,
  key: CallKey,
  recorded: RecordedOutcome,
): Promise<RecordedOutcome> {
  const created = await store.create(path(session, key), Buffer.from(JSON.stringify(recorded)));
  return created.kind === 'created' ? recorded : decode(created.bytes);
}

export async function readOutcome(store: Store, session: SessionId, key: CallKey): Promise<RecordedOutcome | null> {
  const bytes = await store.read(path(session, key));
  return bytes === null ? null : decode(bytes);
}

function path(session: SessionId, key: CallKey): string {
  return `outcomes/${keySegment(session)}/${callId(key)}`;
}

function decode(bytes: Uint8Array): RecordedOutcome {
  return JSON.parse(Buffer.from(bytes).toString()) as RecordedOutcome;
}
