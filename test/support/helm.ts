// Helm for the tests of the chart, built once with Go into the cache of our programs.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The path of its program. */
    helm: string;
  }
}

const VERSION = 'v3.16.4';

export default async function setup(project: TestProject): Promise<void> {
  project.provide('helm', await findHelm());
}

async function findHelm(): Promise<string> {
  const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'perdure', 'test-bin');
  const folder = join(cache, `helm-${VERSION}`);
  const program = join(folder, 'helm');
  if (existsSync(program)) return program;
  process.stderr.write('building helm, once: some minutes\n');
  const env = { ...process.env, GOBIN: folder };
  await promisify(execFile)('go', ['install', `helm.sh/helm/v3/cmd/helm@${VERSION}`], { env });
  return program;
}
