// Records the checksum of a server binary of our cache next to it, where commands of the agent
// cannot write, and refuses to start a binary that has changed. A file that looks untouched is not
// read again: 250 MB take a second.
import { rmSync, statSync, createReadStream } from 'node:fs';
import { join, basename, dirname } from 'node:path';
import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { SetupProblem } from '../../system/setup-problem.ts';
import { codeOf } from '../../system/text.ts';
import { readJsonFile, writeJsonFile } from '../../system/json-file.ts';

const recordSchema = z.object({
  sha256: z.string(),
  /** Inode, size and times of the file that was read. A program cannot set the time of a change. */
  seen: z.string(),
});

const REMEDY = 'remove both files; the next start downloads or builds a server again';

/**
 * Checks a binary before it is started for anything. Resolves to `unknown` when nothing is
 * recorded. Throws SetupProblem when the binary is not the recorded one.
 */
export async function checkBinary(path: string): Promise<'unchanged' | 'unknown'> {
  const record = recordPath(path);
  const file = readJsonFile(record, recordSchema);
  if (file.kind === 'absent') return 'unknown';
  if (file.kind === 'damaged')
    throw new SetupProblem(`${record}, the checksum of ${path}, is damaged (${file.why}): ${REMEDY}`);
  const seen = identityOf(path);
  if (seen === file.value.seen) return 'unchanged';
  if ((await sha256Of(path)) !== file.value.sha256)
    throw new SetupProblem(
      `${path} has changed since it was downloaded or built (${record} has another checksum): ${REMEDY}`,
    );
  saveRecord(path, { ...file.value, seen });
  return 'unchanged';
}

export async function recordBinary(path: string): Promise<void> {
  // The identity is taken first: a change while the file is read makes it be read again.
  const seen = identityOf(path);
  saveRecord(path, { sha256: await sha256Of(path), seen });
}

function saveRecord(path: string, record: z.infer<typeof recordSchema>): void {
  try {
    writeJsonFile(recordPath(path), record, 'not durable');
  } catch (error) {
    // The folder is read-only, as for a command in the sandbox: this process changes nothing there,
    // and the next one records it.
    if (!['EROFS', 'EACCES', 'EPERM'].includes(codeOf(error) ?? '')) throw error;
  }
}

/** Forgets the checksum, because another file was put there. */
export function forgetBinary(path: string): void {
  rmSync(recordPath(path), { force: true });
}

const recordPath = (path: string): string => join(dirname(path), `.${basename(path)}.sha256.json`);

function identityOf(path: string): string {
  const { ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
  return [ino, size, mtimeNs, ctimeNs].join(' ');
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash);
  return hash.digest('hex');
}
