// Reads the content of a file that is captured. It may become something else at any moment.
import { closeSync, constants, fstatSync, openSync, readlinkSync, readSync } from 'node:fs';
import { codeOf } from '../../system/text.ts';
import type { OmittedWhy } from './folder-index.ts';

/**
 * Reads a file of at most `most` bytes, or where a link leads. What became something else meanwhile
 * is gone.
 */
export function readContent(place: string | Buffer, isLink: boolean, most: number): Buffer | OmittedWhy | 'gone' {
  try {
    return isLink ? readlinkSync(place, 'buffer') : readRegular(place, most);
  } catch (error) {
    const code = codeOf(error) ?? '';
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EINVAL', 'ENXIO'].includes(code)) return 'gone';
    return 'unreadable';
  }
}

function readRegular(place: string | Buffer, most: number): Buffer | 'large' | 'gone' {
  const fd = openSync(place, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) return 'gone';
    // It may have grown since it was looked at.
    if (stats.size > most) return 'large';
    const content = Buffer.allocUnsafe(stats.size);
    let length = 0;
    while (length < content.length) {
      const read = readSync(fd, content, length, content.length - length, null);
      if (read === 0) break;
      length += read;
    }
    return content.subarray(0, length);
  } finally {
    closeSync(fd);
  }
}
