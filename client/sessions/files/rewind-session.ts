// Takes a session back to an earlier point, or undoes that (T6, T7).
import { readChain } from '../../../store/log/read-chain.ts';
import { listChanges, type ShadowReading } from '../../../store/snapshots/compare.ts';
import { showPath } from '../../../store/snapshots/listing.ts';
import { fetchPacks, hasPacks } from '../../../store/snapshots/packs.ts';
import type { Entry } from '../../../store/log/entries.ts';
import type { Store } from '../../../store/values/store.ts';
import type { Hash, SessionId } from '../../../workflows/contract/ids.ts';
import type { Rewind, Rewound } from '../../../workflows/contract/rewind.ts';
import { UPDATES } from '../../../workflows/contract/session.ts';
import { ClientProblem } from '../../problem.ts';
import type { SessionDescription } from '../info.ts';
import { sessionClosedProblem } from '../send.ts';
import { updateAndWait } from '../updates/update.ts';
import type { ActOptions } from '../decide.ts';
import type { ClientOptions } from '../start.ts';
import type { ChangedFile } from './diff-session.ts';
import { goBack, planRewind, type RewindChoice, type RewindPlan } from './plan-rewind.ts';

/** Options of `rewind()`. */
export type RewindOptions = ActOptions &
  RewindChoice & {
    /**
     * A position of an entry, `RUN.ITERATION`, or a message's id: the session goes on from right
     * before it. Absent: before the last prompt.
     */
    readonly to?: string | number;
    /** Only says what would be done. */
    readonly dryRun?: boolean;
  };

export type UndoOptions = ActOptions & { readonly force?: boolean };

/** The changes that were made, or would be. */
export type SessionRewound = RewindPlan & {
  /**
   * The files that differ; null where no snapshot of the session can be read here. What others have
   * changed since the last step is found only by the worker.
   */
  readonly files: readonly ChangedFile[] | null;
  /** The session's own record; null for a dry run. */
  readonly rewound: Rewound | null;
};

export type RewindPorts = Pick<ClientOptions, 'temporal'> & {
  readonly store: Store;
  readonly look: (session: SessionId) => Promise<SessionDescription>;
  readonly head: (session: SessionId) => Promise<Hash | null>;
  readonly snapshots: ClientOptions['snapshots'];
};

/** Milliseconds: a large folder takes its time, and a host may be away. */
const ANSWER_MS = 15 * 60_000;

/** Throws ClientProblem. */
export async function rewindSession(
  ports: RewindPorts,
  session: SessionId,
  { to, dryRun = false, by, ...choice }: RewindOptions & { readonly by: string },
): Promise<SessionRewound> {
  const described = await lookAtOpen(ports, session);
  if (!dryRun && described.phase !== 'idle')
    throw new ClientProblem('refused', 'something runs now, or waits to: interrupt it first');
  const chain = await readChain(ports.store, session, await requireHead(ports, session));
  const plan = planRewind(chain, to === undefined ? undefined : String(to), choice);
  const files = await listFiles(
    ports,
    plan.rewind,
    chain.flatMap(({ segment }) => segment.entries),
  );
  const rewound = dryRun ? null : await send(ports, described, plan.rewind, by);
  return { ...plan, files, rewound };
}

/** Undoes the last rewind, also one that was an undo. Throws ClientProblem. */
export async function undoRewind(
  ports: RewindPorts,
  session: SessionId,
  { by, force }: UndoOptions & { readonly by: string },
): Promise<Rewound> {
  const described = await lookAtOpen(ports, session);
  const from = await requireHead(ports, session);
  const last = (await readEntries(ports.store, session, from)).findLast(isRewind)?.steered.rewound;
  if (!last) throw new ClientProblem('refused', 'nothing was taken back in this session');
  const files = last.files?.map(({ root, before, to }) => ({ root, known: to, to: before }));
  const rewind: Rewind = {
    from,
    ...(last.to !== undefined && goBack(await readEntries(ports.store, session, last.from), last.from)),
    ...(files && { files }),
    ...(force === true && { force }),
  };
  return await send(ports, described, rewind, by);
}

async function readEntries(store: Store, session: SessionId, head: Hash): Promise<readonly Entry[]> {
  return (await readChain(store, session, head)).flatMap(({ segment }) => segment.entries);
}

type SteeredEntry = Extract<Entry, { readonly kind: 'steered' }>;

function isRewind(entry: Entry): entry is SteeredEntry {
  return entry.kind === 'steered' && entry.steered.rewound !== undefined;
}

async function lookAtOpen({ look }: RewindPorts, session: SessionId): Promise<SessionDescription> {
  const described = await look(session);
  if (described.status !== 'open') throw sessionClosedProblem(described);
  return described;
}

async function requireHead({ head }: RewindPorts, session: SessionId): Promise<Hash> {
  const now = await head(session);
  if (now === null) throw new ClientProblem('refused', `session ${session} has said nothing yet`);
  return now;
}

async function listFiles(
  { snapshots, store }: RewindPorts,
  { files = [] }: Rewind,
  entries: readonly Entry[],
): Promise<readonly ChangedFile[] | null> {
  if (files.length === 0) return [];
  const reading = openReading(() => snapshots?.(hasPacks(entries)));
  if (reading === null) return null;
  await fetchPacks(reading, store, entries);
  const lists = await Promise.all(
    files.map(async ({ root, known, to }) => {
      const changes = await listChanges(reading, { from: known, to, paths: [] });
      return changes.map(({ path, ...change }) => ({ root, path: showPath(path), ...change }));
    }),
  );
  return lists.flat();
}

/** Returns null where no snapshots can be read. */
function openReading(open: () => ShadowReading | undefined): ShadowReading | null {
  try {
    return open() ?? null;
  } catch (error) {
    if (error instanceof ClientProblem) return null;
    throw error;
  }
}

function send({ temporal }: RewindPorts, seen: SessionDescription, rewind: Rewind, by: string): Promise<Rewound> {
  const { session } = seen;
  const workers = () => Promise.resolve(seen);
  const about = { temporal, session, name: UPDATES.rewind, arg: rewind, signed: { by }, workers };
  return updateAndWait<Rewound>(about, ANSWER_MS);
}
