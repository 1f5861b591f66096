// Writes sections of a patch as text. What is no UTF-8 would be falsified there, and so it becomes a
// binary patch.
import { isUtf8 } from 'node:buffer';
import { binaryPatch } from '../../../store/snapshots/binary-patch.ts';
import type { HeldFile, PatchSection, ShadowReading } from '../../../store/snapshots/compare.ts';
import { readBlobs } from '../../../store/snapshots/read-blobs.ts';
import { MOST_PRINTED, TooLarge } from './read-shadow.ts';

/** `prefix` is the one that the patch was made with. Throws TooLarge. */
export async function writeSections(
  reading: ShadowReading,
  sections: readonly PatchSection[],
  prefix: string,
): Promise<string> {
  const texts = sections.map(({ text }) => textOf(Buffer.from(text, 'latin1')));
  const odd = sections.filter((_, at) => texts[at] === null);
  const blobs = odd.flatMap(({ from, to }) => [from, to].flatMap((file) => (file ? [file.blob] : [])));
  const contents = readBlobs(reading, blobs);
  const next = async (file: HeldFile | null): Promise<Buffer> =>
    (file && (await contents.next()).value?.[1]) ?? Buffer.alloc(0);
  const rawPrefix = Buffer.from(prefix).toString('latin1');
  let patch = '';
  for (const [at, section] of sections.entries()) {
    patch +=
      texts[at] ?? binaryPatch(section, { from: await next(section.from), to: await next(section.to) }, rawPrefix);
    if (patch.length > MOST_PRINTED) throw new TooLarge();
  }
  return patch;
}

const textOf = (bytes: Buffer): string | null => (isUtf8(bytes) ? bytes.toString('utf8') : null);
