// Builds the Temporal CLI with Go: the way that needs nothing but a Go proxy. About four minutes on two cores, once.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { Programs } from '../../activities/process/programs.ts';
import type { BinarySource } from './binary-version.ts';
import { codeOf, reasonOf } from './setup-problem.ts';

/** The newest version that `go install` takes: later ones replace modules. It holds server 1.29.1. */
const VERSION = 'v1.5.1';
const PACKAGE = `github.com/temporalio/cli/cmd/temporal@${VERSION}`;
const REPORT_MS = 30_000;

export const buildBinary: BinarySource = async ({ into, programs, say }) => {
  const bin = mkdtempSync(join(into, '.build-'));
  try {
    say(`building a Temporal server with \`go install ${PACKAGE}\`: about 4 minutes, once`);
    const failure = await goInstall(programs, bin, say);
    if (failure !== null) return { problem: failure };
    const path = freeName(into);
    renameSync(join(bin, 'temporal'), path);
    return { path };
  } finally {
    rmSync(bin, { recursive: true, force: true });
  }
};

/** What is there may be in use for another database. */
function freeName(into: string): string {
  const plain = join(into, 'temporal');
  return existsSync(plain) ? join(into, `temporal-${VERSION}`) : plain;
}

async function goInstall(programs: Programs, bin: string, say: (line: string) => void): Promise<string | null> {
  const started = Date.now();
  const env = { ...programs.environment('network'), GOBIN: bin };
  const child = spawn(programs.at('go'), ['install', PACKAGE], { env, cwd: bin, stdio: ['ignore', 'ignore', 'pipe'] });
  const report = setInterval(() => say(`still building (${minutes(Date.now() - started)})`), REPORT_MS);
  const failure = await outcome(child);
  clearInterval(report);
  if (failure === null) say(`built a Temporal server in ${minutes(Date.now() - started)}`);
  return failure;
}

function outcome(child: ChildProcessByStdio<null, null, Readable>): Promise<string | null> {
  let errors = '';
  // Kept short: only the end says why it failed.
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors = (errors + text).slice(-4_000)));
  return new Promise((resolve) => {
    child.once('error', (error) => {
      if (codeOf(error) === 'ENOENT') resolve('cannot build it: no `go` on PATH');
      else resolve(`cannot run \`go\`: ${reasonOf(error)}`);
    });
    child.once('close', (code) => {
      const last = errors.trim().split('\n').at(-1) || `status ${code}`;
      resolve(code === 0 ? null : `\`go install ${PACKAGE}\` failed: ${last}`);
    });
  });
}

function minutes(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
