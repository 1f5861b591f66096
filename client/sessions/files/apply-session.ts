// Applies what a session has changed in its own folder onto another one (T11).
import { hasPacks } from '../../../store/snapshots/packs.ts';
import { realpath } from 'node:fs/promises';
import type { Client } from '@temporalio/client';
import type { Entry } from '../../../store/log/entries.ts';
import type { Store } from '../../../store/values/store.ts';
import { findPrograms } from '../../../system/process/programs.ts';
import { reasonOf } from '../../../system/text.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import { ClientProblem } from '../../problem.ts';
import { entriesFrom } from '../entries-from.ts';
import type { SessionDescription } from '../info.ts';
import { headOf } from '../newest-head.ts';
import { type Applied, applyChanges } from './apply-changes.ts';
import { type DiffOptions, findPairs } from './diff-session.ts';
import { findGit, openShadowReading } from './read-shadow.ts';

export type ApplyPorts = {
  readonly temporal: { readonly client: Client };
  readonly store: Store;
  readonly folder: { readonly root: string };
  readonly sessions: { describe(session: string): Promise<SessionDescription> };
};

export type ApplyOptions = Pick<DiffOptions, 'from' | 'to' | 'paths'> & {
  /** The folder that is changed: an absolute path. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Writes nothing, and returns what would be written. */
  readonly dryRun?: boolean;
};

/** Throws ClientProblem when nothing can be applied; nothing was written then. */
export async function applySession(
  { temporal, store, folder: { root }, sessions }: ApplyPorts,
  id: SessionId,
  { folder, env, dryRun = false, ...range }: ApplyOptions,
): Promise<Applied> {
  const { session, cwd } = await sessions.describe(id);
  const entries: Entry[] = [];
  const head = await headOf(temporal.client, session);
  for await (const { entry } of entriesFrom(store, session, head, 0)) entries.push(entry);
  const place = await realpath(folder).catch((error: unknown) => {
    throw new ClientProblem('refused', `${folder} cannot be used: ${reasonOf(error)}`);
  });
  const reading = openShadowReading(root, env, hasPacks(entries));
  const pairs = await findPairs({ session, cwd, reading, store }, { entries, first: 0 }, range);
  const own = pairs.find((pair) => pair.root === cwd);
  if (!own) return { written: [], deleted: [], same: 0, conflicts: [] };
  const ports = { reading, runIn: findGit(root, env).runIn, root, programs: findPrograms(env) };
  return applyChanges(ports, own, place, { dryRun });
}
