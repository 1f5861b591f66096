// Finds the server of a data folder. server.json names its process; the file beside the database
// names the version that made it. If server.json is lost, the server is found by its command line,
// which names our database.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { bootId, hostName, isAlive, startTimeOf, SYSTEM_PATH } from '../../system/process/identity.ts';
import { openKeyRing, type KeyRing } from '../../connection/payloads/key-ring.ts';
import { realOf } from '../../system/process/places.ts';
import type { DataFolder } from '../../connection/data-folder.ts';
import { identitySchema } from './file-lock.ts';
import { databaseArgument } from './server-args.ts';
import { readJsonFile, writeJsonFile } from '../../system/json-file.ts';
import { SetupProblem } from '../../system/setup-problem.ts';

const recordSchema = identitySchema.extend({
  /** The server's version, such as 1.29.1, and the binary it runs from. */
  server: z.string(),
  binary: z.string(),
  address: z.string(),
  /** The address of its own UI, such as http://127.0.0.1:21734; absent: it has none. */
  ui: z.string().optional(),
  /** Milliseconds since the epoch. */
  startedAt: z.number(),
});

/** pid, startTime, bootId and host are the server's own. */
export type ServerRecord = Readonly<z.infer<typeof recordSchema>>;

const madeSchema = z.object({
  server: z.string(),
  /**
   * False until a server was ready on it once: its making may have been cut short, and it holds
   * nothing.
   */
  complete: z.boolean(),
});
export type DatabaseRecord = Readonly<z.infer<typeof madeSchema>>;

/**
 * The last record, of a server that may be gone. A damaged one is as good as none: the process list
 * and the database remain.
 */
export function lastServer(folder: DataFolder): ServerRecord | null {
  const file = readJsonFile(folder.serverJson, recordSchema);
  return file.kind === 'read' ? file.value : null;
}

export function recordServer(folder: DataFolder, record: ServerRecord): void {
  writeJsonFile(folder.serverJson, record, 'not durable');
}

/** The server that runs on this database now, ready or not. */
export function runningServer(folder: DataFolder): ServerRecord | null {
  const last = lastServer(folder);
  return last !== null && isAlive(last, 'here') === 'alive' ? last : null;
}

/**
 * A server whose starter died before it could write server.json. Reads the process list: call it
 * only before starting another.
 */
export function findUnrecordedServer(folder: DataFolder): ServerRecord | null {
  for (const { pid, args } of processes()) {
    if (!args.includes('start-dev') || !isOn(folder, pid, valueOf(args, '--db-filename'))) continue;
    const startTime = startTimeOf(pid);
    const server = databaseRecord(folder)?.server;
    if (startTime === null || server === undefined) continue;
    const address = `${valueOf(args, '--ip')}:${valueOf(args, '--port')}`;
    const identity = { pid, startTime, bootId: bootId(), host: hostName() };
    const ui = args.includes('--ui-port') ? uiAt(Number(valueOf(args, '--ui-port'))) : {};
    return { ...identity, server, binary: args[0] ?? 'temporal', address, ...ui, startedAt: Date.now() };
  }
  return null;
}

function isOn({ root, temporalDb }: DataFolder, pid: number, database: string | undefined): boolean {
  if (database !== databaseArgument(temporalDb)) return false;
  return database === temporalDb || realOf(`/proc/${pid}/cwd`) === realOf(root);
}

/** Of a record: the UI that listens on this port; null: there is none. */
export const uiAt = (port: number | null): Pick<ServerRecord, 'ui'> =>
  port === null ? {} : { ui: `http://127.0.0.1:${port}` };

const valueOf = (args: readonly string[], flag: string): string | undefined => args[args.indexOf(flag) + 1];

function processes(): readonly { readonly pid: number; readonly args: readonly string[] }[] {
  if (!existsSync('/proc/self/cmdline')) return listedByPs();
  const pids = readdirSync('/proc').map(Number).filter(Number.isSafeInteger);
  return pids.map((pid) => ({ pid, args: commandLine(pid) }));
}

function commandLine(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    // Gone since it was listed, or another user's.
    return [];
  }
}

/** Splits at spaces: a database path with a space is not found this way. */
function listedByPs() {
  const env = { PATH: SYSTEM_PATH };
  const output = execFileSync('ps', ['-axww', '-o', 'pid=,args='], { encoding: 'utf8', env, maxBuffer: 1 << 26 });
  const lines = output.split('\n');
  return lines.map((line) => line.trim().split(/\s+/)).map(([pid, ...args]) => ({ pid: Number(pid), args }));
}

/**
 * Null when there is no database yet. Throws SetupProblem when nothing says which version made the
 * one that is there.
 */
export function databaseRecord(folder: DataFolder): DatabaseRecord | null {
  if (!existsSync(folder.temporalDb)) return null;
  const path = madePath(folder);
  const file = readJsonFile(path, madeSchema);
  if (file.kind === 'read') return file.value;
  const what = file.kind === 'absent' ? 'is missing' : `is damaged (${file.why})`;
  const example = '{"server":"1.29.1","complete":true}';
  throw new SetupProblem(
    `${path}, which says what Temporal version made the database, ${what}: write it again, such as ${example}; nothing was changed`,
  );
}

/**
 * The keys that the sessions of a database are sealed with. Made with the database; without its
 * keys nothing in it can be read. Throws SetupProblem when they are missing or damaged.
 */
export function folderKeys({ payloadKeys, temporalDb }: DataFolder): KeyRing {
  const missing = `${payloadKeys}, the keys to what is in ${temporalDb}, is missing: restore it from a backup, or set PERDURE_DATA to another folder; nothing was changed`;
  return openKeyRing(payloadKeys, missing);
}

/** The version that a server on this database has to have; null for any. */
export function wantedVersion(folder: DataFolder): string | null {
  const made = databaseRecord(folder);
  return made !== null && made.complete ? made.server : null;
}

export function recordDatabase(folder: DataFolder, record: DatabaseRecord): void {
  writeJsonFile(madePath(folder), record, 'durable');
}

/**
 * Before anyone uses a ready server: from now on the database holds what people were told is safe.
 */
export function markComplete(folder: DataFolder): void {
  const made = databaseRecord(folder);
  if (made !== null && !made.complete) recordDatabase(folder, { ...made, complete: true });
}

const madePath = (folder: DataFolder) => `${folder.temporalDb}.json`;

/**
 * Temporal changes its schema only in minor releases, and a dev server does not migrate a database.
 */
export function sameSchema(a: string, b: string): boolean {
  return releaseOf(a).join('.') === releaseOf(b).join('.');
}

/** Its major and minor number. */
export function releaseOf(version: string): readonly [number, number] {
  const [major, minor] = version.split('.').map(Number);
  return [major ?? 0, minor ?? 0];
}
