// How a record lies in its file: one line with a checksum and lengths, then the value of the key,
// then the values that one step wrote with it. The file has their names too, so a value is looked
// for in whatever lies under its hash.
import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { type Hash, isHash } from '../../workflows/contract/ids.ts';
import { hashOf, keyProblem } from './store.ts';

const header = /^perdure-record 1 ([0-9a-f]{64}) (\d{1,15}(?: \d{1,15})*)$/;
const HEADER_MAX = 16 * 1024;
const NEWLINE = 10;

export type KeyRecord = { readonly bytes: Uint8Array; readonly blobs: readonly Uint8Array[] };

/** The key is part of the checksum: a record that lies under another's name is damage too. */
function checksum(key: string, lengths: string, parts: readonly Uint8Array[]): string {
  const sum = createHash('sha256').update(`${key}\n${lengths}\n`);
  for (const part of parts) sum.update(part);
  return sum.digest('hex');
}

/**
 * Throws RangeError where there are so many values that their lengths would make a line that nobody
 * reads.
 */
export function encodeRecord(key: string, { bytes, blobs }: KeyRecord): Uint8Array {
  const parts = [bytes, ...blobs];
  const lengths = parts.map(({ length }) => length).join(' ');
  const line = Buffer.from(`perdure-record 1 ${checksum(key, lengths, parts)} ${lengths}\n`);
  if (line.length > HEADER_MAX)
    throw new RangeError(`a record of ${parts.length} values is more than can be read again`);
  return Buffer.concat([line, ...parts]);
}

/** The record, or what is wrong with it. */
export function decodeRecord(key: string, file: Uint8Array): KeyRecord | { readonly problem: string } {
  const found = split(file);
  if ('problem' in found) return found;
  const { parts, lengths, sum } = found;
  const [bytes, ...blobs] = parts;
  if (!bytes || checksum(key, lengths, parts) !== sum) return { problem: 'does not match its checksum' };
  return { bytes, blobs };
}

/**
 * The value of `hash` in a file that lies under it: all of it, or part of a record; null when it is
 * in neither.
 */
export function valueIn(file: Uint8Array, hash: Hash): Uint8Array | null {
  const found = split(file);
  const parts = 'problem' in found ? [] : found.parts.slice(1);
  return [...parts, file].find((part) => hashOf(part) === hash) ?? null;
}

type Parts = { readonly parts: readonly Uint8Array[]; readonly lengths: string; readonly sum: string };

function split(file: Uint8Array): Parts | { readonly problem: string } {
  const end = file.subarray(0, HEADER_MAX).indexOf(NEWLINE);
  const [, sum, lengths] = header.exec(Buffer.from(file.subarray(0, Math.max(end, 0))).toString('latin1')) ?? [];
  if (sum === undefined || lengths === undefined) return { problem: 'has no readable checksum line' };
  let at = end + 1;
  const parts = lengths.split(' ').map((length) => file.subarray(at, (at += Number(length))));
  if (at !== file.length) return { problem: `holds ${file.length - end - 1} bytes instead of ${at - end - 1}` };
  return { parts, lengths, sum };
}

// Where things lie in a store folder: store.json · blobs/<1 hex>/<hash> · keys/<key> · aside/<hash>
// · tmp/

export type FileLayout = {
  readonly dir: string;
  readonly temp: string;
  /**
   * Throws RangeError for what is no hash or key: it may come from outside, and must not name a
   * path elsewhere.
   */
  blob(hash: Hash): string;
  /** Values that a cleaning has set aside: readers look there too. */
  readonly aside: string;
  asideBlob(hash: Hash): string;
  record(key: string): string;
};

export function fileLayout(folder: string): FileLayout {
  const dir = resolve(folder);
  const aside = `${dir}/aside`;
  return {
    dir,
    temp: `${dir}/tmp`,
    aside,
    blob: (hash) => `${dir}/blobs/${checked(hash).slice(0, 1)}/${hash}`,
    asideBlob: (hash) => `${aside}/${checked(hash)}`,
    record: (key) => {
      const problem = keyProblem(key);
      if (problem !== undefined) throw new RangeError(problem);
      return `${dir}/keys/${key}`;
    },
  };
}

function checked(hash: Hash): Hash {
  if (!isHash(hash)) throw new RangeError(`"${String(hash).slice(0, 80)}" is not a hash of a stored value`);
  return hash;
}
