// Reads the files of background commands without holding up the reader (L84): the page does so
// again and again.
import { open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type BackgroundRecord,
  sessionFolderOf,
  parseRecord,
  listPieces,
} from '../../../system/process/background-files.ts';

/** Reads the background commands of one session. */
export type BackgroundReader = {
  /** Returns null for a command that is unknown on this machine. */
  read(id: string): Promise<BackgroundRecord | null>;
  /** Returns the last bytes that the command wrote, or an empty buffer when its files are gone. */
  lastOf(id: string, most: number): Promise<Buffer>;
};

export function backgroundReader(root: string, session: string): BackgroundReader {
  const folder = sessionFolderOf(root, session);
  return {
    async read(id) {
      try {
        return parseRecord(await readFile(join(folder, `${id}.json`), 'utf8'));
      } catch {
        // The file is missing or no longer ours, so the command counts as unknown.
        return null;
      }
    },
    async lastOf(id, most) {
      try {
        const pieces = listPieces(await readdir(folder), id).slice(-2);
        const parts = await Promise.all(pieces.map((piece) => readEnd(join(folder, `${id}.${piece}`), most)));
        return Buffer.concat(parts).subarray(-most);
      } catch {
        // The session has ended meanwhile, and its files went with it.
        return Buffer.alloc(0);
      }
    },
  };
}

async function readEnd(path: string, most: number): Promise<Buffer> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const length = Math.min(size, most);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
