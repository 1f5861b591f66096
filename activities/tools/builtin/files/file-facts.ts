// What tells one state of a file from another without reading it (L43).
import type { Stats } from 'node:fs';
import { lstat } from 'node:fs/promises';
import type { SeenFile } from '../../../../workflows/contract/activities.ts';

export function factsIn(path: string, { mtimeMs, size }: Stats): SeenFile {
  return { path, mtimeMs, size };
}

/** `gone` when it is not there. Null when that cannot be found out. Never throws. */
export async function factsOf(path: string): Promise<SeenFile | null> {
  try {
    return factsIn(path, await lstat(path));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ENOTDIR' ? { path, mtimeMs: 0, size: 0, gone: true } : null;
  }
}

/** For a tool's output: the file it has just written. */
export async function seenNow(path: string): Promise<{ readonly seen?: readonly SeenFile[] }> {
  const facts = await factsOf(path);
  return facts === null ? {} : { seen: [facts] };
}
