// Carries a session to another store in a file: its transcript with every value that it reaches,
// and its options. The import starts a session under the same id at the same point, like one that
// was handed over, so every version of the workflow can continue it.
import { open, rm } from 'node:fs/promises';
import type { Client } from '@temporalio/client';
import { verifyTranscript } from '../../store/log/audit.ts';
import type { Store, StoreCare } from '../../store/values/store.ts';
import { codeOf, reasonOf } from '../../system/text.ts';
import { FORK_KEY } from '../../workflows/contract/fork.ts';
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import type { Profile } from '../../workflows/contract/profiles.ts';
import { type SessionInput, TASK_QUEUE } from '../../workflows/contract/session.ts';
import { ClientProblem } from '../problem.ts';
import { carryAt, optionsOf } from '../sessions/carry-at.ts';
import type { SessionDescription } from '../sessions/info.ts';
import { startCarried } from '../sessions/send.ts';
import type { CarriedSnapshots, packSnapshots } from './carry-snapshots.ts';
import { markReached } from './mark-reached.ts';
import { readSessionFile, type SessionHeader, writeLines } from './session-file.ts';
import { describeImportedOptions, type ImportedOptions } from './brought.ts';

type ImportSession = {
  readonly temporal: Client;
  readonly store: Store;
  readonly storeId: string;
  readonly path: string;
  /** The session's folder here. */
  readonly cwd: string;
  /** Profile for the session, as for the sessions of a client. */
  readonly profile: Profile;
  readonly sealed: boolean;
  readonly visibility: boolean;
  readonly taskQueue?: string;
  /**
   * Called once the file is known to be whole and before anything of it is stored. Throws to refuse
   * it.
   */
  readonly accept: (brought: ImportedOptions) => Promise<void>;
  /** Takes the snapshots of its files. Absent: they are left out. */
  readonly snapshots?: (session: SessionId, carried: CarriedSnapshots, pack: Uint8Array) => Promise<void>;
};

/** `again` is true when the session was imported from this file before; it is left unchanged. */
export type ImportResult = { readonly session: SessionId; readonly again: boolean };

/**
 * Throws ClientProblem for an incomplete file, and when another session has the id; nothing was
 * begun then.
 */
export async function importSession(importing: ImportSession): Promise<ImportResult> {
  const { temporal, store, path } = importing;
  // Check the whole file before anything is written.
  const checked = await readSessionFile(path, () => Promise.resolve());
  await importing.accept(describeImportedOptions(checked.options));
  const carried = checked.snapshots;
  const header = await readSessionFile(path, async ({ hash, bytes }) => {
    if (hash !== carried?.pack) await store.put(bytes);
    else await importing.snapshots?.(checked.session as SessionId, carried, bytes);
  });
  if (JSON.stringify(header) !== JSON.stringify(checked))
    throw new ClientProblem('refused', `${path} was changed while it was read: look at it again`);
  const session = header.session as SessionId;
  const { problems } = await verifyTranscript(store, session, header.head);
  const [problem] = problems;
  if (problem) throw new ClientProblem('refused', `${path} lacks a part of the session: ${problem.problem}`);
  const started = await startCarried(temporal, {
    session,
    input: carryInput(importing, header),
    workers: { taskQueue: importing.taskQueue ?? TASK_QUEUE, configuration: null },
    store: importing.storeId,
    now: Date.now(),
    memo: { head: header.head, runs: header.runs, last: header.last },
    ...(header.forkedFrom && { more: { [FORK_KEY]: header.forkedFrom } }),
  });
  return { session, again: !started };
}

/** Makes the input of the session. */
export function carryInput(
  { cwd, profile, sealed, visibility }: Pick<ImportSession, 'cwd' | 'profile' | 'sealed' | 'visibility'>,
  { title, head, runs, last, options }: Pick<SessionHeader, 'title' | 'head' | 'runs' | 'last' | 'options'>,
) {
  const carry = carryAt({ head, runs, last, options: { ...options, cwd } });
  const input: SessionInput & { readonly carry: typeof carry } = {
    options: { ...options, cwd },
    title,
    ...(visibility ? { visibility: true, attributes: true } : { visibility: false }),
    profile,
    ...(sealed ? { sealed: true } : {}),
    carry,
  };
  return input;
}

type Sessions = { describe(session: string): Promise<SessionDescription> };

type ExportSession = {
  readonly temporal: Client;
  readonly sessions: Sessions;
  readonly care: StoreCare;
  readonly session: SessionId;
  /** Path of a new file. */
  readonly path: string;
  /** Packs the snapshots of its files; null without any. Absent: they are left out. */
  readonly snapshots?: (() => ReturnType<typeof packSnapshots>) | undefined;
};

type ExportResult = { readonly values: number; readonly bytes: number };

/**
 * Throws ClientProblem, and StoreError for a transcript that cannot be read. Leaves no incomplete
 * file.
 */
export async function exportSession({
  temporal,
  sessions,
  care,
  session,
  path,
  snapshots,
}: ExportSession): Promise<ExportResult> {
  const described = await headerOf(temporal, sessions, session);
  const packed = (await snapshots?.()) ?? null;
  const header = packed ? { ...described, snapshots: packed.carried } : described;
  const roots = { sessions: new Set([session]), heads: new Map([[session, header.head]]), named: new Set<Hash>() };
  const reached = await markReached(care, roots, () => false);
  const exported = { values: 0, bytes: 0 };
  const values = async function* () {
    if (packed) yield { hash: packed.carried.pack, bytes: packed.bytes };
    for (const hash of reached) {
      const bytes = await care.value(hash);
      // A text may look like a hash.
      if (!bytes) continue;
      exported.values += 1;
      yield { hash, bytes };
    }
  };
  const file = await open(path, 'wx', 0o600).catch((error: unknown) => {
    if (codeOf(error) === undefined) throw error;
    const why = codeOf(error) === 'EEXIST' ? 'is there already' : `cannot be written: ${reasonOf(error)}`;
    throw new ClientProblem('refused', `${path} ${why}: name another`, { cause: error });
  });
  try {
    for await (const line of writeLines(header, values())) exported.bytes += (await file.write(line)).bytesWritten;
    await file.sync();
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  return exported;
}

async function headerOf(temporal: Client, sessions: Sessions, session: SessionId): Promise<SessionHeader> {
  const { phase, title, head, runs, last, unseen, forkedFrom } = await sessions.describe(session);
  const isOver = (phase === 'idle' || phase === 'closed') && !unseen && runs === (last?.run ?? 0);
  if (!isOver || head === null) {
    const why = isOver ? 'has no transcript yet' : `is in the middle of a run (${phase.replace('_', ' ')})`;
    throw new ClientProblem('refused', `session ${session} ${why}: export it when a run has ended`);
  }
  const options = await optionsOf(temporal, session);
  return { perdure: 'session', v: 1, session, title, head, runs, last, options, ...(forkedFrom && { forkedFrom }) };
}
