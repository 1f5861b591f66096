// A data folder of its own for each test, the real server, and other processes that join it.
// Whatever runs on the folder is stopped when the test ends. Other processes run from dist/, which
// `npm test` builds first.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import { openDataFolder, type DataFolder, type Env } from '../../../connection/data-folder.ts';
import { findBinary } from '../../../worker/embedded/find-binary.ts';
import type { JoinServer } from '../../../worker/embedded/join-server.ts';
import { findRunningServer, findUnrecordedServer } from '../../../worker/embedded/server-record.ts';
import { stopServer } from '../../../worker/embedded/stop-server.ts';

/** The part of this machine's environment that finding the real binary needs, and nothing else. */
export const hostEnv: Env = Object.fromEntries(
  ['PATH', 'HOME', 'XDG_CACHE_HOME', 'GOPROXY', 'GOFLAGS', 'GOPATH'].map((name) => [name, process.env[name]]),
);

export function temporaryFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'perdure-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

export function temporaryData(name = 'data'): DataFolder {
  const folder = openDataFolder({ PERDURE_DATA: join(temporaryFolder(), name) });
  onTestFinished(async () => {
    const running = findRunningServer(folder) ?? findUnrecordedServer(folder);
    if (running !== null) await stopServer(running);
  });
  return folder;
}

export const realBinary = (wanted: string | null) => findBinary({ env: hostEnv, wanted, say: () => undefined });

export function joining(folder: DataFolder, change: Partial<JoinServer> = {}): JoinServer {
  return { folder, role: 'dev', worker: true, env: hostEnv, binary: realBinary, say: () => undefined, ...change };
}

const joinedSchema = z.object({ address: z.string(), startedHere: z.boolean() });
export type Joined = Readonly<z.infer<typeof joinedSchema>>;
export type OtherProcess = {
  readonly child: ChildProcess;
  readonly joined: Promise<Joined>;
  leave(): Promise<void>;
  kill(): Promise<void>;
};

/** A process that joins the folder and stays until it is told to leave or is killed. */
export function otherProcess(folder: DataFolder, role = 'dev'): OtherProcess {
  const script = join(import.meta.dirname, 'member-process.mjs');
  const env = { ...hostEnv, PERDURE_DATA: folder.root };
  const child = spawn(process.execPath, [script, role], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  onTestFinished(() => void child.kill('SIGKILL'));
  const joined = new Promise<Joined>((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', (line) => resolve(joinedSchema.parse(JSON.parse(line))));
    child.once('exit', (code, signal) => reject(new Error(`the other process ended with ${signal ?? code}`)));
  });
  return {
    child,
    joined,
    leave: () => (child.stdin.end(), ended),
    kill: () => (child.kill('SIGKILL'), ended),
  };
}

/** Waits for a state; the test's own timeout ends it. */
export async function until(state: () => boolean): Promise<void> {
  while (!state()) await sleep(5);
}

export function serverOf(folder: DataFolder) {
  const running = findRunningServer(folder);
  if (running === null) throw new Error(`no server runs on ${folder.root}`);
  return running;
}
