// SHA-256 as the name of a value.
import { createHash } from 'node:crypto';
import type { Hash } from '../../workflows/contract/ids.ts';

export function hashOf(bytes: Uint8Array): Hash {
  return createHash('sha256').update(bytes).digest('hex') as Hash;
}
