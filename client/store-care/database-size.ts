// Reports the size of the embedded server's database, which keeps the space of deleted rows.
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { codeOf } from '../../system/text.ts';
import { shellWord } from '../paint.ts';
import { formatSize } from '../units.ts';

/** Bytes of SQLite's header, and where it counts its pages. */
const HEADER = 100;
const [PAGE_SIZE, FREE_PAGES] = [16, 36] as const;
/** Below it nobody needs the room. */
const WORTH_SAYING = 64 * 1024 * 1024;

type DatabaseSize = {
  /** Bytes of the file. */
  readonly bytes: number;
  /** Bytes in it that hold nothing: new sessions use them first. */
  readonly free: number;
};

/** Returns null where there is no database. */
export function measureDatabase(path: string): DatabaseSize | null {
  try {
    const fd = openSync(path, 'r');
    try {
      const header = Buffer.alloc(HEADER);
      readSync(fd, header, 0, HEADER, 0);
      const pageSize = header.readUInt16BE(PAGE_SIZE);
      // 64 KiB do not fit into the two bytes.
      const free = header.readUInt32BE(FREE_PAGES) * (pageSize === 1 ? 65_536 : pageSize);
      return { bytes: statSync(path).size, free };
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    return null;
  }
}

/** Writes one line about it; null where it holds little that is free. */
export function describeFreeRoom(path: string, { bytes, free }: DatabaseSize): string | null {
  if (free < WORTH_SAYING) return null;
  return `the server's database takes ${formatSize(bytes)}, ${formatSize(free)} of it free for new sessions; it does not shrink by itself: with nothing of Perdure running, \`sqlite3 ${shellWord(path)} VACUUM\` makes it smaller`;
}
