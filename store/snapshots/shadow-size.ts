// Estimates the disk space of the shadow repository. Loose objects lie evenly in 256 folders, so
// some of these stand for all.
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { readJsonFile, writeJsonFile } from '../../system/json-file.ts';
import { codeOf } from '../../system/text.ts';

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
