// Starts the Temporal dev server of a data folder, tuned, as a process that outlives this one and
// that Ctrl-C does not reach. The caller holds the folder's lock and has seen that no server runs
// on the database.
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, renameSync, statSync } from 'node:fs';
import { findPrograms } from '../../system/process/programs.ts';
import { identityOf } from '../../system/process/identity.ts';
import { makeKeyFile } from '../../connection/payloads/key-ring.ts';
import type { Binary } from './find-binary.ts';
import type { DataFolder, Env } from '../../connection/data-folder.ts';
import { serverArgs, type ServerArgs } from './server-args.ts';
import { findFreePort, isPortFree } from './free-port.ts';
import {
  readDatabaseRecord,
  openFolderKeys,
  readLastServer,
  markComplete,
  recordDatabase,
  type ServerRecord,
  uiAt,
  sameSchema,
} from './server-record.ts';
import { SetupProblem } from '../../system/setup-problem.ts';
import { type Ready, waitReady } from './wait-ready.ts';
import { recordWatched } from './start-watch.ts';
import { stopServer } from './stop-server.ts';

type StartServer = {
  readonly folder: DataFolder;
  readonly binary: Binary;
  readonly env: Env;
  /** True when other processes hold the last address: start there or not. */
  readonly keepPort: boolean;
  /** True starts the server with its UI. One that others count on has it if the last one had. */
  readonly ui?: boolean;
  /** Only those who want to know more are told details. */
  readonly say: (line: string, isDetail?: true) => void;
};

const READY_MS = 20_000;
const PORT_TRIES = 3;
const LOG_BYTES = 1 << 20;

/** Resolves when the server is ready. Throws SetupProblem, and then leaves no server running. */
export async function startServer(start: StartServer): Promise<ServerRecord> {
  const { folder, binary, say } = start;
  const began = performance.now();
  for (let tries = 1; ; tries++) {
    prepareDatabase(folder, binary);
    const ports = { port: await choosePort(start, tries), uiPort: await chooseUiPort(start, tries) };
    const result = await startAt(start, ports);
    if ('record' in result) {
      markComplete(folder);
      const seconds = ((performance.now() - began) / 1000).toFixed(2);
      say(
        `Temporal server ${binary.server} ready at ${result.record.address} in ${seconds} s, tuned for one machine`,
        true,
      );
      return result.record;
    }
    const retry = !start.keepPort && tries < PORT_TRIES && result.why.includes('address already in use');
    if (!retry) throw didNotStart(folder, result.why);
  }
}

/**
 * Prepares the database. Its version is on disk before it is, so that a database never lacks it.
 */
function prepareDatabase(folder: DataFolder, binary: Binary): void {
  const database = readDatabaseRecord(folder);
  if (database !== null && database.complete) {
    openFolderKeys(folder);
    return refuseOtherVersion(folder, database.server, binary);
  }
  if (!existsSync(folder.payloadKeys)) makeKeyFile(folder.payloadKeys);
  // The server makes its tables only when the file is missing, so a start that was killed half-way
  // would leave it useless for ever.
  if (database !== null) setAside(folder);
  recordDatabase(folder, { server: binary.server, complete: false });
}

function refuseOtherVersion(folder: DataFolder, recorded: string, binary: Binary): void {
  if (sameSchema(recorded, binary.server)) return;
  throw new SetupProblem(
    `${folder.temporalDb} was made by Temporal server ${recorded} and ${binary.path} is ${binary.server}, which does not migrate it: ` +
      `install a Temporal CLI with server ${recorded}, or set PERDURE_DATA to another folder`,
  );
}

/**
 * Renames the database instead of deleting it. No server was ever ready on it, so its content was
 * never reported as safe.
 */
function setAside(folder: DataFolder): void {
  const suffix = `.incomplete-${Date.now()}`;
  for (const file of ['', '-wal', '-shm'].map((end) => `${folder.temporalDb}${end}`))
    if (existsSync(file)) renameSync(file, `${file}${suffix}`);
}

/**
 * Chooses the last port, because workers keep the address, and another only when it is taken and no
 * process counts on it.
 */
async function choosePort({ folder, keepPort }: StartServer, tries: number): Promise<number> {
  const last = Number(readLastServer(folder)?.address.split(':')[1] ?? 0);
  if (last === 0 || (!keepPort && tries > 1)) return findFreePort();
  // Check the port first: another program that listens there may pass for ours, being a Temporal
  // server too.
  if (await isPortFree(last)) return last;
  if (keepPort) throw didNotStart(folder, `another program has its port ${last}, where others look for it`);
  return findFreePort();
}

/**
 * Resolves to null for a server without UI, else to the last port if possible, so that links go on
 * to lead there.
 */
async function chooseUiPort({ folder, keepPort, ui = false }: StartServer, tries: number): Promise<number | null> {
  const last = readLastServer(folder)?.ui;
  if (!ui && !(keepPort && last !== undefined)) return null;
  const port = last !== undefined && URL.canParse(last) ? Number(new URL(last).port) : 0;
  return port > 0 && tries === 1 && (await isPortFree(port)) ? port : findFreePort();
}

type Ports = Pick<ServerArgs, 'port' | 'uiPort'>;

type StartResult = { readonly record: ServerRecord } | { readonly why: string };

async function startAt(start: StartServer, ports: Ports): Promise<StartResult> {
  const { folder, binary } = start;
  const { child, logFrom, begin } = launchServer(start, ports);
  const failed = watchForEnd(child);
  const record = recordOf(child, binary, ports);
  if (record === null) return { why: lastLogLine(folder, logFrom) ?? (await failed.promise) };
  let ready: Ready = { kind: 'not_ready', why: 'not tried' };
  try {
    // It is recorded and watched before it begins: if this process dies now, the next one finds the
    // server by its record, and if none comes the server ends.
    recordWatched(folder, record, start.env);
    begin();
    ready = await waitReady(record.address, READY_MS, failed.now);
  } finally {
    if (ready.kind === 'not_ready') await stopServer(record);
  }
  if (ready.kind === 'ready' && !failed.now()) return { record };
  const late = `not ready after ${READY_MS / 1000} s`;
  return { why: lastLogLine(folder, logFrom) ?? (failed.now() ? await failed.promise : late) };
}

function launchServer({ folder, binary, env }: StartServer, ports: Ports) {
  const { log, size: logFrom } = openLog(folder);
  try {
    const programs = findPrograms(env);
    const server = [binary.path, ...serverArgs({ ...ports, database: folder.temporalDb })];
    const child = spawn(programs.at('sh'), afterWord(server), {
      cwd: folder.root,
      env: programs.environment(),
      detached: true,
      stdio: ['pipe', log, log],
    });
    child.unref();
    // A shell that has ended already shows by its exit.
    child.stdin?.on('error', () => undefined);
    return { child, logFrom, begin: () => void child.stdin?.end('\n') };
  } finally {
    closeSync(log);
  }
}

/**
 * Returns arguments of a shell that becomes the program once it reads a line, and ends without one.
 * The umask keeps other users from the database.
 */
export function afterWord(program: readonly string[]): readonly string[] {
  return ['-c', 'umask 077; read -r _ && exec "$@" </dev/null', 'sh', ...program];
}

function recordOf(child: ChildProcess, binary: Binary, { port, uiPort }: Ports): ServerRecord | null {
  const identity = child.pid === undefined ? null : identityOf(child.pid);
  if (identity === null) return null;
  const at = { address: `127.0.0.1:${port}`, ...uiAt(uiPort) };
  return { ...identity, server: binary.server, binary: binary.path, ...at, startedAt: Date.now() };
}

/** Watches whether the process has ended, and how. */
function watchForEnd(child: ChildProcess) {
  let hasEnded = false;
  const promise = new Promise<string>((resolve) => {
    const end = (how: string) => {
      hasEnded = true;
      resolve(how);
    };
    child.once('error', (error) => end(error.message));
    child.once('exit', (code, signal) => end(`it ended with ${signal ?? `status ${code}`}`));
  });
  return { promise, now: () => hasEnded };
}

function openLog({ serverLog }: DataFolder): { readonly log: number; readonly size: number } {
  const size = statSync(serverLog, { throwIfNoEntry: false })?.size ?? 0;
  if (size > LOG_BYTES) renameSync(serverLog, `${serverLog}.1`);
  return { log: openSync(serverLog, 'a', 0o600), size: size > LOG_BYTES ? 0 : size };
}

/** Reads the last line written since `from`; null when only the banner was. */
function lastLogLine({ serverLog }: DataFolder, from: number): string | null {
  const lines = readFileSync(serverLog).subarray(from).toString('utf8').split('\n');
  const line = lines.findLast((text) => text.trim() !== '' && !/^(CLI|Server:|Metrics:|Stopping) /.test(text));
  const message = /\bmsg="((?:[^"\\]|\\.)*)"/.exec(line ?? '')?.[1];
  return message?.replaceAll('\\"', '"') ?? line ?? null;
}

function didNotStart(folder: DataFolder, why: string): SetupProblem {
  return new SetupProblem(
    `the Temporal server of ${folder.temporalDb} did not start: ${why} (its log: ${folder.serverLog}); nothing was deleted`,
  );
}
