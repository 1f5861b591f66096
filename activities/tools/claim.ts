// Effect claims (L40): a call that may not run twice writes a durable record before it runs. Whoever finds the record without
// an outcome never runs the call again, unless a check or a person allows it: then under a claim of the next generation. The
// records lie beside each other under the hash of the call's key.
import { createHash, randomUUID } from 'node:crypto';
import type { CallKey, Hash, SessionId } from '../../workflows/contract/ids.ts';
import { keySegment } from '../transcript/keys.ts';
import type { CallLog } from '../transcript/entries.ts';
import type { Store } from '../transcript/store.ts';
import type { ProcessIdentity } from '../process-identity.ts';
import type { AbortCause, ChildRecord } from './tool.ts';

export type Claim = {
  /** Who made it: where and how long its processes can be looked for. */
  readonly host: ProcessIdentity;
  readonly tool: string;
  /** SHA-256 of the input as JSON. */
  readonly inputHash: string;
  /** Where the input is stored when it is not the call's own: a hook or a person changed it. */
  readonly changed?: Hash;
  /** A person allowed it (L55). */
  readonly approved?: CallLog['approved'];
  /** Who is later: a larger step, and of one step the larger attempt. */
  readonly step: number;
  readonly attempt: number;
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

export type ClaimFacts = {
  readonly tool: string;
  readonly input: unknown;
  readonly changed?: Hash | undefined;
  readonly approved?: CallLog['approved'];
  readonly host: ProcessIdentity;
  readonly step?: number | undefined;
  readonly attempt: number;
};

/** How often a call may be started. */
export const MAX_GENERATIONS = 3;

export type ClaimResult = { readonly kind: 'mine' } | Taken;

export type Taken = {
  readonly kind: 'taken';
  /** From 1. */
  readonly generation: number;
  readonly claim: Claim;
  readonly child?: ChildRecord;
  readonly stopped?: Stopped;
};

/** The name of a call in the store and in its processes' environment: a key of ours holds no surprise for either. */
export function callId(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

/** Of all attempts ever, one gets `mine` of a generation, once. Throws StoreError. */
export async function claimCall(
  store: Store,
  call: ClaimedCall,
  facts: ClaimFacts,
  generation = 1,
): Promise<ClaimResult> {
  const claim: Claim = {
    host: facts.host,
    tool: facts.tool,
    inputHash: inputHash(facts.input),
    ...(facts.changed === undefined ? {} : { changed: facts.changed }),
    ...(facts.approved === undefined ? {} : { approved: facts.approved }),
    step: facts.step ?? 0,
    attempt: facts.attempt,
    at: Date.now(),
    nonce: randomUUID(),
  };
  const created = await store.create(path(call, 'claim', generation), encode(claim));
  if (created.kind === 'created') return { kind: 'mine' };
  const first = decode(created.bytes) as Claim;
  // A create that took effect while its answer was lost finds itself.
  if (first.nonce === claim.nonce) return { kind: 'mine' };
  return await known(store, call, first, generation);
}

/** The newest claim of the call, or null when it was never started. Throws StoreError. */
export async function findClaim(store: Store, call: ClaimedCall): Promise<Taken | null> {
  let newest: { readonly claim: Claim; readonly generation: number } | null = null;
  for (let generation = 1; generation <= MAX_GENERATIONS; generation++) {
    const bytes = await store.read(path(call, 'claim', generation));
    if (bytes === null) break;
    newest = { claim: decode(bytes) as Claim, generation };
  }
  return newest && (await known(store, call, newest.claim, newest.generation));
}

async function known(store: Store, call: ClaimedCall, claim: Claim, generation: number): Promise<Taken> {
  const [child, stopped] = await Promise.all([
    store.read(path(call, 'child', generation)),
    store.read(path(call, 'stopped', generation)),
  ]);
  return {
    kind: 'taken',
    generation,
    claim,
    ...(child === null ? {} : { child: decode(child) as ChildRecord }),
    ...(stopped === null ? {} : { stopped: decode(stopped) as Stopped }),
  };
}

/** Announces the process group a claimed call runs in, so that a later attempt can end what is left of it. */
export async function recordChild(store: Store, call: ClaimedCall, child: ChildRecord, generation = 1): Promise<void> {
  await store.create(path(call, 'child', generation), encode(child));
}

export async function recordStopped(store: Store, call: ClaimedCall, stopped: Stopped, generation = 1): Promise<void> {
  await store.create(path(call, 'stopped', generation), encode(stopped));
}

/** SHA-256 of an input as JSON: what a claim and a decision are for. */
export function inputHash(input: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(input) ?? '')
    .digest('hex');
}

function path({ session, key }: ClaimedCall, record: 'claim' | 'child' | 'stopped', generation: number): string {
  const again = generation === 1 ? '' : `.${generation}`;
  return `claims/${keySegment(session)}/${callId(key)}.${record}${again}`;
}

function encode(value: Claim | ChildRecord | Stopped): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}

/** We wrote it, and the store has checked that it is unharmed. */
function decode(bytes: Uint8Array): unknown {
  return JSON.parse(Buffer.from(bytes).toString());
}
