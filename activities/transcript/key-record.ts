// How the value of a key lies in its file: one line with a checksum of key and value, then the value.
import { createHash } from 'node:crypto';

const header = /^perdure-record 1 ([0-9a-f]{64}) (\d{1,15})\n/;
const HEADER_MAX = 128;

/** The key is part of the checksum: a record that lies under another's name is damage too. */
function checksum(key: string, bytes: Uint8Array): string {
  return createHash('sha256').update(`${key}\n`).update(bytes).digest('hex');
}

export function encodeRecord(key: string, bytes: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(`perdure-record 1 ${checksum(key, bytes)} ${bytes.length}\n`), bytes]);
}

/** The value, or what is wrong with the record. */
export function decodeRecord(
  key: string,
  file: Uint8Array,
): { readonly bytes: Uint8Array } | { readonly problem: string } {
  const found = header.exec(Buffer.from(file.subarray(0, HEADER_MAX)).toString('latin1'));
  if (!found) return { problem: 'has no readable checksum line' };
  const bytes = file.subarray(found[0].length);
  const length = Number(found[2]);
  if (bytes.length !== length) return { problem: `holds ${bytes.length} bytes instead of ${length}` };
  if (checksum(key, bytes) !== found[1]) return { problem: 'does not match its checksum' };
  return { bytes };
}
