// The journal of a call: everything durable about it, under one name (L40). A call is open, then
// started up to three times (not at all when it is denied, refused or delegated), then ended. Each
// step is a record that is created once, so one of all attempts ever makes it. An attempt that
// finds a call started runs it again, as the next start, only when a check or a person allows it.
import { createHash, randomUUID } from 'node:crypto';
import type { OutcomeFacts } from '../../workflows/contract/activities.ts';
import type { CallKey, Hash, SessionId } from '../../workflows/contract/ids.ts';
import type { Delegation } from '../../workflows/contract/delegation.ts';
import type { CallLog, Outcome } from '../../store/log/entries.ts';
import { callRecordsKey } from '../../store/log/step-records.ts';
import type { Store } from '../../store/values/store.ts';
import type { ProcessIdentity, ChildRecord } from '../../system/process/identity.ts';
import type { AbortCause } from '../../tools/tool.ts';
import { present } from '../../workflows/contract/present.ts';

type Claim = {
  /**
   * The worker that made the claim: on which host, and until which boot, its processes can be
   * found.
   */
  readonly host: ProcessIdentity;
  readonly tool: string;
  /** SHA-256 of the input as JSON. */
  readonly inputHash: string;
  /** The hash of the stored input when a hook or a person changed it. */
  readonly changed?: Hash;
  /** A person allowed it (L55). */
  readonly approved?: CallLog['approved'];
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** A random id that distinguishes our own record from an equal one of another attempt. */
  readonly nonce: string;
};

/**
 * The attempt was stopped by something that does not stop the run (L50), and had the time to record
 * it.
 */
export type StopRecord = {
  readonly cause: AbortCause;
  /** Whether the tool had been called by then. */
  readonly began: boolean;
  /** The tool had not come back when this was written: it may still be at work. */
  readonly hung?: true;
  readonly at: number;
};

/** The outcome for the transcript, and the facts that the loop needs. */
export type RecordedOutcome = { readonly outcome: Outcome; readonly facts: OutcomeFacts };

export type JournaledCall = { readonly session: SessionId; readonly key: CallKey };

type CallState = { readonly kind: 'open' } | TakenCall | { readonly kind: 'ended'; readonly recorded: RecordedOutcome };

/** A call that was started by an attempt that has recorded no outcome. */
export type TakenCall = {
  readonly kind: 'taken';
  /** The number of the start, from 1. */
  readonly generation: number;
  readonly claim: Claim;
  readonly stopped?: StopRecord;
};

type ClaimFacts = {
  readonly tool: string;
  readonly input: unknown;
  readonly changed?: Hash | undefined;
  readonly approved?: CallLog['approved'];
  readonly host: ProcessIdentity;
};

/** The number of times that a call may be started. */
export const MAX_GENERATIONS = 3;

type ClaimResult = { readonly kind: 'mine' } | TakenCall;

/** Throws StoreError. */
export async function readCall(store: Store, call: JournaledCall): Promise<CallState> {
  const recorded = await readOutcome(store, call);
  if (recorded !== null) return { kind: 'ended', recorded };
  return (await findClaim(store, call)) ?? { kind: 'open' };
}

/**
 * Claims one start of the call. For each generation exactly one attempt gets `mine`. Throws
 * StoreError.
 */
export async function claimCall(
  store: Store,
  call: JournaledCall,
  facts: ClaimFacts,
  generation = 1,
): Promise<ClaimResult> {
  const claim: Claim = {
    host: facts.host,
    tool: facts.tool,
    inputHash: hashInput(facts.input),
    ...present({ changed: facts.changed, approved: facts.approved }),
    at: Date.now(),
    nonce: randomUUID(),
  };
  const created = await store.create(recordPath(call, 'claim', generation), encode(claim));
  if (created.kind === 'created') return { kind: 'mine' };
  const first = decode(created.bytes) as Claim;
  // A create that took effect while its answer was lost finds itself.
  if (first.nonce === claim.nonce) return { kind: 'mine' };
  return await readStop(store, call, first, generation);
}

/** Returns the newest claim of the call, or null when it was never started. Throws StoreError. */
export async function findClaim(store: Store, call: JournaledCall): Promise<TakenCall | null> {
  let newest: { readonly claim: Claim; readonly generation: number } | null = null;
  for (let generation = 1; generation <= MAX_GENERATIONS; generation++) {
    const bytes = await store.read(recordPath(call, 'claim', generation));
    if (bytes === null) break;
    newest = { claim: decode(bytes) as Claim, generation };
  }
  return newest && (await readStop(store, call, newest.claim, newest.generation));
}

async function readStop(store: Store, call: JournaledCall, claim: Claim, generation: number): Promise<TakenCall> {
  const stopped = await store.read(recordPath(call, 'stopped', generation));
  return {
    kind: 'taken',
    generation,
    claim,
    ...(stopped === null ? {} : { stopped: decode(stopped) as StopRecord }),
  };
}

/**
 * Records the process group of a claimed call in this machine's store, so that a later attempt here
 * can end what is left of it.
 */
export async function recordChild(
  ofHost: Store,
  call: JournaledCall,
  child: ChildRecord,
  generation = 1,
): Promise<void> {
  await ofHost.create(recordPath(call, 'child', generation), encode(child));
}

export async function readChild(ofHost: Store, call: JournaledCall, generation: number): Promise<ChildRecord | null> {
  const bytes = await ofHost.read(recordPath(call, 'child', generation));
  return bytes === null ? null : (decode(bytes) as ChildRecord);
}

export async function recordStopped(
  store: Store,
  call: JournaledCall,
  stopped: StopRecord,
  generation = 1,
): Promise<void> {
  await store.create(recordPath(call, 'stopped', generation), encode(stopped));
}

/**
 * Ends the call. Returns the record that stands now: `recorded`, or what another attempt wrote
 * before. Throws StoreError.
 */
export async function recordOutcome(
  store: Store,
  call: JournaledCall,
  recorded: RecordedOutcome,
): Promise<RecordedOutcome> {
  const created = await store.create(recordPath(call, 'outcome'), encode(recorded));
  return created.kind === 'created' ? recorded : (decode(created.bytes) as RecordedOutcome);
}

export async function readOutcome(store: Store, call: JournaledCall): Promise<RecordedOutcome | null> {
  const bytes = await store.read(recordPath(call, 'outcome'));
  return bytes === null ? null : (decode(bytes) as RecordedOutcome);
}

/** A call that the workflow carries out (L62), as the first attempt handed it over. */
export type DelegatedRecord = {
  readonly delegation: Delegation;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The hash of the stored input when it is not the call's own, as in a claim. */
  readonly changed?: Hash;
  readonly approved?: CallLog['approved'];
  readonly edited?: true;
};

/**
 * Returns the record that stands now: `record`, or what another attempt wrote before. Throws
 * StoreError.
 */
export async function recordDelegated(
  store: Store,
  call: JournaledCall,
  record: DelegatedRecord,
): Promise<DelegatedRecord> {
  const created = await store.create(recordPath(call, 'delegated'), encode(record));
  return created.kind === 'created' ? record : (decode(created.bytes) as DelegatedRecord);
}

export async function readDelegated(store: Store, call: JournaledCall): Promise<DelegatedRecord | null> {
  const bytes = await store.read(recordPath(call, 'delegated'));
  return bytes === null ? null : (decode(bytes) as DelegatedRecord);
}

/**
 * Records that a person is asked about the input stored under `hash`, which is not the call's own
 * (L55).
 */
export async function recordQuestion(store: Store, call: JournaledCall, hash: string): Promise<void> {
  await store.create(`${recordPath(call, 'asked')}.${hash}`, encode({}));
}

export async function hasQuestion(store: Store, call: JournaledCall, hash: Hash): Promise<boolean> {
  return (await store.read(`${recordPath(call, 'asked')}.${hash}`)) !== null;
}

/** Hashes an input as JSON with SHA-256: claims and decisions are bound to this hash. */
export function hashInput(input: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(input) ?? '')
    .digest('hex');
}

type RecordKind = 'claim' | 'child' | 'stopped' | 'asked' | 'delegated' | 'outcome';

function recordPath({ session, key }: JournaledCall, record: RecordKind, generation = 1): string {
  const again = generation === 1 ? '' : `.${generation}`;
  return `${callRecordsKey(session, key)}.${record}${again}`;
}

function encode(value: object): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}

/** Our own code wrote the bytes, and the store has checked that they are unharmed. */
function decode(bytes: Uint8Array): unknown {
  return JSON.parse(Buffer.from(bytes).toString());
}
