// Where the records of steps and calls lie, and how a reader without a worker reads them.
import { createHash } from 'node:crypto';
import { callIdOf } from '../../system/process/environment.ts';
import { type CallKey, type Hash, isHash, type SessionId } from '../../workflows/contract/ids.ts';
import { keySegment, parseStored, type Store } from '../values/store.ts';
import type { Outcome } from './entries.ts';

/** `request` identifies the step; `at` is the number of its try, from 1. */
export function stepKey(
  { session, chain }: { readonly session: SessionId; readonly chain: string },
  request: unknown,
  at = 1,
): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([chain, request]))
    .digest('hex');
  return `steps/${keySegment(session)}/${digest}${at === 1 ? '' : `.${at}`}`;
}

/** The folder of a call's records, and the beginning of their names. */
export function callRecordsKey(session: SessionId, key: CallKey): string {
  return `calls/${keySegment(session)}/${callIdOf(key)}`;
}

/** Returns the head that a step has stored; null where none of its tries has. Throws StoreError. */
export async function readStoredHead(
  store: Store,
  step: { readonly session: SessionId; readonly chain: string },
  request: unknown,
): Promise<Hash | null> {
  for (let at = 1; ; at += 1) {
    const bytes = await store.read(stepKey(step, request, at));
    if (bytes === null) return null;
    const { result } = parseStored(bytes) as { readonly result?: { readonly head?: unknown } | null };
    if (isHash(result?.head)) return result.head;
  }
}

/** Returns the outcome that is recorded of a call, or null. Throws StoreError. */
export async function readStoredOutcome(store: Store, session: SessionId, key: CallKey): Promise<Outcome | null> {
  const bytes = await store.read(`${callRecordsKey(session, key)}.outcome`);
  return bytes && (parseStored(bytes) as { readonly outcome: Outcome }).outcome;
}
