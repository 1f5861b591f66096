// What a server binary of our cache held when it was got, recorded beside it, where commands of the agent cannot write. It is not
// started when it holds something else. A file that looks untouched is not read again: 250 MB take a second.
import { createHash } from 'node:crypto';
import { createReadStream, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { readJsonFile, writeJsonFile } from './json-file.ts';
import { codeOf, SetupProblem } from './setup-problem.ts';

const recordSchema = z.object({
  sha256: z.string(),
  /** Inode, size and times of the file that was read. No program sets the time of a change. */
  seen: z.string(),
});

const REMEDY = 'remove both, and a server is got again';

/** Before it is started for anything. `unknown`: nothing is recorded. Throws SetupProblem when it is not what was recorded. */
export async function checkBinary(path: string): Promise<'unchanged' | 'unknown'> {
  const record = recordPath(path);
  const file = readJsonFile(record, recordSchema);
  if (file.kind === 'absent') return 'unknown';
  if (file.kind === 'damaged')
    throw new SetupProblem(`${record}, the checksum of ${path}, is damaged (${file.why}): ${REMEDY}`);
  const seen = identityOf(path);
  if (seen === file.value.seen) return 'unchanged';
  if ((await sha256Of(path)) !== file.value.sha256)
    throw new SetupProblem(`${path} is not what it was when it was got (${record} has another checksum): ${REMEDY}`);
  save(path, { ...file.value, seen });
  return 'unchanged';
}

export async function recordBinary(path: string): Promise<void> {
  // Taken first: a change while it is read makes it be read again.
  const seen = identityOf(path);
  save(path, { sha256: await sha256Of(path), seen });
}

function save(path: string, record: z.infer<typeof recordSchema>): void {
  try {
    writeJsonFile(recordPath(path), record, 'not durable');
  } catch (error) {
    // Read-only, as for a command in the sandbox: nothing is changed there by this process, and the next one records it.
    if (!['EROFS', 'EACCES', 'EPERM'].includes(codeOf(error) ?? '')) throw error;
  }
}

/** Another file was put there. */
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
