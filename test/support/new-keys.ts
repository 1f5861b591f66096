// A key ring of its own for one test.
import { join } from 'node:path';
import { makeKeyFile, openKeyRing, type KeyRing } from '../../connection/payloads/key-ring.ts';
import { tempDir } from './temp-dir.ts';

export function newKeys(): KeyRing {
  const path = join(tempDir(), 'payload-keys.json');
  makeKeyFile(path);
  return openKeyRing(path, 'missing');
}
