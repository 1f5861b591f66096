// Drops what no session that the server still knows can reach (W4): marks from the sessions, then
// sweeps what is older than a grace period. What a session that runs beside it writes is younger;
// what it finds there and names again is renewed, or set aside and still found.
import type { Client } from '@temporalio/client';
import type { StoreCare, StoredObject } from '../../store/values/store-care.ts';
import { keySegment } from '../../store/values/store.ts';
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import { readNamespace, userName, USERS } from '../../connection/store-users.ts';
import { oneLine } from '../paint.ts';
import { ClientProblem } from '../problem.ts';
import { findRoots } from './find-roots.ts';
import { type KeptWorktree, keptWorktree, WORKTREES } from './kept-worktrees.ts';
import { markReached } from './mark-reached.ts';

export type CleanStore = {
  readonly temporal: Client;
  readonly care: StoreCare;
  /** The store's id. */
  readonly store: string;
  /** Milliseconds, at least GRACE_MS: what is younger is left alone. */
  readonly graceMs: number;
  /** Changes nothing, and says what it would do. */
  readonly dryRun: boolean;
  /** Ids of namespaces that are no more: their sessions are gone. */
  readonly goneNamespaces?: readonly string[];
  readonly now?: () => number;
};

/** Between the moment when a value is written and the one when a session names it. */
export const GRACE_MS = 24 * 3_600_000;

type Tally = { objects: number; bytes: number };

export type Cleaned = {
  readonly sessions: number;
  /**
   * Values that nobody names. They are kept for another grace period, where readers still find
   * them.
   */
  readonly aside: Tally;
  /** Values that were set aside before, and that nobody has named since. */
  readonly values: Tally;
  /** Of sessions that are gone. */
  readonly records: Tally & { readonly sessions: number };
  /** Bytes that are free again: those that nothing else in the store holds. */
  readonly freed: number;
  /** Values that were set aside, and that a session names. */
  readonly putBack: number;
  /** Of sessions that are gone, and on this machine still: their records stay. */
  readonly worktrees: readonly KeptWorktree[];
};

/** Kinds of records that belong to a session: `<kind>/<session>/…`. What else there is stays. */
const OF_SESSIONS: ReadonlySet<string> = new Set(['steps', 'calls', 'waits', 'labels', WORKTREES]);

/**
 * Throws StoreError or ClientProblem when anything of a session cannot be read: then nothing was
 * changed.
 */
export async function cleanStore(cleaning: CleanStore): Promise<Cleaned> {
  const { temporal, care, store, graceMs, now = Date.now } = cleaning;
  const olderThan = now() - graceMs;
  await refuseOtherNamespaces(cleaning);
  const roots = await findRoots(temporal, store);
  const segments = new Set([...roots.sessions].map((session: SessionId) => keySegment(session)));
  const isKept = (key: string): boolean => {
    const [kind = '', segment = ''] = key.split('/');
    return !OF_SESSIONS.has(kind) || segments.has(segment);
  };
  const reached = await markReached(care, roots, isKept);
  const swept = await sweep(cleaning, olderThan, { reached, isKept });
  return { sessions: roots.sessions.size, ...swept };
}

type Marked = { readonly reached: ReadonlySet<Hash>; readonly isKept: (key: string) => boolean };

/**
 * Sessions of another namespace cannot be seen from this one. Those that are said to be gone are
 * forgotten.
 */
async function refuseOtherNamespaces({ temporal, care, dryRun, goneNamespaces = [] }: CleanStore): Promise<void> {
  const own = await readNamespace(temporal);
  for await (const object of care.list('record')) {
    const [kind, id = ''] = object.name.split('/');
    if (kind !== USERS || id === own.id) continue;
    if (!goneNamespaces.includes(id)) {
      const name = userName((await care.record(object.name))?.bytes);
      const what = `sessions of namespace "${oneLine(name, 100)}" (${id}) are in this store too, and cannot be seen from namespace "${own.name}"`;
      const remedy = `give each namespace a store of its own, or, where that one is no more, say --gone-namespace ${id}`;
      throw new ClientProblem('refused', `${what}: nothing was deleted; ${remedy}`);
    }
    if (!dryRun) await care.remove(object, Infinity);
  }
}

/** What was set aside comes first: what this sweep sets aside is not among it. */
async function sweep(
  { care, dryRun }: CleanStore,
  olderThan: number,
  { reached, isKept }: Marked,
): Promise<Omit<Cleaned, 'sessions'>> {
  const [aside, values, records] = [tally(), tally(), tally()];
  const free = freedBytes();
  const gone = new Set<string>();
  const worktrees = new Map<string, KeptWorktree>();
  let putBack = 0;
  const remove = async (object: StoredObject, into: Tally): Promise<boolean> => {
    if (object.at >= olderThan || !(dryRun || (await care.remove(object, olderThan)))) return false;
    add(into, object);
    free.add(object);
    return true;
  };
  for await (const object of care.list('aside')) {
    const hash = object.name as Hash;
    if (!reached.has(hash)) await remove(object, values);
    else {
      putBack += 1;
      if (!dryRun) await care.putBack(hash);
    }
  }
  for await (const object of care.list('record')) {
    if (isKept(object.name)) continue;
    // A session that began meanwhile is not known here: what is too young to be removed is not told
    // to be of one that is gone.
    const worktree = object.at < olderThan ? await keptWorktree(care, object.name) : null;
    if (worktree) worktrees.set(worktree.tree, worktree);
    else if (await remove(object, records)) gone.add(object.name.split('/')[1] ?? '');
  }
  for await (const object of care.list('value')) {
    const hash = object.name as Hash;
    if (reached.has(hash) || object.at >= olderThan) continue;
    if (dryRun || (await care.setAside(hash, olderThan))) add(aside, object);
  }
  const all = { aside, values, records: { ...records, sessions: gone.size } };
  return { ...all, freed: free.bytes(), putBack, worktrees: [...worktrees.values()] };
}

const tally = (): Tally => ({ objects: 0, bytes: 0 });

function add(into: Tally, { bytes }: StoredObject): void {
  into.objects += 1;
  into.bytes += bytes;
}

/** Of an object that shares its bytes, only the last of its names frees them. */
function freedBytes() {
  const left = new Map<string, number>();
  let freed = 0;
  return {
    add: ({ bytes, shared }: StoredObject): void => {
      const names = shared ? (left.get(shared.file) ?? shared.names) - 1 : 0;
      if (shared) left.set(shared.file, names);
      if (names === 0) freed += bytes;
    },
    bytes: (): number => freed,
  };
}
