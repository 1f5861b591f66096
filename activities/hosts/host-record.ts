// The record of moves between hosts, in the store that they share: of all hosts that would take a
// session over, one writes the next record. A session and its agents have one list, since they work
// in the same folders.
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { keySegment, parseStored, type Store, StoreError } from '../../store/values/store.ts';
import type { SessionHost, WorkspacePlace } from '../../workflows/contract/hosts.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';

const host = z.object({ id: z.string(), name: z.string() });
const schema = z.object({
  v: z.literal(1),
  /** Tells a record of our own from an equal one of another attempt. */
  nonce: z.string(),
  session: z.string(),
  /** The id of the host that was left. */
  from: z.string(),
  host,
  /** The head that the session had then. */
  head: z.string(),
  /** The workspace that it was taken over with, and all folders that were restored. */
  place: z.object({ path: z.string(), file: z.string() }),
  folders: z.array(z.string()),
  /** Milliseconds since the epoch: when the restored files were captured. */
  at: z.number(),
});

export type HostRecord = z.infer<typeof schema>;
type HostRecords = { readonly records: readonly HostRecord[]; readonly next: string };

/** Reads all records of a session and its agents; `next` is the key of the one after them. */
export async function readHostRecords(store: Pick<Store, 'read'>, root: SessionId): Promise<HostRecords> {
  const records: HostRecord[] = [];
  for (;;) {
    const next = `hosts/${keySegment(root)}/${records.length + 1}`;
    const bytes = await store.read(next);
    if (bytes === null) return { records, next };
    const parsed = schema.safeParse(parseStored(bytes));
    if (!parsed.success)
      throw new StoreError('corrupt', `the record "${next}" is none of a host: restore it from a backup`);
    records.push(parsed.data);
  }
}

/** A host that had lost the folder has restored it. */
export const isInPlace = ({ from, host: to }: HostRecord): boolean => from === to.id;

/**
 * Returns the records about a folder since it came to a host: what was written before that is about
 * earlier moves.
 */
export function recordsSince(records: readonly HostRecord[], folder: string, hostId: string): readonly HostRecord[] {
  const ofFolder = records.filter(({ folders }) => folders.includes(folder));
  return ofFolder.slice(ofFolder.findLastIndex((one) => one.host.id === hostId && !isInPlace(one)) + 1);
}

/** Returns the last of the moves with which a folder left a host; null where it has not. */
export function findLastMove(since: readonly HostRecord[], hostId: string): HostRecord | null {
  const moves = since.filter((one) => !isInPlace(one));
  return moves[0]?.from === hostId ? (moves.at(-1) ?? null) : null;
}

/** Writes the next record. Returns false where another host was first. */
export async function createHostRecord(
  store: Pick<Store, 'create'>,
  key: string,
  record: Omit<HostRecord, 'v' | 'nonce'>,
): Promise<boolean> {
  const own: HostRecord = { v: 1, nonce: randomUUID(), ...record };
  const created = await store.create(key, new TextEncoder().encode(JSON.stringify(own)));
  if (created.kind === 'created') return true;
  const found = schema.safeParse(parseStored(created.bytes));
  // A create that took effect while its answer was lost finds itself.
  return found.success && found.data.nonce === own.nonce;
}

/** `host`: where a run was opened because its message names the folder. */
export type Return = {
  readonly session: SessionId;
  readonly root: SessionId;
  readonly host: SessionHost;
  readonly place: WorkspacePlace;
};

/**
 * Records that a session is back where it had left this folder: those who work there with it look
 * for it by its last move.
 */
export async function recordReturn(store: Pick<Store, 'create' | 'read'>, back: Return): Promise<void> {
  const { session, root, place } = back;
  const { id, name } = back.host;
  const { records, next } = await readHostRecords(store, root);
  const last = records.findLast(({ folders }) => folders.includes(place.path));
  if (!last || last.host.id === id) return;
  const { head, folders, at } = last;
  const record = { session, from: last.host.id, host: { id, name }, head, place, folders, at };
  // Somebody else may have moved meanwhile: then that is the last move.
  if (!(await createHostRecord(store, next, record))) await recordReturn(store, back);
}
