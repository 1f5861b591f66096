// Takes a session from a file: its values into this store, then a session under the same id that
// waits where that one was. It is begun as one that was handed over, so that every version of the
// workflow knows how to go on with it.
import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { verifyTranscript } from '../../store/log/audit.ts';
import type { Store } from '../../store/values/store.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import type { Profile } from '../../workflows/contract/profiles.ts';
import { TASK_QUEUE, type SessionInput } from '../../workflows/contract/session.ts';
import { ClientProblem } from '../problem.ts';
import { startCarried } from '../sessions/send.ts';
import { type Brought, broughtBy } from './brought.ts';
import { readSessionFile, type SessionHeader } from './session-file.ts';

export type ImportSession = {
  readonly temporal: Client;
  readonly store: Store;
  readonly storeId: string;
  readonly path: string;
  /** The session's folder here. */
  readonly cwd: string;
  /** As of a client's sessions. */
  readonly profile: Profile;
  readonly sealed: boolean;
  readonly visibility: boolean;
  readonly taskQueue?: string;
  /**
   * Called once the file was found whole, before anything of it is taken: throws when it is not to
   * be.
   */
  readonly accept: (brought: Brought) => Promise<void>;
};

/** `again`: it was taken from this file before, and is left as it is now. */
export type Imported = { readonly session: SessionId; readonly again: boolean };

/**
 * Throws ClientProblem for a file that is not whole, and for another session of its id: then
 * nothing was begun.
 */
export async function importSession(importing: ImportSession): Promise<Imported> {
  const { temporal, store, path } = importing;
  // All of it is checked before anything is written.
  const seen = await readSessionFile(path, () => Promise.resolve());
  await importing.accept(broughtBy(seen.options));
  const header = await readSessionFile(path, async ({ bytes }) => void (await store.put(bytes)));
  if (JSON.stringify(header) !== JSON.stringify(seen))
    throw new ClientProblem('refused', `${path} was changed while it was read: look at it again`);
  const session = header.session as SessionId;
  const { problems } = await verifyTranscript(store, session, header.head);
  const [problem] = problems;
  if (problem) throw new ClientProblem('refused', `${path} lacks a part of the session: ${problem.problem}`);
  const begun = await startCarried(temporal, {
    session,
    input: carryInput(importing, header),
    workers: { taskQueue: importing.taskQueue ?? TASK_QUEUE, configuration: null },
    store: importing.storeId,
    now: Date.now(),
    memo: { head: header.head, runs: header.runs, last: header.last },
  });
  return { session, again: !begun };
}

/**
 * What a handover between two runs carries. Keys of calls and steps begin anew: records do not come
 * along.
 */
export function carryInput(
  { cwd, profile, sealed, visibility }: Pick<ImportSession, 'cwd' | 'profile' | 'sealed' | 'visibility'>,
  { title, head, runs, last, options }: Pick<SessionHeader, 'title' | 'head' | 'runs' | 'last' | 'options'>,
) {
  const carry = {
    chain: randomUUID(),
    step: 0,
    head,
    options: { ...options, cwd },
    runs,
    begun: false,
    inbox: { queue: [], seen: [] },
    last,
    context: { contextTokens: 0, staged: [] },
    snips: [],
    run: null,
  };
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
