// Reads many contents of the shadow repository by one git, not by one each.
import { gitArguments, shadowEnvironment, type ShadowReading } from './shadow.ts';

/** Bytes that one git prints at most, but for a blob that is larger by itself. */
const MOST_BYTES = 24 * 1024 * 1024;
/** Ids that one git is given: they stand in its arguments. */
const MOST_IDS = 1_000;

/** Git reads the ids from its input, and its status is that of the script. */
const SCRIPT = 'ids=$1; shift; printf "%s\\n" $ids | "$@"';

/**
 * Yields the contents of blobs in the order of their ids, of which each may be there more than
 * once. About 24 MB are in memory at a time. Rejects where one is missing, and with what git said.
 */
export async function* readBlobs(
  reading: ShadowReading,
  ids: readonly string[],
): AsyncGenerator<readonly [id: string, content: Buffer]> {
  for (let at = 0; at < ids.length; at += MOST_IDS) {
    for (const some of splitBySize(await readSizes(reading, ids.slice(at, at + MOST_IDS)))) {
      const printed = Buffer.from(await askGit(reading, some, '--batch'), 'latin1');
      let from = 0;
      for (const id of some) {
        const end = printed.indexOf('\n', from);
        const size = sizeIn(printed.toString('latin1', from, end), id);
        yield [id, printed.subarray(end + 1, end + 1 + size)];
        // A line feed comes after each.
        from = end + 2 + size;
      }
    }
  }
}

type Sized = { readonly id: string; readonly size: number };

async function readSizes(reading: ShadowReading, ids: readonly string[]): Promise<readonly Sized[]> {
  const lines = (await askGit(reading, ids, '--batch-check')).split('\n');
  return ids.map((id, at) => ({ id, size: sizeIn(lines[at] ?? '', id) }));
}

function sizeIn(line: string, id: string): number {
  const [found, kind, size] = line.split(' ');
  if (found !== id || kind !== 'blob') throw new Error(`the snapshots lack ${id}: they are damaged`);
  return Number(size);
}

function splitBySize(sized: readonly Sized[]): readonly (readonly string[])[] {
  const parts: string[][] = [];
  let bytes = Infinity;
  for (const { id, size } of sized) {
    if (bytes + size > MOST_BYTES) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)?.push(id);
    bytes += size;
  }
  return parts;
}

function askGit({ gitDir, git, run }: ShadowReading, ids: readonly string[], how: string): Promise<string> {
  const argv = ['sh', '-c', SCRIPT, 'sh', ids.join('\n'), ...gitArguments(git, { gitDir }, ['cat-file', how])];
  return run(argv, { env: shadowEnvironment(), cwd: gitDir });
}
