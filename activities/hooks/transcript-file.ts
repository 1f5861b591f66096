// Writes the messages of a run as a file for the stop hooks that ask for it. It lies among
// Perdure's data, where no command of the agent reaches it: a guard may judge by it.
import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Milliseconds. Files that a killed worker left are removed once no hook can still read them. */
const LEFT_OVER_MS = 2 * 24 * 3_600_000;

/**
 * Gives `work` the path of a file with the text, which is removed when `work` has ended. Rejects
 * when it cannot be written.
 */
export async function withTranscript<Value>(
  folder: string,
  text: string,
  work: (path: string) => Promise<Value>,
): Promise<Value> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await removeLeftOver(folder, Date.now() - LEFT_OVER_MS);
  const path = join(folder, `${randomUUID()}.txt`);
  try {
    await writeFile(path, text, { mode: 0o600, flag: 'wx' });
    return await work(path);
  } finally {
    await rm(path, { force: true });
  }
}

async function removeLeftOver(folder: string, before: number): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    // Another worker may have removed it meanwhile.
    const found = await stat(path).catch(() => null);
    if (found !== null && found.mtimeMs < before) await rm(path, { force: true });
  }
}
