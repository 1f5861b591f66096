// Programs for tests that are built with Go, once, into the cache of our programs.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';

/** Returns the path of the program; `time` says how long a person waits for the build. */
export async function findGoProgram(module: string, version: string, time: string): Promise<string> {
  const name = basename(module);
  const folder = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'perdure', 'test-bin', version);
  const program = join(folder, name);
  if (existsSync(program)) return program;
  process.stderr.write(`building ${name}, once: ${time}\n`);
  await promisify(execFile)('go', ['install', `${module}@${version}`], { env: { ...process.env, GOBIN: folder } });
  return program;
}
