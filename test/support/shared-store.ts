// Stores in the gateway's bucket, each under a prefix of its own.
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { inject } from 'vitest';
import { blobCache } from '../../store/values/blob-cache.ts';
import { s3Objects } from '../../store/values/s3/s3-objects.ts';
import type { SealKeys } from '../../store/values/s3/record-seal.ts';
import { openStoreMemory } from '../../store/values/s3/sealed-since.ts';
import { s3Store, type S3Store } from '../../store/values/s3/s3-store.ts';
import { BUCKET, S3_KEYS } from './s3-gateway.ts';
import { tempDir } from './temp-dir.ts';

/** The SDK's own chain reads the environment. */
export function useS3Keys(): void {
  for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name];
  Object.assign(process.env, S3_KEYS);
}

export function sharedStore({
  endpoint = inject('s3Endpoint'),
  bucket = BUCKET,
  prefix = randomUUID(),
  keys,
  dataDir = tempDir(),
  now,
  ...times
}: {
  readonly endpoint?: string;
  readonly bucket?: string;
  readonly prefix?: string;
  readonly keys?: SealKeys;
  /** What its machine remembers. */
  readonly dataDir?: string;
  readonly now?: () => number;
  readonly requestMs?: number;
} = {}): S3Store {
  const seals = { keys, memory: openStoreMemory(dataDir), ...(now && { now }) };
  return s3Store(s3Objects({ bucket, prefix, endpoint, ...times }), blobCache(join(tempDir(), 'cache')), seals);
}
