// A store in a bucket that takes 10 ms for each request: its turns beside those of a store in a
// folder, by the bench, whose processes are each alone.
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, inject, test } from 'vitest';
import { BUCKET, S3_KEYS } from '../support/s3-gateway.ts';

const program = fileURLToPath(new URL('../../dist/bench/main.js', import.meta.url));

test('a safe turn takes at most twice as long as in a folder, and two requests (W2)', async () => {
  const place = { PERDURE_STORE: `s3://${BUCKET}/${randomUUID()}`, AWS_ENDPOINT_URL_S3: inject('s3Endpoint') };
  const env = { ...process.env, ...S3_KEYS, ...place };
  const { stdout } = await promisify(execFile)(process.execPath, [program, 'bucket', '--rounds', '1', '--json'], {
    env,
  });
  const { bucket } = JSON.parse(stdout) as {
    readonly bucket: readonly { readonly what: string; readonly ms: number }[];
  };
  console.info(bucket.map(({ what, ms }) => `${what}: ${ms.toFixed(1)} ms`).join(', '));
  const [, folder, request, inBucket] = bucket.map(({ ms }) => ms);
  if (folder === undefined || request === undefined || inBucket === undefined) throw new Error(stdout);
  expect(inBucket).toBeLessThan(2 * folder + 2 * request);
});
