// What a cleaning keeps, of a store whose objects the test sets.
import { expect, test } from 'vitest';
import { hashOf, type RecordContents, type StoreCare } from '../../../store/values/store.ts';
import { markReached } from '../../../client/store-care/mark-reached.ts';

const bytesOf = (text: string): Uint8Array => Buffer.from(text);

test('what a value names that its record alone has is kept, for its step is made again from the record (W2 W4)', async () => {
  const [body, other] = [bytesOf('a large result'), bytesOf('another')];
  const segment = bytesOf(JSON.stringify({ result: hashOf(body) }));
  const blobs = new Map([body, other].map((bytes) => [hashOf(bytes), bytes]));
  const record: RecordContents = { bytes: bytesOf('facts'), values: [segment] };
  const care: Partial<StoreCare> = {
    list: async function* () {
      yield { kind: 'record', name: 'steps/s-1/a', bytes: 1, at: 0 };
    },
    record: async () => record,
    value: async (hash) => blobs.get(hash) ?? null,
  };
  const roots = { sessions: new Set<never>(), heads: new Map<never, never>(), named: new Set<never>() };
  const reached = await markReached(care as StoreCare, roots, () => true);
  expect(reached).toEqual(new Set([hashOf(segment), hashOf(body)]));
});
