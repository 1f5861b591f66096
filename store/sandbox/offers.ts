// Offers of calls to self-hosted workers (G57). An offer is recorded before the call is shown, and
// the record is its claim: an effect begins once. Refused results are recorded as well (G50).
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { SettledEntry } from '../../workflows/contract/waits.ts';
import { ResourceLog } from '../values/resource-log.ts';
import { keySegment, parseStored, type Store, StoreError } from '../values/store.ts';

/** One lease of an item. */
export type LeaseName = { readonly work: string; readonly g: number };

/** `at`: milliseconds since the epoch. */
export type Offer = LeaseName & { readonly at: number };

/** A call by the id that the API shows. */
type OfferedCall = { readonly session: string; readonly call: string };

/**
 * How often a call may be shown: `always` where it changes nothing, once to each lease where it is
 * idempotent, and once in all where the effect of a lost call can't be known.
 */
export type Showing = 'always' | 'each_lease' | 'once';

const EACH_LEASE: ReadonlySet<string> = new Set(['write']);
const ALWAYS: ReadonlySet<string> = new Set(['read', 'glob', 'grep']);

export function showingOf(tool: string): Showing {
  if (ALWAYS.has(tool)) return 'always';
  return EACH_LEASE.has(tool) ? 'each_lease' : 'once';
}

const shape = z.object({ work: z.string(), g: z.number(), at: z.number() });

const keyOf = ({ session, call }: OfferedCall, lease: LeaseName | null): string => {
  const suffix = lease === null ? 'once' : `${lease.work}.${lease.g}`;
  return `offers/${keySegment(session)}/${keySegment(call)}.${suffix}`;
};

type ToolCall = OfferedCall & { readonly tool: string };

/** Returns the key of the record of a call that is shown to this lease. */
const keyFor = (call: ToolCall, lease: LeaseName): string =>
  keyOf(call, showingOf(call.tool) === 'each_lease' ? lease : null);

/**
 * Returns true when the call may be shown to the lease, which is then recorded. Of all who try, at
 * any server, one is told so. Throws StoreError.
 */
export async function offerCall(store: Store, call: ToolCall, offer: Offer): Promise<boolean> {
  if (showingOf(call.tool) === 'always') return true;
  const { kind } = await store.create(keyFor(call, offer), Buffer.from(JSON.stringify(offer)));
  return kind === 'created';
}

/** Returns the offer of a call that is shown once in all; null before it. Throws StoreError. */
export const readOffer = (store: Store, call: OfferedCall): Promise<Offer | null> =>
  readRecord(store, keyOf(call, null));

/** Returns the offer of a call as this lease would have had it, or null. Throws StoreError. */
export const findOffer = (store: Store, call: ToolCall, lease: LeaseName): Promise<Offer | null> =>
  readRecord(store, keyFor(call, lease));

async function readRecord(store: Store, key: string): Promise<Offer | null> {
  const bytes = await store.read(key);
  if (bytes === null) return null;
  const { data } = shape.safeParse(parseStored(bytes));
  if (!data) throw new StoreError('corrupt', `the record "${key}" is damaged: restore it from a backup of the store`);
  return data;
}

/** Tells whether the call was shown to this lease. Throws StoreError. */
export async function wasOffered(store: Store, call: ToolCall, lease: LeaseName): Promise<boolean> {
  if (showingOf(call.tool) === 'always') return true;
  const offer = await findOffer(store, call, lease);
  return offer?.work === lease.work && offer.g === lease.g;
}

const fencedKey = (session: string, { work, g }: LeaseName): string =>
  `offers/${keySegment(session)}/fenced.${work}.${g}`;

/** Records the tools about whose calls a lease's worker asks before it runs one. Throws StoreError. */
export async function recordFenced(
  store: Store,
  session: string,
  lease: LeaseName,
  tools: readonly string[],
): Promise<void> {
  await store.create(fencedKey(session, lease), Buffer.from(JSON.stringify(tools)));
}

const runKey = (call: ToolCall, lease: LeaseName): string => `${keyFor(call, lease)}.run`;

/** Returns true for the one run that may execute the call, however often it asks. Throws StoreError. */
export async function beginRun(store: Store, call: ToolCall, lease: LeaseName, run: string): Promise<boolean> {
  if (showingOf(call.tool) === 'always') return true;
  const bytes = Buffer.from(JSON.stringify(run));
  const outcome = await store.create(runKey(call, lease), bytes);
  return outcome.kind === 'created' || bytes.equals(outcome.bytes);
}

/**
 * Tells whether a call that was shown to this lease has surely not begun: its worker asks before it
 * runs one, and has not asked. Throws StoreError.
 */
export async function isUnbegun(store: Store, call: ToolCall, lease: LeaseName): Promise<boolean> {
  const bytes = await store.read(fencedKey(call.session, lease));
  const fenced = bytes ? z.array(z.string()).safeParse(parseStored(bytes)).data : undefined;
  if (!fenced?.includes(call.tool) || !(await wasOffered(store, call, lease))) return false;
  return (await store.read(runKey(call, lease))) === null;
}

// Results that were refused because their call had ended, or was not given to who sends them (G50).
// They change nothing, and are kept as evidence; the model is told of those whose call was
// concluded as unknown (G58).
/** `id`: of the event that tells of the call. `settled`: the end that it would have had. */
export type RefusedResult = {
  readonly id: string;
  readonly why: 'late' | 'not_given';
  readonly work?: string;
  readonly settled: SettledEntry;
};

/** Results that are kept of one session and of one item of its work, the first. */
const MOST_REFUSED = 100;
const MOST_OF_ITEM = 20;

type Place = { readonly store: Store; readonly session: string };

const logOf = ({ store, session }: Place, now: () => number): ResourceLog<RefusedResult> =>
  new ResourceLog({ store, now, name: `refused-${keySegment(session)}` });

/** A repeat is kept once. Throws StoreError. */
export function keepRefused(place: Place, refused: RefusedResult): Promise<void> {
  const { call, by = '', result, at } = refused.settled;
  const name = createHash('sha256')
    .update(JSON.stringify([call, by, result]))
    .digest('hex');
  return logOf(place, () => at).append(by, (all) =>
    all.has(name) || isFull(all, refused.work) ? null : { id: name, item: refused },
  );
}

function isFull(all: ReadonlyMap<string, RefusedResult>, work: string | undefined): boolean {
  const ofItem = [...all.values()].filter((one) => one.work === work).length;
  return all.size >= MOST_REFUSED || (work !== undefined && ofItem >= MOST_OF_ITEM);
}

/** Returns the refused results of a session, oldest first. Throws StoreError. */
export async function readRefused(place: Place): Promise<readonly RefusedResult[]> {
  return [...(await logOf(place, Date.now).read()).values()];
}
