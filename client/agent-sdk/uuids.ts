// Makes ids of messages that are the same at every reading.
import { createHash, type UUID } from 'node:crypto';

/** Returns a version 8 UUID that is the hash of the parts. */
export function uuidOf(...parts: readonly (string | number)[]): UUID {
  const hex = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  const groups = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `a${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ];
  return groups.join('-') as UUID;
}
