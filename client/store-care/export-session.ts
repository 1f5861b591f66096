// Writes a session into a file: its transcript with every value that it reaches, and its options.
// It refuses a session that is at work.
import { open, rm } from 'node:fs/promises';
import type { Client } from '@temporalio/client';
import { codeOf, reasonOf } from '../../system/text.ts';
import type { StoreCare } from '../../store/values/store-care.ts';
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import { ClientProblem } from '../problem.ts';
import type { SessionDescription } from '../sessions/info.ts';
import { optionsOf } from '../sessions/options-of.ts';
import type { packSnapshots } from './carry-snapshots.ts';
import { markReached } from './mark-reached.ts';
import { type SessionHeader, writeLines } from './session-file.ts';

type Sessions = { describe(session: string): Promise<SessionDescription> };

export type ExportSession = {
  readonly temporal: Client;
  readonly sessions: Sessions;
  readonly care: StoreCare;
  readonly session: SessionId;
  /** Path of a new file. */
  readonly path: string;
  /** Packs the snapshots of its files; null without any. Absent: they are left out. */
  readonly snapshots?: (() => ReturnType<typeof packSnapshots>) | undefined;
};

export type ExportResult = { readonly values: number; readonly bytes: number };

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
