// Packs the shadow repository (T4). An object in a file of its own takes a block of the disk, and
// is stored whole; in a pack it takes what differs from one like it. Nothing is lost by it: git
// removes a loose object when a pack has it, and a pack when another has all that it had.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { readJsonFile, writeJsonFile } from '../../system/json.ts';
import { withLock } from '../../system/process/file-lock.ts';
import { codeOf } from '../../system/text.ts';
import { gitArguments, type ShadowPlace } from './shadow.ts';

/** Runs a program on the repository to its end. Rejects with what it said. */
type RunPacking = (argv: readonly string[]) => Promise<unknown>;

export type Packing = { readonly gitDir: string; readonly git: string; readonly run: RunPacking };

/** From so many on they are packed, or made into fewer packs. */
export type PackingBounds = { readonly loose: number; readonly packs: number };

export const PACKING_BOUNDS: PackingBounds = { loose: 2_000, packs: 50 };

/** Packing may take so long. Milliseconds. */
export const LONGEST_PACKING_MS = 30 * 60_000;

export const isPackingDue = ({ loose, packs }: ShadowSize, bounds: PackingBounds): boolean =>
  loose > bounds.loose || packs > bounds.packs;

/**
 * Runs work that removes packs, one process of the machine at a time. A process that died holds
 * nothing. Rejects with LockHeld where a living one does after `waitMs`.
 */
export async function withPackingLock<T>(gitDir: string, waitMs: number, work: () => Promise<T>): Promise<T> {
  return await withLock(join(gitDir, 'packing'), { doing: 'packing the snapshots of files', waitMs }, work);
}

/**
 * Packs what is beyond the bounds, with the lock held; tells whether anything was. What no
 * snapshot names yet stays as it is.
 */
export async function packShadow(packing: Packing, bounds: PackingBounds = PACKING_BOUNDS): Promise<boolean> {
  const { gitDir } = packing;
  await removeLeftovers(gitDir);
  const { loose, packs } = await measureShadow(gitDir, 'exact');
  if (loose > bounds.loose) await packLoose(packing);
  // A pack of a session's first snapshot has what those of others in that folder have, too.
  const isMany = packs > bounds.packs;
  if (isMany) await mergePacks(packing);
  return isMany || loose > bounds.loose;
}

async function packLoose(packing: Packing): Promise<void> {
  try {
    await runGit(packing, ['repack', '-d', '-l', '-q']);
  } catch (error) {
    // Where objects of one session are damaged, git follows no snapshot; the others are packed all
    // the same.
    await runGit(packing, GEOMETRIC).catch(() => {
      throw error;
    });
  }
}

/** Small packs become one, and a large one stays until there is about as much beside it. */
const GEOMETRIC = ['repack', '--geometric=2', '-d', '-l', '-q'];

async function mergePacks(packing: Packing): Promise<void> {
  try {
    await runGit(packing, GEOMETRIC);
  } catch (error) {
    // A git before 2.32 does not know the option.
    await freeUnnamed(packing).catch(() => {
      throw error;
    });
  }
}

/** A capture names what it writes within minutes, and writes anew what it does not know itself. */
const PACKED_GRACE = '1.hour.ago';
const LOOSE_GRACE = '1.day.ago';

/** Frees objects that no snapshot names, and makes one pack of all others. */
export async function freeUnnamed(packing: Packing): Promise<void> {
  await runGit(packing, ['repack', '-A', '-d', '-q', `--unpack-unreachable=${PACKED_GRACE}`]);
  await runGit(packing, ['prune', `--expire=${LOOSE_GRACE}`]);
}

/** One core, and what nobody else wants of it. */
const NICE = 'if command -v nice > /dev/null; then exec nice -n 19 "$@"; fi; exec "$@"';
const SETTINGS = ['pack.threads=1', 'pack.windowMemory=64m', 'pack.deltaCacheSize=32m'].flatMap((one) => ['-c', one]);

async function runGit({ gitDir, git, run }: Packing, args: readonly string[]): Promise<void> {
  await run(['sh', '-c', NICE, 'sh', ...gitArguments(git, { gitDir }, [...SETTINGS, ...args])]);
}

const OLD_MS = 3_600_000;

/** Removes what a killed git has left of packs: git itself does not find all of it. */
async function removeLeftovers(gitDir: string): Promise<void> {
  const folder = join(gitDir, 'objects', 'pack');
  for (const name of await readdir(folder)) {
    if (!/^\.?tmp[-_]/.test(name)) continue;
    const path = join(folder, name);
    const stats = await stat(path).catch((error: unknown) => {
      if (codeOf(error) !== 'ENOENT') throw error;
      return null;
    });
    if (stats && stats.mtimeMs < Date.now() - OLD_MS) await rm(path, { force: true });
  }
}

// Estimates the disk space of the shadow repository. Loose objects lie evenly in 256 folders, so
// some of these stand for all.
export type ShadowSize = {
  /** The disk space that it takes, which for small files exceeds their length. */
  readonly bytes: number;
  /** Objects in files of their own. */
  readonly loose: number;
  readonly packs: number;
};

/** Unless `snapshots.diskBytes` says otherwise, nothing more is captured from here on. */
export const DEFAULT_DISK_BYTES = 10 * 1024 ** 3;

/** Says, always in the same words, why nothing is captured. */
export function describeFull(diskBytes: number): string {
  const most = `${Number((diskBytes / 1024 ** 3).toPrecision(3))} GiB`;
  return `the snapshots of this machine take more of the disk than snapshots.diskBytes allows (${most}): perdure gc frees those of sessions that are gone`;
}

const roomSchema = z.object({ diskBytes: z.number(), isFull: z.boolean() });

/** The bound of the worker that looked last, and whether it captures nothing for want of room. */
export type ShadowRoom = z.infer<typeof roomSchema>;

/** Lies beside the objects, for commands and the page, which do not know the configuration. */
const roomFile = (gitDir: string): string => join(gitDir, 'room');

export function readRoom(gitDir: string): ShadowRoom {
  const file = readJsonFile(roomFile(gitDir), roomSchema);
  return file.kind === 'read' ? file.value : { diskBytes: DEFAULT_DISK_BYTES, isFull: false };
}

export function noteRoom(gitDir: string, room: ShadowRoom): void {
  const { diskBytes, isFull } = readRoom(gitDir);
  if (diskBytes === room.diskBytes && isFull === room.isFull) return;
  writeJsonFile(roomFile(gitDir), room, 'not durable');
}

/** One of so many folders is looked at for an estimate. */
const ONE_OF = 32;
const FOLDERS = Array.from({ length: 256 }, (_, at) => at.toString(16).padStart(2, '0'));

/**
 * Measures a repository; one that is missing takes nothing. What is `exact` looks at each file, an
 * estimate at each pack, at what is kept of sessions, and at a part of the loose objects.
 */
export async function measureShadow(gitDir: string, how: 'exact' | 'estimate' = 'estimate'): Promise<ShadowSize> {
  const oneOf = how === 'exact' ? 1 : ONE_OF;
  const loose = { count: 0, bytes: 0 };
  for (const name of FOLDERS.filter((_, at) => at % oneOf === 0)) {
    const folder = join(gitDir, 'objects', name);
    for (const file of await list(folder)) {
      loose.bytes += await bytesOf(join(folder, file));
      if (file.length === 38) loose.count += 1;
    }
  }
  let [bytes, packs] = [loose.bytes * oneOf, 0];
  for (const below of ['objects/pack', 'sessions', 'incoming']) {
    for (const file of await list(join(gitDir, below), true)) {
      if (file.endsWith('.pack') && below === 'objects/pack') packs += 1;
      bytes += await bytesOf(join(gitDir, below, file));
    }
  }
  return { bytes, loose: loose.count * oneOf, packs };
}

/** Captures go on meanwhile, and rename what they write. */
async function bytesOf(path: string): Promise<number> {
  try {
    const { blocks, size } = await stat(path);
    return blocks * 512 || size;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return 0;
    throw error;
  }
}

async function list(folder: string, recursive = false): Promise<readonly string[]> {
  try {
    return await readdir(folder, { recursive, encoding: 'utf8' });
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

// Notes with the snapshots of a session which store has its transcript (T4): a process that frees
// those of gone sessions knows the sessions of one store only.
/** The name of the note, beside the folders of the session's roots. */
export const STORE_NOTE = 'store';

/** Notes the id of the store; one that is there stays. */
export function noteStore({ own }: Pick<ShadowPlace, 'own'>, store: string): void {
  const path = join(dirname(own), STORE_NOTE);
  if (existsSync(path)) return;
  mkdirSync(dirname(own), { recursive: true, mode: 0o700 });
  writeFileSync(path, store, { mode: 0o600 });
}

/**
 * Returns the id of the store of a session's folder; null without a note, as versions before wrote
 * none.
 */
export function readStoreNote(folder: string): string | null {
  try {
    return readFileSync(join(folder, STORE_NOTE), 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}
