// What one step came to, created by condition before the step returns. If its completion is lost, the next attempt finds the
// record and pays for no second call; of two attempts that both finish, the first counts and the other's segment is an orphan.
import { createHash } from 'node:crypto';
import type { SessionId } from '../workflows/contract/ids.ts';
import { keySegment } from './transcript/keys.ts';
import type { Store } from './transcript/store.ts';

export type StepRecord<Result> = {
  read(): Promise<Result | null>;
  /** Stores `blobs`, then the record. What counts from now on: `result`, or what an earlier attempt recorded. */
  record(
    result: Result,
    ...blobs: readonly Uint8Array[]
  ): Promise<{ readonly result: Result; readonly first: boolean }>;
};

/** `request` identifies the step: the same request is the same step, whatever the attempt. */
export function stepRecord<Result>(
  store: Store,
  session: SessionId,
  chain: string,
  request: unknown,
): StepRecord<Result> {
  const digest = createHash('sha256')
    .update(JSON.stringify([chain, request]))
    .digest('hex');
  const key = `steps/${keySegment(session)}/${digest}`;
  const decode = (bytes: Uint8Array): Result => JSON.parse(new TextDecoder().decode(bytes)) as Result;
  return {
    read: async () => {
      const bytes = await store.read(key);
      return bytes && decode(bytes);
    },
    record: async (result, ...blobs) => {
      const bytes = new TextEncoder().encode(JSON.stringify(result));
      const created = await store.writeStep({ key, bytes, blobs });
      if (created.kind === 'created') return { result, first: true };
      return { result: decode(created.bytes), first: false };
    },
  };
}
