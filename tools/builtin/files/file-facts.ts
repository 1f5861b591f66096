// The facts that tell one state of a file from another without reading it (L43).
import { lstatSync, type Stats } from 'node:fs';
import type { SeenFile } from '../../../workflows/contract/activities.ts';

export function toSeenFile(path: string, { mtimeMs, size }: Stats): SeenFile {
  return { path, mtimeMs, size };
}

/**
 * Reads the facts of a file: `gone` when it does not exist, null when that cannot be found out.
 * Never throws.
 */
export function readFileFacts(path: string): SeenFile | null {
  try {
    return toSeenFile(path, lstatSync(path));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ENOTDIR' ? { path, mtimeMs: 0, size: 0, gone: true } : null;
  }
}
