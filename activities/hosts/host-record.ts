// The record of moves between hosts, in the store that they share: of all hosts that would take a
// session over, one writes the next record. A session and its agents have one list, since they work
// in the same folders.
import { randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { ApplicationFailure } from '@temporalio/common';
import { z } from 'zod';
import type { RunConfig } from '../../store/configuration.ts';
import { keySegment, parseStored, type Store, StoreError } from '../../store/values/store.ts';
import { codeOf } from '../../system/text.ts';
import { FOLDER_LEFT, HOST_EMPTIED } from '../../workflows/contract/failures.ts';
import type { SessionHost, WorkspacePlace } from '../../workflows/contract/hosts.ts';
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import type { ActivityBody, Attempt } from '../attempt.ts';
import type { Deps } from '../deps.ts';

const hostSchema = z.object({ id: z.string(), name: z.string() });
const schema = z.object({
  v: z.literal(1),
  /** Tells a record of our own from an equal one of another attempt. */
  nonce: z.string(),
  session: z.string(),
  /** The id of the host that was left. */
  from: z.string(),
  host: hostSchema,
  /** The head that the session had then. */
  head: z.string(),
  /** The workspace that it was taken over with, and all folders that were restored. */
  place: z.object({ path: z.string(), file: z.string() }),
  folders: z.array(z.string()),
  /** Milliseconds since the epoch: when the restored files were captured. */
  at: z.number(),
});

export type HostRecord = z.infer<typeof schema>;
type HostRecords = { readonly records: readonly HostRecord[]; readonly next: string };

/** Reads all records of a session and its agents; `next` is the key of the one after them. */
export async function readHostRecords(store: Pick<Store, 'read'>, root: SessionId): Promise<HostRecords> {
  const records: HostRecord[] = [];
  for (;;) {
    const next = `hosts/${keySegment(root)}/${records.length + 1}`;
    const bytes = await store.read(next);
    if (bytes === null) return { records, next };
    const parsed = schema.safeParse(parseStored(bytes));
    if (!parsed.success)
      throw new StoreError('corrupt', `the record "${next}" is none of a host: restore it from a backup`);
    records.push(parsed.data);
  }
}

/** A host that had lost the folder has restored it. */
export const isInPlace = ({ from, host: to }: HostRecord): boolean => from === to.id;

/**
 * Returns the records about a folder since it came to a host: what was written before that is about
 * earlier moves.
 */
export function recordsSince(records: readonly HostRecord[], folder: string, hostId: string): readonly HostRecord[] {
  const ofFolder = records.filter(({ folders }) => folders.includes(folder));
  return ofFolder.slice(ofFolder.findLastIndex((one) => one.host.id === hostId && !isInPlace(one)) + 1);
}

/** Returns the last of the moves with which a folder left a host; null where it has not. */
export function findLastMove(since: readonly HostRecord[], hostId: string): HostRecord | null {
  const moves = since.filter((one) => !isInPlace(one));
  return moves[0]?.from === hostId ? (moves.at(-1) ?? null) : null;
}

/** Writes the next record. Returns false where another host was first. */
export async function createHostRecord(
  store: Pick<Store, 'create'>,
  key: string,
  record: Omit<HostRecord, 'v' | 'nonce'>,
): Promise<boolean> {
  const own: HostRecord = { v: 1, nonce: randomUUID(), ...record };
  const created = await store.create(key, new TextEncoder().encode(JSON.stringify(own)));
  if (created.kind === 'created') return true;
  const found = schema.safeParse(parseStored(created.bytes));
  // A create that took effect while its answer was lost finds itself.
  return found.success && found.data.nonce === own.nonce;
}

/** `host`: where a run was opened because its message names the folder. */
export type Return = {
  readonly session: SessionId;
  readonly root: SessionId;
  readonly host: SessionHost;
  readonly place: WorkspacePlace;
};

/**
 * Records that a session is back where it had left this folder: those who work there with it look
 * for it by its last move.
 */
export async function recordReturn(store: Pick<Store, 'create' | 'read'>, back: Return): Promise<void> {
  const { session, root, place } = back;
  const { id, name } = back.host;
  const { records, next } = await readHostRecords(store, root);
  const last = records.findLast(({ folders }) => folders.includes(place.path));
  if (!last || last.host.id === id) return;
  const { head, folders, at } = last;
  const record = { session, from: last.host.id, host: { id, name }, head, place, folders, at };
  // Somebody else may have moved meanwhile: then that is the last move.
  if (!(await createHostRecord(store, next, record))) await recordReturn(store, back);
}

// Checks before a step whether this host has lost the session's folder, like a machine that came
// back with an empty disk, or whether the session's agents there have left. The step then goes
// where the folder can be restored, or where they are (T18).
/** `root`: the session of the person, whose agents work in the same folder. */
type HostedFolder = { readonly session: SessionId; readonly root: SessionId; readonly cwd: string };

/**
 * Tells whether this host has lost the folder of a session, also where it has restored it since for
 * another one that works in it. A folder that is missing although this host has noted the session
 * was removed by somebody.
 */
export async function isEmptied(
  { host, hosts, store }: Pick<Deps, 'host' | 'hosts' | 'store'>,
  { session, root, cwd }: HostedFolder,
): Promise<boolean> {
  if (!host || !hosts || hosts.hosted.has(session)) return false;
  if (!(await isFolderThere(cwd))) return true;
  const { records } = await readHostRecords(store, root);
  const last = records.findLast(({ folders }) => folders.includes(cwd));
  return last?.from === host.id && last.host.id === host.id && last.session !== session;
}

export function emptiedFailure({ host }: Pick<Deps, 'host'>, cwd: string): ApplicationFailure {
  const message = `host ${host?.name ?? ''} has lost the folder ${cwd} of this session`;
  return ApplicationFailure.create({ type: HOST_EMPTIED, message, nonRetryable: true });
}

/** Makes a body that begins nothing where its folder is lost. */
export function requireFolder(deps: Deps) {
  return <Input extends { readonly config: Hash; readonly follows?: true }, Output>(
    body: ActivityBody<Input, Output>,
    { unless = () => false }: { readonly unless?: (input: Input) => boolean } = {},
  ): ActivityBody<Input, Output> => {
    if (!deps.hosts) return body;
    return async (attempt, input) => {
      if (!unless(input)) {
        const config = await deps.config(input.config);
        await findFolder(deps, attempt, config);
        if (input.follows) await findOthers(deps, attempt, config);
      }
      return body(attempt, input);
    };
  };
}

/** A session that followed another one here is noted with its first step. */
async function findFolder(deps: Deps, { session, temporal }: Attempt, config: RunConfig): Promise<void> {
  const { cwd, folders = [], agent } = config;
  if (await isEmptied(deps, { session, root: agent?.root ?? session, cwd })) throw emptiedFailure(deps, cwd);
  const { hosted } = deps.hosts ?? {};
  if (hosted?.has(session) === false) hosted.note(session, [cwd, ...folders], temporal?.options.namespace);
}

/**
 * Throws where an agent of the session, its parent or another agent has left this host with the
 * folder: of the two folders only the other one is still the session's. A move of the session's own
 * was not heard of by its workflow, which has the last word.
 */
async function findOthers({ host, store }: Deps, { session }: Attempt, { cwd, agent }: RunConfig): Promise<void> {
  if (!host) return;
  const { records } = await readHostRecords(store, agent?.root ?? session);
  const last = findLastMove(recordsSince(records, cwd, host.id), host.id);
  if (!last || last.session === session) return;
  const message = `session ${last.session}, which works in ${cwd} with this one, is on host ${last.host.name} now`;
  throw ApplicationFailure.create({ type: FOLDER_LEFT, message, nonRetryable: true });
}

/** Tells whether a folder is there; what keeps a worker from looking at it counts as there. */
export async function isFolderThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: unknown) => codeOf(error) !== 'ENOENT',
  );
}
