// Where everything durable of one machine lives. Belongs to one machine (or container) at a time. Nothing here is ever deleted.
import { accessSync, constants, existsSync, mkdirSync, opendirSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { z } from 'zod';
import { readJsonFile, writeJsonFile } from './json-file.ts';
import { codeOf, reasonOf, SetupProblem } from './setup-problem.ts';

export type Env = Readonly<Record<string, string | undefined>>;

/** Absolute paths. */
export type DataFolder = {
  readonly root: string;
  readonly temporalDb: string;
  /** Which server runs on the database, or did last. */
  readonly serverJson: string;
  readonly serverLog: string;
  readonly storeDir: string;
  readonly liveDir: string;
  readonly membersDir: string;
  /** Held while deciding who starts or stops the server. */
  readonly lockDir: string;
};

const LAYOUT = 1;
const layoutSchema = z.object({ version: z.number() });
const ELSEWHERE = 'set PERDURE_DATA to another folder';

/**
 * `PERDURE_DATA`, or `perdure` in the user's XDG data folder; made with mode 0700 when it is not there.
 * Throws SetupProblem when it cannot be used or another layout version made it.
 */
export function dataFolder(env: Env): DataFolder {
  const root = resolve(env['PERDURE_DATA'] || join(xdgFolder(env, 'XDG_DATA_HOME', '.local/share'), 'perdure'));
  const folder: DataFolder = {
    root,
    temporalDb: join(root, 'temporal.db'),
    serverJson: join(root, 'server.json'),
    serverLog: join(root, 'server.log'),
    storeDir: join(root, 'store'),
    liveDir: join(root, 'live'),
    membersDir: join(root, 'members'),
    lockDir: join(root, 'lock'),
  };
  makeFolder(root);
  checkLayout(root);
  for (const dir of [folder.storeDir, folder.liveDir, folder.membersDir, folder.lockDir]) makeFolder(dir);
  return folder;
}

/** A folder of the XDG base directory rules: relative values are ignored. */
export function xdgFolder(env: Env, name: string, fallback: string): string {
  const set = env[name];
  return set !== undefined && isAbsolute(set) ? set : join(env['HOME'] || homedir(), fallback);
}

function makeFolder(path: string): void {
  try {
    makeMissing(path, 0o700);
    opendirSync(path).closeSync();
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw cannotUse(path, error);
  }
}

/** Step by step: under /proc, `recursive` never returns. */
function makeMissing(path: string, mode?: number): void {
  if (existsSync(path)) return;
  makeMissing(dirname(path));
  try {
    mkdirSync(path, mode);
  } catch (error) {
    // Another process was faster.
    if (codeOf(error) !== 'EEXIST' || !existsSync(path)) throw error;
  }
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'it is not writable',
  EPERM: 'it is not writable',
  EROFS: 'its file system is read-only',
  ENOTDIR: 'it, or a part of its path, is a file',
  EEXIST: 'it, or a part of its path, is a file',
  ENOSPC: 'the disk is full',
  ENOENT: 'it cannot be made there',
};

function cannotUse(path: string, error: unknown): SetupProblem {
  const why = reasons[codeOf(error) ?? ''] ?? reasonOf(error);
  return new SetupProblem(`cannot use the data folder ${path}: ${why}; put that right or ${ELSEWHERE}`);
}

function checkLayout(root: string): void {
  const path = join(root, 'data.json');
  const layout = readLayout(root, path);
  if (layout.kind === 'damaged') {
    const remedy = `if perdure made this folder, write {"version":${LAYOUT}} there, else ${ELSEWHERE}`;
    throw new SetupProblem(`${path} is damaged (${layout.why}): ${remedy}; nothing was changed`);
  }
  if (layout.kind === 'read' && layout.value.version !== LAYOUT) {
    const versions = `its layout is version ${layout.value.version}, this perdure knows version ${LAYOUT}`;
    throw new SetupProblem(`another version of perdure made ${root} (${versions}): use that one or ${ELSEWHERE}`);
  }
}

function readLayout(root: string, path: string) {
  try {
    const layout = readJsonFile(path, layoutSchema);
    if (layout.kind === 'absent') writeJsonFile(path, { version: LAYOUT }, 'durable');
    return layout;
  } catch (error) {
    throw cannotUse(root, error);
  }
}
