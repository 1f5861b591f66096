// Helm, built once with Go into the cache of our programs.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const VERSION = 'v3.16.4';
const run = promisify(execFile);

export async function findHelm(): Promise<string> {
  const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'perdure', 'test-bin');
  const folder = join(cache, `helm-${VERSION}`);
  const program = join(folder, 'helm');
  if (existsSync(program)) return program;
  process.stderr.write('building helm, once: some minutes\n');
  await run('go', ['install', `helm.sh/helm/v3/cmd/helm@${VERSION}`], { env: { ...process.env, GOBIN: folder } });
  return program;
}
