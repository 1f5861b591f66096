// Moves sessions between hosts. A host that takes one over restores its folders from the last
// snapshots, where nothing else lies in their place, and becomes the session's (T18); one that a
// session leaves captures its folders first (T20).
import { readdir } from 'node:fs/promises';
import { codeOf } from '../../system/text.ts';
import type { TakenOver, TakeOver, HostLeft, LeaveHost } from '../../workflows/contract/hosts.ts';
import type { Hash } from '../../workflows/contract/ids.ts';
import { lastSnapshotOf, type StoredFiles } from '../../store/snapshots/snapshot-points.ts';
import { isLost } from '../../store/hosted-sessions.ts';
import type { View } from '../../store/view/view.ts';
import type { RunConfig } from '../../store/configuration.ts';
import { type Attempt, createGivenUpError, forAnotherWorker, leaveFolderToOthers } from '../attempt.ts';
import type { Deps } from '../deps.ts';
import { describeDataOverlap, findWorkspace } from '../run/folders.ts';
import { isFolderThere } from './require-folder.ts';
import {
  createHostRecord,
  findLastMove,
  type HostRecord,
  isInPlace,
  readHostRecords,
  recordsSince,
} from './host-record.ts';

/** The deps of a host that takes sessions over. */
type Means = Deps & Required<Pick<Deps, 'hosts' | 'snapshots'>> & { readonly host: NonNullable<Deps['host']> };

export function takeOver(deps: Deps): (attempt: Attempt, input: TakeOver) => Promise<TakenOver> {
  return async (attempt, input) => {
    const { host, hosts, snapshots } = deps;
    if (!host || !hosts || !snapshots)
      return leaveToAnother(attempt, 'this worker shares no store with the host of the session');
    const means: Means = { ...deps, host, hosts, snapshots };
    const joined = await findJoined(means, attempt, input);
    if (joined) return joinOthers(means, attempt, input, joined);
    if (input.because === 'moved' && host.id === input.from.id)
      return leaveToAnother(attempt, `host ${host.name} is the one that the session leaves`);
    if (hosts.isLeaving()) return leaveToAnother(attempt, `host ${host.name} is draining`);
    if (input.because === 'away' && (await isAtWork(means, attempt, input))) return { kind: 'there' };
    const { head } = input;
    if (head === null) return { kind: 'refused', problem: 'nothing of this agent is stored yet' };
    return restoreHere(means, attempt, { ...input, head });
  };
}

async function isAtWork({ host, hosts }: Means, { temporal }: Attempt, { from, queue }: TakeOver): Promise<boolean> {
  return host.id === from.id || (temporal !== undefined && (await hosts.isAtWork(temporal, queue)));
}

/**
 * Finds the host that the others who work in the folder have moved to already, or that an earlier
 * attempt made the session's without being heard.
 */
async function findJoined(means: Means, attempt: Attempt, input: TakeOver): Promise<HostRecord | null> {
  const { from, head, place, because } = input;
  const { records } = await readHostRecords(means.store, input.root);
  const since = recordsSince(records, place.path, from.id);
  const isOthers = (one: HostRecord): boolean => one.session !== attempt.session;
  if (since.some((one) => !isInPlace(one))) {
    const last = findLastMove(since, from.id);
    return last && (isOthers(last) || last.head === head) ? last : null;
  }
  const restored = because === 'emptied' ? since.findLast(isOthers) : undefined;
  return restored && (await isRestored(means, attempt, restored)) ? restored : null;
}

/** Only that host can tell, and another takes its place when it does not for long. */
async function isRestored({ host }: Means, { number }: Attempt, record: HostRecord): Promise<boolean> {
  if (record.host.id === host.id) return isFolderThere(record.place.path);
  leaveFolderToOthers(number, `host ${record.host.name} may have restored ${record.place.path}`);
  return false;
}

/** A session that has something stored. */
type Begun = TakeOver & { readonly head: Hash };

async function restoreHere(means: Means, attempt: Attempt, input: Begun): Promise<TakenOver> {
  const { host, hosts, store, snapshots } = means;
  const run = await readRun(means, attempt, input);
  const { view, config } = run;
  const known: StoredFiles = { view, known: input.files ? [input.files] : [] };
  const folders = snapshots.rootsOf(config);
  const restored: (readonly [root: string, snapshot: string])[] = [];
  for (const root of folders) {
    const snapshot = lastSnapshotOf(known, root);
    if (snapshot === null) {
      const missing = `no snapshot of ${root} is stored: start a worker on host ${input.from.name}`;
      return { kind: 'refused', problem: missing };
    }
    const problem = await whyOccupied(means, attempt, root);
    if (problem !== null) return leaveToAnother(attempt, problem);
    restored.push([root, snapshot]);
  }
  // An attempt that is killed leaves folders that the next one here may go on with.
  hosts.hosted.note(attempt.session, folders, attempt.temporal?.options.namespace);
  for (const [root, snapshot] of restored) {
    const end = await snapshots.bring({ ...input, attempt, root, snapshot, known: known.known });
    if (end.kind === 'refused') return leaveToAnother(attempt, end.problem);
  }
  const { place, problem } = await findWorkspace(config.cwd, means.dataDir);
  if (problem !== undefined) return leaveToAnother(attempt, problem);
  if (!(await attempt.fence())) throw createGivenUpError(attempt);
  const at = input.files?.at ?? lastCapture(view);
  const { session } = attempt;
  const record = { session, from: input.from.id, host, head: input.head, place, folders: [...folders], at };
  const { next } = await readHostRecords(store, input.root);
  if (!(await createHostRecord(store, next, record)))
    throw forAnotherWorker('FolderElsewhere', 'another host was faster to take the session over', true);
  means.log('warn', `session ${session} works on this host now: ${input.from.name} was left`, { session });
  return describeTaken(means, input, record, input.files ? [] : lostCalls(means, run));
}

function describeTaken(
  { host, hosts }: Means,
  { from }: TakeOver,
  { host: { id, name }, place, at }: Pick<HostRecord, 'host' | 'place' | 'at'>,
  calls: readonly string[],
): TakenOver {
  // A session that stays with its host does so with the next one as well.
  const grace = from.graceMs === undefined ? {} : { graceMs: id === host.id ? hosts.graceMs : from.graceMs };
  return { kind: 'taken', host: { id, name, ...grace }, place, at, calls };
}

type StoredRun = { readonly view: View; readonly config: RunConfig };

/** Returns what the transcript has up to the last stored step, and how its last run was opened. */
async function readRun(
  { transcripts, config }: Pick<Deps, 'transcripts' | 'config'>,
  { session }: Attempt,
  { head }: Begun,
): Promise<StoredRun> {
  const view = await transcripts.view(session, head);
  const started = view.entries.findLast((entry) => entry.kind === 'run_started');
  if (!started) throw new Error('a stored step without the start of its run');
  return { view, config: await config(started.config) };
}

function lastCapture(view: View): number {
  return view.entries.findLast((entry) => entry.kind === 'files')?.at ?? 0;
}

const MOST_CALLS = 20;

/** Names the calls whose changes to files no snapshot has that was taken until `at`. */
function lostCalls({ snapshots }: Means, { view, config }: StoredRun, at = Infinity): readonly string[] {
  return snapshots.uncapturedCalls(config, view, at).slice(0, MOST_CALLS);
}

/** The folders were restored for another session that works in them: its snapshot counts. */
async function joinOthers(means: Means, attempt: Attempt, input: TakeOver, record: HostRecord): Promise<TakenOver> {
  const { head, files } = input;
  const { session, temporal } = attempt;
  if (record.host.id === means.host.id) means.hosts.hosted.note(session, record.folders, temporal?.options.namespace);
  // Files that were captured on leaving are restored only for the session itself.
  const isTold = head === null || (files !== undefined && record.session === session);
  const calls = isTold ? [] : lostCalls(means, await readRun(means, attempt, { ...input, head }), record.at);
  return describeTaken(means, input, record, calls);
}

/**
 * Returns why a folder cannot be restored here, or null: what lies in its place may be another's.
 */
async function whyOccupied(
  { hosts, host, dataDir }: Means,
  { session }: Attempt,
  root: string,
): Promise<string | null> {
  const overlap = await describeDataOverlap(`on host ${host.name} ${root}`, root, dataDir);
  if (overlap !== undefined) return overlap;
  if (hosts.hosted.read(session)?.folders.includes(root)) {
    const other = hosts.hosted
      .list()
      .find((one) => one.session !== session && !isLost(one) && one.folders.includes(root));
    return other ? `session ${other.session} works in ${root} on host ${host.name}` : null;
  }
  const names = await readdir(root).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return [];
    if (codeOf(error) === 'ENOTDIR') return ['.'];
    throw error;
  });
  return names.length === 0 ? null : `${root} is another folder on host ${host.name}, and not empty`;
}

/** Leaves the session to another host; where none is left to ask, it waits for its own. */
function leaveToAnother({ number }: Attempt, problem: string): TakenOver {
  leaveFolderToOthers(number, `${problem}: another host may take the session over`);
  return { kind: 'refused', problem };
}

/** Prepares a session to leave this host while it is at work: its background commands end. */
export function leaveHost(deps: Deps): (attempt: Attempt, input: LeaveHost) => Promise<HostLeft> {
  return async ({ session, signal }, { head }) => {
    const { transcripts, snapshots, background } = deps;
    await background?.endSession(session);
    const view = await transcripts.view(session, head);
    const started = view.entries.findLast((entry) => entry.kind === 'run_started');
    if (!started || !snapshots) return { files: null };
    const config = await deps.config(started.config);
    return { files: await snapshots.captureAll({ config, head, base: { view, added: [] }, signal }) };
  };
}
