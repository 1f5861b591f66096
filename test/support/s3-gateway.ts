// A real S3 gateway for all files of the `shared` tier: versitygw on a folder, built once with Go
// into the cache of our programs.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { findGoProgram } from './go-program.ts';
import { until } from './until.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The gateway's address, without a path. */
    s3Endpoint: string;
  }
}

/** In the middle of all credentials, so that a piece of one is found as well. */
export const S3_CANARY = 'C4n4ry';
export const S3_KEYS = {
  AWS_ACCESS_KEY_ID: `AK${S3_CANARY}ID`,
  AWS_SECRET_ACCESS_KEY: `the/${S3_CANARY}+secret`,
  AWS_REGION: 'us-east-1',
};
export const BUCKET = 'sessions';
/** The program, its version, and how long its build takes. */
export const S3_GATEWAY = ['github.com/versity/versitygw/cmd/versitygw', 'v1.8.0', 'about a minute'] as const;

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const program = await findGoProgram(...S3_GATEWAY);
  const folder = mkdtempSync(join(tmpdir(), 'perdure-s3-'));
  mkdirSync(join(folder, BUCKET));
  const port = await freePort();
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY } = S3_KEYS;
  // Connections stay open, as those of S3 do.
  const child = spawn(program, ['--port', `127.0.0.1:${port}`, '--keep-alive', '--quiet', 'posix', folder], {
    env: { ...process.env, ROOT_ACCESS_KEY: AWS_ACCESS_KEY_ID, ROOT_SECRET_KEY: AWS_SECRET_ACCESS_KEY },
    stdio: 'ignore',
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const endpoint = `http://127.0.0.1:${port}`;
  await until(async () => child.exitCode === null && (await fetch(endpoint).catch(() => null)));
  project.provide('s3Endpoint', endpoint);
  return async () => {
    child.kill('SIGKILL');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}
