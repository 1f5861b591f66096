// Packs the shadow repository (T4). An object in a file of its own takes a block of the disk, and
// is stored whole; in a pack it takes what differs from one like it. Nothing is lost by it: git
// removes a loose object when a pack has it, and a pack when another has all that it had.
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { withLock } from '../../system/process/file-lock.ts';
import { codeOf } from '../../system/text.ts';
import { gitArguments } from './shadow.ts';
import { measureShadow, type ShadowSize } from './shadow-size.ts';

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
