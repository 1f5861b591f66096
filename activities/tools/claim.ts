// Effect claims (L40): a call that may not run twice writes a durable record before it runs. Whoever finds the record without
// an outcome never runs the call again. The records lie beside each other under the hash of the call's key.
import { createHash, randomUUID } from 'node:crypto';
import type { CallKey, SessionId } from '../../workflows/contract/ids.ts';
import { keySegment } from '../transcript/keys.ts';
import type { Store } from '../transcript/store.ts';
import type { ProcessIdentity } from '../process-identity.ts';
import type { AbortCause, ChildRecord } from './tool.ts';

export type Claim = {
  /** Who made it: where and how long its processes can be looked for. */
  readonly host: ProcessIdentity;
  readonly tool: string;
  /** SHA-256 of the input as JSON. */
  readonly inputHash: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Tells our own record from an equal one of another attempt. */
  readonly nonce: string;
};

/** The attempt was stopped by something that does not stop the run (L50), and had the time to say so. */
export type Stopped = {
  readonly cause: AbortCause;
  /** Whether the tool had been called by then. */
  readonly began: boolean;
  readonly at: number;
};

export type ClaimedCall = { readonly session: SessionId; readonly key: CallKey };

export type ClaimFacts = { readonly tool: string; readonly input: unknown; readonly host: ProcessIdentity };

export type ClaimResult =
  | { readonly kind: 'mine' }
  | { readonly kind: 'taken'; readonly claim: Claim; readonly child?: ChildRecord; readonly stopped?: Stopped };

/** The name of a call in the store and in its processes' environment: a key of ours holds no surprise for either. */
export function callId(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

/** Of all attempts ever, one gets `mine`, once. Throws StoreError. */
export async function claimCall(store: Store, call: ClaimedCall, facts: ClaimFacts): Promise<ClaimResult> {
  const claim: Claim = {
    host: facts.host,
    tool: facts.tool,
    inputHash: createHash('sha256')
      .update(JSON.stringify(facts.input) ?? '')
      .digest('hex'),
    at: Date.now(),
    nonce: randomUUID(),
  };
  const created = await store.create(path(call, 'claim'), encode(claim));
  if (created.kind === 'created') return { kind: 'mine' };
  const first = decode(created.bytes) as Claim;
  // A create that took effect while its answer was lost finds itself.
  if (first.nonce === claim.nonce) return { kind: 'mine' };
  const [child, stopped] = await Promise.all([store.read(path(call, 'child')), store.read(path(call, 'stopped'))]);
  return {
    kind: 'taken',
    claim: first,
    ...(child === null ? {} : { child: decode(child) as ChildRecord }),
    ...(stopped === null ? {} : { stopped: decode(stopped) as Stopped }),
  };
}

/** Announces the process group a claimed call runs in, so that a later attempt can end what is left of it. */
export async function recordChild(store: Store, call: ClaimedCall, child: ChildRecord): Promise<void> {
  await store.create(path(call, 'child'), encode(child));
}

export async function recordStopped(store: Store, call: ClaimedCall, stopped: Stopped): Promise<void> {
  await store.create(path(call, 'stopped'), encode(stopped));
}

function path({ session, key }: ClaimedCall, record: 'claim' | 'child' | 'stopped'): string {
  return `claims/${keySegment(session)}/${callId(key)}.${record}`;
}

function encode(value: Claim | ChildRecord | Stopped): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}

/** We wrote it, and the store has checked that it is unharmed. */
function decode(bytes: Uint8Array): unknown {
  return JSON.parse(Buffer.from(bytes).toString());
}
