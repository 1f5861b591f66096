// How a record lies in its file: one line with a checksum and lengths, then the value of the key,
// then the values that one step wrote with it. The file has the names of those too, so a value is
// looked for in any file under its hash.
import { createHash } from 'node:crypto';
import type { Hash } from '../../workflows/contract/ids.ts';
import { hashOf } from './store.ts';

const HEADER = /^perdure-record 1 ([0-9a-f]{64}) (\d{1,15}(?: \d{1,15})*)$/;
const HEADER_MAX = 16 * 1024;
const NEWLINE = 10;

export type KeyRecord = { readonly bytes: Uint8Array; readonly blobs: readonly Uint8Array[] };

/**
 * Computes the checksum. The key is part of it: a record that lies under another's name is damage
 * too.
 */
function computeChecksum(key: string, lengths: string, parts: readonly Uint8Array[]): string {
  const sum = createHash('sha256').update(`${key}\n${lengths}\n`);
  for (const part of parts) sum.update(part);
  return sum.digest('hex');
}

/**
 * Throws RangeError when the lengths of so many values would make a line that is too long to be
 * read.
 */
export function encodeRecord(key: string, { bytes, blobs }: KeyRecord): Uint8Array {
  const parts = [bytes, ...blobs];
  const lengths = parts.map(({ length }) => length).join(' ');
  const line = Buffer.from(`perdure-record 1 ${computeChecksum(key, lengths, parts)} ${lengths}\n`);
  if (line.length > HEADER_MAX)
    throw new RangeError(`a record of ${parts.length} values is more than can be read again`);
  return Buffer.concat([line, ...parts]);
}

/** Returns the record, or what is wrong with it. */
export function decodeRecord(key: string, file: Uint8Array): KeyRecord | { readonly problem: string } {
  const found = split(file);
  if ('problem' in found) return found;
  const { parts, lengths, sum } = found;
  const [bytes, ...blobs] = parts;
  if (!bytes || computeChecksum(key, lengths, parts) !== sum) return { problem: 'does not match its checksum' };
  return { bytes, blobs };
}

/**
 * Returns the value of `hash` in a file that lies under it, which is the whole file or part of a
 * record; null when it is neither.
 */
export function findValue(file: Uint8Array, hash: Hash): Uint8Array | null {
  const found = split(file);
  const parts = 'problem' in found ? [] : found.parts.slice(1);
  return [...parts, file].find((part) => hashOf(part) === hash) ?? null;
}

type Parts = { readonly parts: readonly Uint8Array[]; readonly lengths: string; readonly sum: string };

function split(file: Uint8Array): Parts | { readonly problem: string } {
  const end = file.subarray(0, HEADER_MAX).indexOf(NEWLINE);
  const [, sum, lengths] = HEADER.exec(Buffer.from(file.subarray(0, Math.max(end, 0))).toString('latin1')) ?? [];
  if (sum === undefined || lengths === undefined) return { problem: 'has no readable checksum line' };
  let at = end + 1;
  const parts = lengths.split(' ').map((length) => file.subarray(at, (at += Number(length))));
  if (at !== file.length) return { problem: `holds ${file.length - end - 1} bytes instead of ${at - end - 1}` };
  return { parts, lengths, sum };
}
