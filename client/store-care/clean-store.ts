// Drops what no known session can reach (W4): it marks from the sessions, then sweeps what is older
// than a grace period. A session that runs meanwhile writes younger values; an old value that it
// names again is renewed, or set aside where it is still found.
import { existsSync } from 'node:fs';
import type { Client } from '@temporalio/client';
import { NAMESPACES, readNamespace, readNamespaceName } from '../../connection/store-namespaces.ts';
import { FILE_BYTES } from '../../store/values/files.ts';
import { SKILL_VERSIONS } from '../../store/values/skills.ts';
import { keySegment, parseStored, type StoreCare, type StoredObject } from '../../store/values/store.ts';
import { isWorktreePlace, type WorktreeRecord } from '../../store/worktree-record.ts';
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import { oneLine } from '../paint.ts';
import { ClientProblem } from '../problem.ts';
import { findRoots } from './find-roots.ts';
import { markReached } from './mark-reached.ts';

// Finds work trees of agents (L72) whose sessions are gone. A work tree on this machine may hold
// work that is on no branch; its record is the only thing that leads there, and stays as long as
// the tree does.
export const WORKTREES = 'worktrees';

/**
 * `common` is the git directory of its repository. `holder` is the folder that contains only the
 * work tree.
 */
export type KeptWorktree = Pick<WorktreeRecord, 'tree' | 'common' | 'holder'>;

/**
 * Returns the work tree that a session's record names if it is on this machine, else null. Throws
 * StoreError.
 */
export async function findWorktree(care: Pick<StoreCare, 'record'>, key: string): Promise<KeptWorktree | null> {
  const [kind, session = ''] = key.split('/');
  if (kind !== WORKTREES) return null;
  const record = await care.record(`${WORKTREES}/${session}/begun`);
  const { tree, common, holder } = ((record && parseStored(record.bytes)) ?? {}) as Partial<WorktreeRecord>;
  if (tree === undefined || common === undefined || holder === undefined || !existsSync(tree)) return null;
  // A person is told to remove it, so it must be a place of ours.
  if (!isWorktreePlace({ holder, tree })) return null;
  return { tree, common, holder };
}

export type CleanStore = {
  readonly temporal: Client;
  readonly care: StoreCare;
  /** Id of the store. */
  readonly store: string;
  /** Milliseconds, at least GRACE_MS: younger objects are left alone. */
  readonly graceMs: number;
  /** Changes nothing and reports what would be done. */
  readonly dryRun: boolean;
  /**
   * Tells of records of memories and of vaults' secrets whether a resource needs them (G65, G67),
   * undefined for others. Absent: all stay.
   */
  readonly isResourceKept?: (key: string) => boolean | undefined;
  /**
   * Ids of the files (G66) and versions of skills (G64) that are needed: bytes of others are
   * dropped. Absent: those of all stay.
   */
  readonly files?: ReadonlySet<string>;
  /** Ids of deleted namespaces, whose sessions are gone. */
  readonly goneNamespaces?: readonly string[];
  readonly now?: () => number;
};

/** Covers the time between writing a value and the session that names it. */
export const GRACE_MS = 24 * 3_600_000;

type Tally = { objects: number; bytes: number };

export type CleanResult = {
  readonly sessions: number;
  /** Unnamed values, set aside for another grace period in which readers still find them. */
  readonly aside: Tally;
  /** Values that were set aside earlier and have stayed unnamed since. */
  readonly values: Tally;
  /** Records of sessions that are gone. */
  readonly records: Tally & { readonly sessions: number };
  /** Bytes that are free again: those that nothing else in the store holds. */
  readonly freed: number;
  /** Number of values that were set aside and that a session names. */
  readonly putBack: number;
  /** Work trees of sessions that are gone, still on this machine: their records stay. */
  readonly worktrees: readonly KeptWorktree[];
  /** The names in keys of all sessions that the server knows, and of those they are forks of. */
  readonly known: ReadonlySet<string>;
};

/** Refused results of a session are `managed/refused-<session>/…`. */
const REFUSED = 'refused-';

/** Kinds of records that belong to a session: `<kind>/<session>/…`. Other kinds stay. */
const OF_SESSIONS: ReadonlySet<string> = new Set([
  'steps',
  'calls',
  'waits',
  'offers',
  'labels',
  'silent',
  'hosts',
  WORKTREES,
]);

/**
 * Throws StoreError or ClientProblem when any part of a session cannot be read; nothing was changed
 * then.
 */
export async function cleanStore(cleaning: CleanStore): Promise<CleanResult> {
  const { temporal, care, store, graceMs, files, isResourceKept, now = Date.now } = cleaning;
  const olderThan = now() - graceMs;
  await refuseOtherNamespaces(cleaning);
  const roots = await findRoots(temporal, store);
  const segments = new Set([...roots.sessions].map((session: SessionId) => keySegment(session)));
  const isKept = (key: string): boolean => {
    const [kind = '', segment = ''] = key.split('/');
    const ofResources = isResourceKept?.(key);
    if (ofResources !== undefined) return ofResources;
    if (kind === FILE_BYTES || kind === SKILL_VERSIONS) return files?.has(segment) ?? true;
    if (kind === 'managed' && segment.startsWith(REFUSED)) return segments.has(segment.slice(REFUSED.length));
    return !OF_SESSIONS.has(kind) || segments.has(segment);
  };
  const writers = new Set<SessionId>();
  const reached = await markReached(care, roots, isKept, writers);
  const swept = await sweepStore(cleaning, olderThan, { reached, isKept });
  const known = new Set([...segments, ...[...writers].map(keySegment)]);
  return { sessions: roots.sessions.size, known, ...swept };
}

type Marks = { readonly reached: ReadonlySet<Hash>; readonly isKept: (key: string) => boolean };

/**
 * Sessions of another namespace cannot be seen from this one, so the store is refused. The users of
 * deleted namespaces are forgotten.
 */
async function refuseOtherNamespaces({ temporal, care, dryRun, goneNamespaces = [] }: CleanStore): Promise<void> {
  const own = await readNamespace(temporal);
  for await (const object of care.list('record')) {
    const [kind, id = ''] = object.name.split('/');
    if (kind !== NAMESPACES || id === own.id) continue;
    if (!goneNamespaces.includes(id)) {
      const name = readNamespaceName((await care.record(object.name))?.bytes);
      const what = `sessions of namespace "${oneLine(name, 100)}" (${id}) are in this store too, and cannot be seen from namespace "${own.name}"`;
      const remedy = `give each namespace a store of its own, or, where that one is no more, say --gone-namespace ${id}`;
      throw new ClientProblem('refused', `${what}: nothing was deleted; ${remedy}`);
    }
    if (!dryRun) await care.remove(object, Infinity);
  }
}

/** Handles the values set aside earlier first, so that it does not meet its own. */
async function sweepStore(
  { care, dryRun }: CleanStore,
  olderThan: number,
  { reached, isKept }: Marks,
): Promise<Omit<CleanResult, 'sessions' | 'known'>> {
  const [asideTally, values, records] = [emptyTally(), emptyTally(), emptyTally()];
  const free = countFreedBytes();
  const removedSessions = new Set<string>();
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
    // A session that began meanwhile is unknown here, so a young record is not counted for a
    // session that is gone.
    const worktree = object.at < olderThan ? await findWorktree(care, object.name) : null;
    if (worktree) worktrees.set(worktree.tree, worktree);
    else if (await remove(object, records)) removedSessions.add(object.name.split('/')[1] ?? '');
  }
  for await (const object of care.list('value')) {
    const hash = object.name as Hash;
    if (reached.has(hash) || object.at >= olderThan) continue;
    if (dryRun || (await care.setAside(hash, olderThan))) add(asideTally, object);
  }
  const all = { aside: asideTally, values, records: { ...records, sessions: removedSessions.size } };
  return { ...all, freed: free.bytes(), putBack, worktrees: [...worktrees.values()] };
}

const emptyTally = (): Tally => ({ objects: 0, bytes: 0 });

function add(into: Tally, { bytes }: StoredObject): void {
  into.objects += 1;
  into.bytes += bytes;
}

/**
 * Counts the bytes that removals free. If objects share bytes, only the removal of the last name
 * frees them.
 */
function countFreedBytes() {
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
