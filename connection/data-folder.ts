// The folder where everything durable of one machine lives. It belongs to one machine (or
// container) at a time, and nothing in it is ever deleted.
import { accessSync, chmodSync, constants, existsSync, mkdirSync, opendirSync, readdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { z } from 'zod';
import { readJsonFile, writeJsonFile } from '../system/json.ts';
import { type KeyRing, openKeyRing } from './payloads/key-ring.ts';
import { hasNoInodes, NO_INODES } from '../system/full-disk.ts';
import { SetupProblem } from '../system/setup-problem.ts';
import { liveUrlProblem } from '../store/live/redis-link.ts';
import { storePlaceProblem } from '../store/values/open-store.ts';
import { recordDataFolder } from '../system/process/data-folders.ts';
import { isInside, realOf, registerIn } from '../system/process/places.ts';
import type { Network } from '../system/network.ts';
import { openNetwork } from './network/network.ts';
import { codeOf, reasonOf } from '../system/text.ts';

export type Env = Readonly<Record<string, string | undefined>>;

/** The paths of a data folder; all are absolute. */
export type DataFolder = {
  readonly root: string;
  readonly temporalDb: string;
  /** Names the server that runs on the database, or did last. */
  readonly serverJson: string;
  readonly serverLog: string;
  /** The file of the keys that seal payloads. */
  readonly payloadKeys: string;
  /** The folder of the store, or `s3://bucket/prefix` where PERDURE_STORE says so. */
  readonly storePlace: string;
  /**
   * The keys that seal the records of a bucket: those of PERDURE_CODEC_KEYS, which its machines
   * have in common.
   */
  readonly storeKeys?: KeyRing;
  readonly liveDir: string;
  /**
   * Opens the network by which a store in a bucket is reached. Throws SetupProblem for a proxy that
   * cannot be one.
   */
  readonly network: () => Network;
  /** PERDURE_LIVE, where the live channel is on a Redis instead. It may hold a password. */
  readonly liveUrl?: string;
  readonly membersDir: string;
  /** The lock that is held while processes decide which of them starts or stops the server. */
  readonly lockDir: string;
};

const LAYOUT = 1;
const layoutSchema = z.object({ version: z.number() });
const ELSEWHERE = 'set PERDURE_DATA to another folder';

/**
 * Opens `PERDURE_DATA`, or `perdure` in the user's XDG data folder. A missing folder is made with
 * mode 0700, and an existing one is brought to it. Throws SetupProblem when it cannot be used or
 * another layout version made it.
 */
export function openDataFolder(env: Env): DataFolder {
  const root = dataRootOf(env);
  const folder: DataFolder = {
    root,
    temporalDb: join(root, 'temporal.db'),
    serverJson: join(root, 'server.json'),
    serverLog: join(root, 'server.log'),
    payloadKeys: join(root, 'payload-keys.json'),
    storePlace: storePlaceOf(env, root),
    liveDir: join(root, 'live'),
    network: runOnceSync(() => openNetwork(env)),
    ...liveUrlOf(env),
    membersDir: join(root, 'members'),
    lockDir: join(root, 'lock'),
  };
  makeFolder(root);
  keepPrivate(root);
  const store = isAbsolute(folder.storePlace) ? folder.storePlace : null;
  // The folder gets its own store too where another is used: a user that goes back to it later has
  // lost nothing.
  if (!existsSync(layoutFile(root))) for (const place of [join(root, 'store'), store ?? root]) makeFolder(place);
  checkLayout(root);
  if (store !== null) openStoreFolder(store, folder.liveDir);
  const keys = store === null ? openNamedKeys(env) : undefined;
  for (const dir of [folder.liveDir, folder.membersDir, folder.lockDir]) makeFolder(dir);
  recordDataFolder(registerIn(cacheFolderOf(env)), root);
  return { ...folder, ...(keys && { storeKeys: keys }) };
}

function runOnceSync<T>(make: () => T): () => T {
  let result: { readonly value: T } | undefined;
  return () => (result ??= { value: make() }).value;
}

function storePlaceOf(env: Env, root: string): string {
  const set = env['PERDURE_STORE']?.trim();
  if (!set) return join(root, 'store');
  const problem = storePlaceProblem(set);
  if (problem !== undefined) throw new SetupProblem(problem);
  return set;
}

/**
 * Opens the keys of PERDURE_CODEC_KEYS. Throws SetupProblem where the agent's commands could read
 * them.
 */
export function openNamedKeys(env: Env): KeyRing | undefined {
  const named = env['PERDURE_CODEC_KEYS'];
  if (!named) return undefined;
  const path = resolve(named);
  refuseReadable(env, path, 'PERDURE_CODEC_KEYS');
  return openKeyRing(path, `there is no key file ${path}: copy it there, or correct PERDURE_CODEC_KEYS`);
}

/**
 * Opens the keys that seal payloads: those of PERDURE_CODEC_KEYS, or else those of the data folder.
 * Throws SetupProblem when there are none.
 */
export function openPayloadKeys(env: Env): KeyRing {
  const path = join(dataRootOf(env), 'payload-keys.json');
  const missing = `there are no keys of payloads at ${path}: set PERDURE_DATA to the data folder of the server, or PERDURE_CODEC_KEYS to a key file`;
  return openNamedKeys(env) ?? openKeyRing(path, missing);
}

function liveUrlOf(env: Env): Pick<DataFolder, 'liveUrl'> {
  const set = env['PERDURE_LIVE']?.trim();
  if (!set) return {};
  const problem = liveUrlProblem(set);
  if (problem !== undefined) throw new SetupProblem(problem);
  return { liveUrl: set };
}

/** Returns where the data folder is, or would be. */
export function dataRootOf(env: Env): string {
  return resolve(env['PERDURE_DATA'] || join(xdgFolder(env, 'XDG_DATA_HOME', '.local/share'), 'perdure'));
}

/**
 * Returns the folder for files that can be had again, and are run: no command of an agent writes
 * there. It need not exist.
 */
export function cacheFolderOf(env: Env): string {
  return join(xdgFolder(env, 'XDG_CACHE_HOME', '.cache'), 'perdure');
}

/**
 * Throws SetupProblem for a file with a secret outside the data folder, the only place that
 * commands of the agent do not see. A link in it that leads elsewhere is elsewhere. `named` is what
 * names the file.
 */
export function refuseReadable(env: Env, path: string, named: string): void {
  const root = dataRootOf(env);
  if (isInside(realOf(root) ?? root, realOf(path) ?? path) || (realOf(path) === null && isInside(root, path))) return;
  throw new SetupProblem(
    `${named} names ${path}, which the agent's commands can read: put it into the data folder ${root}`,
  );
}

/** Returns a folder by the XDG base directory rules: relative values are ignored. */
export function xdgFolder(env: Env, name: string, fallback: string): string {
  const set = env[name];
  return set !== undefined && isAbsolute(set) ? set : join(env['HOME'] || homedir(), fallback);
}

function makeFolder(path: string): void {
  try {
    makeMissing(path, 0o700);
    opendirSync(path).closeSync();
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw unusableFolder(path, error);
  }
}

/**
 * Opens the store's folder, which is made with the data folder and never again: an empty one in the
 * place of one that was moved away would hide that all transcripts are gone.
 */
function openStoreFolder(place: string, liveDir: string): void {
  if (existsSync(place)) {
    makeFolder(place);
    return sayIfEmptied(place, liveDir);
  }
  throw new SetupProblem(
    `the store ${place} is not there: put it back if transcripts of this data folder were in it, else make that folder (mkdir)`,
  );
}

/** Says once that sessions were here before the store was. */
function sayIfEmptied(place: string, liveDir: string): void {
  const tmp = join(place, 'tmp');
  if (existsSync(tmp) || existsSync(join(place, 'store.json')) || !existsSync(liveDir)) return;
  if (readdirSync(liveDir).length === 0) return;
  makeFolder(tmp);
  process.stderr.write(
    `the store ${place} is empty: sessions of this data folder from before have lost their transcripts, unless their store is put back there\n`,
  );
}

const layoutFile = (root: string): string => join(root, 'data.json');

/**
 * Keeps other users out: transcripts and keys lie behind a folder that only its owner enters,
 * whatever the modes of the files in it.
 */
function keepPrivate(root: string): void {
  const { uid, mode } = statSync(root);
  const user = process.getuid?.();
  if (user !== undefined && uid !== user) {
    throw new SetupProblem(
      `the data folder ${root} belongs to another user (${uid}, and this process is ${user}): run as that user, or ${ELSEWHERE}`,
    );
  }
  if (user === undefined || (mode & 0o077) === 0) return;
  chmodSync(root, 0o700);
  process.stderr.write(
    `the data folder ${root} was open to other users of this machine: it no longer is (mode 0700)\n`,
  );
}

/** Makes folders one by one: under /proc, `recursive` never returns. */
function makeMissing(path: string, mode?: number): void {
  if (existsSync(path)) return;
  makeMissing(dirname(path));
  try {
    mkdirSync(path, mode);
  } catch (error) {
    // Another process was faster.
    if (codeOf(error) !== 'EEXIST' || !existsSync(path)) throw error;
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'it is not writable',
  EPERM: 'it is not writable',
  EROFS: 'its file system is read-only',
  ENOTDIR: 'it, or a part of its path, is a file',
  EEXIST: 'it, or a part of its path, is a file',
  ENOSPC: 'the disk is full',
  ENOENT: 'it cannot be made there',
};

function unusableFolder(path: string, error: unknown): SetupProblem {
  const code = codeOf(error) ?? '';
  const why = code === 'ENOSPC' && hasNoInodes(path) ? NO_INODES : (REASONS[code] ?? reasonOf(error));
  return new SetupProblem(`cannot use the data folder ${path}: ${why}; put that right or ${ELSEWHERE}`);
}

function checkLayout(root: string): void {
  const path = layoutFile(root);
  const layout = readLayout(root, path);
  if (layout.kind === 'damaged') {
    const remedy = `if perdure made this folder, write {"version":${LAYOUT}} there, else ${ELSEWHERE}`;
    throw new SetupProblem(`${path} is damaged (${layout.why}): ${remedy}; nothing was changed`);
  }
  if (layout.kind === 'read' && layout.value.version !== LAYOUT) {
    const versions = `its layout is version ${layout.value.version}, this perdure knows version ${LAYOUT}`;
    throw new SetupProblem(`another version of perdure made ${root} (${versions}): use that one or ${ELSEWHERE}`);
  }
}

function readLayout(root: string, path: string) {
  try {
    const layout = readJsonFile(path, layoutSchema);
    if (layout.kind === 'absent') writeJsonFile(path, { version: LAYOUT }, 'durable');
    return layout;
  } catch (error) {
    throw unusableFolder(root, error);
  }
}
