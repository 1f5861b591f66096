// Finds the server of a data folder. server.json names its process; the file next to the database
// names the version that made it. If server.json is lost, the server is found by its command line,
// which names our database.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { identityOf, isAlive, SYSTEM_PATH } from '../../system/process/identity.ts';
import { openKeyRing, type KeyRing } from '../../connection/payloads/key-ring.ts';
import { realOf } from '../../system/process/places.ts';
import type { DataFolder } from '../../connection/data-folder.ts';
import { identitySchema } from '../../system/process/file-lock.ts';
import { databaseArgument } from './server-args.ts';
import { readJsonFile, writeJsonFile } from '../../system/json.ts';
import { SetupProblem } from '../../system/setup-problem.ts';

const recordSchema = identitySchema.extend({
  /** The server's version, such as 1.29.1, and the binary it runs from. */
  server: z.string(),
  binary: z.string(),
  address: z.string(),
  /** The address of its own UI, such as http://127.0.0.1:21734; absent without one. */
  ui: z.string().optional(),
  /** Milliseconds since the epoch. */
  startedAt: z.number(),
  /** The process that stops an unused server. */
  watch: identitySchema.optional(),
});

/** pid, startTime, bootId and host identify the server's process. */
export type ServerRecord = Readonly<z.infer<typeof recordSchema>>;

const databaseSchema = z.object({
  server: z.string(),
  /**
   * False until a server was ready on it once: its making may have been cut short, and it holds
   * nothing.
   */
  complete: z.boolean(),
});
type DatabaseRecord = Readonly<z.infer<typeof databaseSchema>>;

/**
 * Returns the last record, of a server that may be gone. A damaged one counts as missing: the
 * process list and the database remain.
 */
export function readLastServer(folder: DataFolder): ServerRecord | null {
  const file = readJsonFile(folder.serverJson, recordSchema);
  return file.kind === 'read' ? file.value : null;
}

export function recordServer(folder: DataFolder, record: ServerRecord): void {
  writeJsonFile(folder.serverJson, record, 'not durable');
}

/** Returns the server that runs on this database now, ready or not. */
export function findRunningServer(folder: DataFolder): ServerRecord | null {
  const last = readLastServer(folder);
  return last !== null && isAlive(last, 'here') === 'alive' ? last : null;
}

/**
 * Finds a server whose starter died before it could write server.json. It reads the process list:
 * call it only before starting another.
 */
export function findUnrecordedServer(folder: DataFolder): ServerRecord | null {
  for (const { pid, args } of listProcesses()) {
    if (!args.includes('start-dev') || !isOn(folder, pid, valueOf(args, '--db-filename'))) continue;
    const identity = identityOf(pid);
    const server = readDatabaseRecord(folder)?.server;
    if (identity === null || server === undefined) continue;
    const address = `${valueOf(args, '--ip')}:${valueOf(args, '--port')}`;
    const ui = args.includes('--ui-port') ? uiAt(Number(valueOf(args, '--ui-port'))) : {};
    return { ...identity, server, binary: args[0] ?? 'temporal', address, ...ui, startedAt: Date.now() };
  }
  return null;
}

function isOn({ root, temporalDb }: DataFolder, pid: number, database: string | undefined): boolean {
  if (database !== databaseArgument(temporalDb)) return false;
  return database === temporalDb || realOf(`/proc/${pid}/cwd`) === realOf(root);
}

/** Returns the part of a record for a UI on this port; null means without one. */
export const uiAt = (port: number | null): Pick<ServerRecord, 'ui'> =>
  port === null ? {} : { ui: `http://127.0.0.1:${port}` };

const valueOf = (args: readonly string[], flag: string): string | undefined => args[args.indexOf(flag) + 1];

function listProcesses(): readonly { readonly pid: number; readonly args: readonly string[] }[] {
  if (!existsSync('/proc/self/cmdline')) return listProcessesByPs();
  const pids = readdirSync('/proc').map(Number).filter(Number.isSafeInteger);
  return pids.map((pid) => ({ pid, args: commandLine(pid) }));
}

function commandLine(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    // The process is gone since it was listed, or belongs to another user.
    return [];
  }
}

/** Lists processes by `ps`, split at spaces: a database path with a space is not found this way. */
function listProcessesByPs() {
  const env = { PATH: SYSTEM_PATH };
  const output = execFileSync('ps', ['-axww', '-o', 'pid=,args='], { encoding: 'utf8', env, maxBuffer: 1 << 26 });
  const lines = output.split('\n');
  return lines.map((line) => line.trim().split(/\s+/)).map(([pid, ...args]) => ({ pid: Number(pid), args }));
}

/**
 * Returns null when the database is missing. Throws SetupProblem when nothing says which version
 * made an existing one.
 */
export function readDatabaseRecord(folder: DataFolder): DatabaseRecord | null {
  if (!existsSync(folder.temporalDb)) return null;
  const path = databaseRecordPath(folder);
  const file = readJsonFile(path, databaseSchema);
  if (file.kind === 'read') return file.value;
  const what = file.kind === 'absent' ? 'is missing' : `is damaged (${file.why})`;
  const example = '{"server":"1.29.1","complete":true}';
  throw new SetupProblem(
    `${path}, which says what Temporal version made the database, ${what}: write it again, such as ${example}; nothing was changed`,
  );
}

/**
 * Opens the keys that seal the sessions of a database. They are made with the database, and without
 * them nothing in it can be read. Throws SetupProblem when they are missing or damaged.
 */
export function openFolderKeys({ payloadKeys, temporalDb }: DataFolder): KeyRing {
  const missing = `${payloadKeys}, the keys to what is in ${temporalDb}, is missing: restore it from a backup, or set PERDURE_DATA to another folder; nothing was changed`;
  return openKeyRing(payloadKeys, missing);
}

/** Returns the version that a server on this database has to have; null for any. */
export function versionToMatch(folder: DataFolder): string | null {
  const database = readDatabaseRecord(folder);
  return database !== null && database.complete ? database.server : null;
}

export function recordDatabase(folder: DataFolder, record: DatabaseRecord): void {
  writeJsonFile(databaseRecordPath(folder), record, 'durable');
}

/**
 * Marks the database complete, before a ready server is used: from now on it holds data that people
 * were told is safe.
 */
export function markComplete(folder: DataFolder): void {
  const database = readDatabaseRecord(folder);
  if (database !== null && !database.complete) recordDatabase(folder, { ...database, complete: true });
}

const databaseRecordPath = (folder: DataFolder) => `${folder.temporalDb}.json`;

/**
 * Tells whether two versions have the same schema: Temporal changes it only in minor releases, and
 * a dev server does not migrate a database.
 */
export function sameSchema(a: string, b: string): boolean {
  return releaseOf(a).join('.') === releaseOf(b).join('.');
}

/** Returns the major and minor number of a version. */
export function releaseOf(version: string): readonly [number, number] {
  const [major, minor] = version.split('.').map(Number);
  return [major ?? 0, minor ?? 0];
}
