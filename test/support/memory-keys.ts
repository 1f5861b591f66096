// Keys of payloads that are in no file.
import { randomBytes } from 'node:crypto';
import type { KeyRing } from '../../connection/payloads/key-ring.ts';

export function memoryKeys(id = '0a1b2c3d'): KeyRing {
  const only = { id, key: randomBytes(32) };
  return { path: 'keys.json', active: () => only, find: (wanted) => (wanted === id ? only : undefined) };
}
