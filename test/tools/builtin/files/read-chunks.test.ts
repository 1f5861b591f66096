// What a read of a file takes.
import { expect, test } from 'vitest';
import { readChunks } from '../../../../tools/builtin/files/lines.ts';

/** Reads a file of `bytes` that was seen to have `size`; returns the read bytes and its buffers' sizes. */
async function readOf(bytes: number, size: number) {
  const buffers = new Set<number>();
  const handle = {
    read: (buffer: Buffer, position: number) => {
      buffers.add(buffer.length);
      return Math.min(buffer.length, bytes - position);
    },
  };
  let total = 0;
  for await (const chunk of readChunks(handle, size, () => {})) total += chunk.length;
  return { total, buffer: Math.max(...buffers) };
}

test.each([
  ['a small file', 300, 300, 8_192],
  ['a file that says it has nothing, as those of /proc do', 20_000, 0, 8_192],
  ['a file of 100 KB', 100_000, 100_000, 100_000],
  ['a file that has grown since', 100_000, 9_000, 9_000],
  ['a file of 10 MB', 10_000_000, 10_000_000, 262_144],
])('%s is read whole, with a buffer of its size and no larger than 256 KiB', async (_, bytes, size, buffer) => {
  expect(await readOf(bytes, size)).toEqual({ total: bytes, buffer });
});
