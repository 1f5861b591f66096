// Builds the Temporal CLI with Go, which needs nothing but a Go proxy. It takes about four minutes
// on two cores, once.
import { mkdtempSync, renameSync, rmSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Programs } from '../../system/process/programs.ts';
import { startProgram, type BinarySource } from './fetch-binary.ts';

/**
 * The newest version that `go install` takes: later ones replace modules. It holds server 1.29.1.
 */
const VERSION = 'v1.5.1';
const PACKAGE = `github.com/temporalio/cli/cmd/temporal@${VERSION}`;
const REPORT_MS = 30_000;

export const buildBinary: BinarySource = async ({ into, programs, say }) => {
  const bin = mkdtempSync(join(into, '.build-'));
  try {
    say(`building a Temporal server with \`go install ${PACKAGE}\`: about 4 minutes, once`);
    const failure = await runGoInstall(programs, bin, say);
    if (failure !== null) return { problem: failure };
    const path = findFreeName(into);
    renameSync(join(bin, 'temporal'), path);
    return { path };
  } finally {
    rmSync(bin, { recursive: true, force: true });
  }
};

/** Finds a free name: an existing binary may be in use for another database. */
function findFreeName(into: string): string {
  const plain = join(into, 'temporal');
  return existsSync(plain) ? join(into, `temporal-${VERSION}`) : plain;
}

async function runGoInstall(programs: Programs, bin: string, say: (line: string) => void): Promise<string | null> {
  const started = Date.now();
  const child = await startProgram([programs.at('go'), 'install', PACKAGE], bin, programs, { GOBIN: bin });
  if (typeof child === 'string') return `cannot build it: ${child}`;
  let errors = '';
  // Only the end of the output is kept, which says why the build failed.
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors = (errors + text).slice(-4_000)));
  const report = setInterval(() => say(`still building (${formatDuration(Date.now() - started)})`), REPORT_MS);
  const { code, signal } = await child.closed().finally(() => clearInterval(report));
  if (code === 0) {
    say(`built a Temporal server in ${formatDuration(Date.now() - started)}`);
    return null;
  }
  const last = errors.trim().split('\n').at(-1) || (signal ?? `status ${code}`);
  return `\`go install ${PACKAGE}\` failed: ${last}`;
}

function formatDuration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
