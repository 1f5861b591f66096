// Takes a session back to an earlier point, or undoes that (T6, T7).
import { readChain } from '../../../store/log/read-chain.ts';
import type { Store } from '../../../store/values/store.ts';
import type { Hash, SessionId } from '../../../workflows/contract/ids.ts';
import type { FolderRewind, RewindRecord, RewindRequest } from '../../../workflows/contract/rewind.ts';
import { UPDATES } from '../../../workflows/contract/session.ts';
import { ClientProblem } from '../../problem.ts';
import type { ClientMeans } from '../client-means.ts';
import type { SessionDescription } from '../info.ts';
import { updateAndWait } from '../updates/update.ts';
import type { ActOptions } from '../waiting-approval.ts';
import { lookAtFiles, lookAtSnapshots, type RewindPreview } from './look-at-files.ts';
import {
  entriesIn,
  goBack,
  knownAfter,
  nestedIn,
  planRewind,
  type RewindChoice,
  type RewindPlan,
} from './plan-rewind.ts';
import { type Entry, rewoundIn } from '../../../store/log/entries.ts';
import { lastSnapshots, withMovedRoots } from '../../../store/snapshots/snapshot-points.ts';

/** Options of `rewind()`. */
export type RewindOptions = ActOptions &
  RewindChoice & {
    /**
     * A position of an entry, `RUN.ITERATION`, or a message's id: the session goes on from right
     * before it. Absent: before the last prompt.
     */
    readonly to?: string | number;
    /**
     * Only says what would be done, after a worker has looked at the folders as they are.
     * `snapshots`: at once, as far as snapshots tell.
     */
    readonly dryRun?: boolean | 'snapshots';
  };

export type UndoOptions = ActOptions & { readonly force?: boolean };

/** The changes that were made, or would be. */
export type RewindResult = RewindPlan &
  RewindPreview & {
    /** The session's own record; null for a dry run. */
    readonly rewound: RewindRecord | null;
  };

/** `turns`: replies since the rewind, which are left behind in its place. */
export type UndoResult = RewindRecord & { readonly turns: number };

/** Milliseconds: a large folder takes its time, and a host may be away. */
const ANSWER_MS = 15 * 60_000;

/** Throws ClientProblem. */
export async function rewindSession(
  means: ClientMeans,
  session: SessionId,
  { to, dryRun = false, by, ...choice }: RewindOptions & { readonly by: string },
): Promise<RewindResult> {
  const { options } = means;
  const description = await means.lookAtOpen(session);
  if (!dryRun && description.phase !== 'idle')
    throw new ClientProblem('refused', 'The session is running or has messages waiting. Interrupt it first.');
  const chain = await readChain(options.store, session, await requireHead(means, session));
  const plan = planRewind(chain, to === undefined ? undefined : String(to), choice);
  const about = { description, rewind: plan.rewind, entries: entriesIn(chain), by };
  if (dryRun === true) return { ...plan, ...(await lookAtFiles(options, about)), rewound: null };
  const look = await lookAtSnapshots(options, about);
  if (dryRun) return { ...plan, ...look, rewound: null };
  const rewound = await send(means, description, plan.rewind, by);
  return { ...plan, ...look, ...sumRewound(rewound), rewound };
}

function sumRewound({ files = [] }: RewindRecord): Pick<RewindPreview, 'untaken' | 'inUse'> {
  const untaken = files.flatMap((root) => root.untaken ?? []);
  return {
    untaken: {
      count: untaken.reduce((sum, { count }) => sum + count, 0),
      first: untaken.flatMap(({ first }) => first),
    },
    inUse: files.flatMap(({ inUse = [] }) => inUse),
  };
}

/** Undoes the last rewind, also one that was an undo. Throws ClientProblem. */
export async function undoLastRewind(
  means: ClientMeans,
  session: SessionId,
  { by, force }: UndoOptions & { readonly by: string },
): Promise<UndoResult> {
  const description = await means.lookAtOpen(session);
  const { rewind, turns } = await planUndo(means.options.store, session, await requireHead(means, session));
  return { ...(await send(means, description, { ...rewind, ...(force === true && { force }) }, by)), turns };
}

async function requireHead({ head }: ClientMeans, session: SessionId): Promise<Hash> {
  const now = await head(session);
  if (now === null) throw new ClientProblem('refused', 'This session has no prompts, so there is nothing to rewind.');
  return now;
}

function send(
  { options: { temporal } }: ClientMeans,
  description: SessionDescription,
  rewind: RewindRequest,
  by: string,
): Promise<RewindRecord> {
  const { session } = description;
  const workers = () => Promise.resolve(description);
  const about = { temporal, session, name: UPDATES.rewind, arg: rewind, signed: { by }, workers };
  return updateAndWait<RewindRecord>(about, ANSWER_MS);
}

/** `turns`: replies since the rewind, which are left behind. */
type UndoPlan = { readonly rewind: RewindRequest; readonly turns: number };

/**
 * Plans to undo the last rewind of a session, also when it went on since (T7): what it did since is
 * left behind in turn. `from` is the head of the session. Throws ClientProblem where nothing was
 * taken back.
 */
export async function planUndo(store: Store, session: SessionId, from: Hash): Promise<UndoPlan> {
  const entries = entriesIn(await readChain(store, session, from));
  const at = findLastRewind(entries);
  const last = rewoundIn(entries[at]);
  if (!last) throw new ClientProblem('refused', 'There is no rewind to undo in this session.');
  const renamed = withMovedRoots(entries);
  const newest = lastSnapshots(renamed);
  const files = last.files?.map(({ root, before, to, after = to }): FolderRewind => ({
    root,
    known: newest.get(root) ?? after,
    to: before,
    ...nestedIn(root, newest),
  }));
  const folders = files && { files };
  if (last.to === undefined) return { rewind: { from, ...folders }, turns: 0 };
  const restored = entriesIn(await readChain(store, session, last.from));
  const known = knownAfter(withMovedRoots(restored), renamed, files ?? []);
  const turns = entries.slice(at).filter(({ kind }) => kind === 'reply').length;
  return { rewind: { from, ...goBack(restored, last.from), ...known, ...folders }, turns };
}

/** A rewind of the session that this one is a fork of cannot be undone here. */
function findLastRewind(entries: readonly Entry[]): number {
  const forked = entries.findLastIndex((entry) => entry.kind === 'notice' && entry.notice.kind === 'forked');
  const at = entries.findLastIndex((entry) => rewoundIn(entry) !== undefined);
  return at > forked ? at : -1;
}
