// How a record lies in its file.
import { expect, test } from 'vitest';
import { decodeRecord, encodeRecord } from '../../../store/values/key-record.ts';

const ofValues = (count: number) => ({
  bytes: Buffer.from('{}'),
  blobs: Array.from({ length: count }, (_, n) => Buffer.alloc(1_000 + (n % 10))),
});

test('a record is written only where its lengths fit the line that is read again (W1)', () => {
  const read = decodeRecord('steps/s/1', encodeRecord('steps/s/1', ofValues(3_200)));
  expect('blobs' in read && read.blobs.length).toBe(3_200);
  expect(() => encodeRecord('steps/s/1', ofValues(4_000))).toThrow('a record of 4001 values is more than can be read');
});
