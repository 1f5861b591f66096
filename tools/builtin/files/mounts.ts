// The folders below /mnt of a session. On a machine they lie beside its workspace; commands see
// them where bubblewrap puts them, and paths of file tools are turned into those of the machine and
// back.
import { isAbsolute, join } from 'node:path';
import type { ShownFolder } from '../../../system/process/bwrap.ts';
import { isInside } from '../../../system/process/places.ts';
import { MOUNTS, type RunMount } from '../../../workflows/contract/mounts.ts';

/** The inputs of the file tools, as far as they say where. */
export type Placed = { readonly path?: string; readonly pattern?: string };

export type Mounts = {
  /** What is /mnt for the session: a folder of this machine, by its absolute path. */
  readonly root: string;
  readonly all: readonly RunMount[];
};

/** `cwd` is the session's workspace. */
export const findMounts = (cwd: string, all: readonly RunMount[]): Mounts => ({ root: `${cwd}.mnt`, all });

/** Returns the path on this machine of one below /mnt/memory, or where else a mount is. */
export function toMachine({ root, all }: Mounts, path: string): string {
  const isBelow = all.some((mount) => isInside(mount.path.split('/').slice(0, 3).join('/'), path));
  return isAbsolute(path) && isBelow ? join(root, path.slice(MOUNTS.length)) : path;
}

/** Writes paths of this machine as the session's tools see them. */
export const toSession = ({ root }: Pick<Mounts, 'root'>, text: string): string => text.replaceAll(root, MOUNTS);

/** Returns the folders that tools may change, by their paths on this machine. */
export const writableFolders = (mounts: Mounts): readonly string[] =>
  mounts.all.filter(({ access }) => access === 'read_write').map(({ path }) => toMachine(mounts, path));

/** Returns the folders as a sandbox shows them. */
export const shownMounts = (mounts: Mounts | undefined): readonly ShownFolder[] =>
  (mounts?.all ?? []).map(({ path, access }) => ({
    path,
    from: toMachine(mounts!, path),
    ...(access === 'read_write' && { isWritable: true as const }),
  }));
