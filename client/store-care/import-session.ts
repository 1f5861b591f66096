// Imports a session from a file: puts its values into this store, then starts a session under the
// same id at the same point. The session starts like one that was handed over, so every version of
// the workflow can continue it.
import type { Client } from '@temporalio/client';
import { verifyTranscript } from '../../store/log/audit.ts';
import type { Store } from '../../store/values/store.ts';
import { FORK_KEY } from '../../workflows/contract/fork.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import type { Profile } from '../../workflows/contract/profiles.ts';
import { TASK_QUEUE, type SessionInput } from '../../workflows/contract/session.ts';
import { ClientProblem } from '../problem.ts';
import { carryAt } from '../sessions/carry-at.ts';
import { startCarried } from '../sessions/send.ts';
import type { CarriedSnapshots } from './carry-snapshots.ts';
import { type ImportedOptions, describeImportedOptions } from './brought.ts';
import { readSessionFile, type SessionHeader } from './session-file.ts';

export type ImportSession = {
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
