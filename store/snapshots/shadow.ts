// The shadow repository: one bare git repository in the data folder that holds the snapshots of all
// workspaces (T1). Nothing of a workspace's own repository is used or changed: git gets its own
// folder, an index for each session, an empty configuration, and attributes that turn filters and
// conversions off.
import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { gitEnvironment } from '../../system/process/environment.ts';
import { isInside, realOf } from '../../system/process/places.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { keySegment } from '../values/store.ts';
import type { RawPath } from './listing.ts';
import { requireOwnSettings } from './require-own-settings.ts';

/** The snapshots of one folder of one session. */
export type ShadowPlace = {
  /** The bare repository. */
  readonly gitDir: string;
  /** The session's own folder for this root: its index and its state. */
  readonly own: string;
  /** The ref that keeps the session's snapshots of this root. */
  readonly ref: string;
  /** The folder that is captured: an absolute real path. */
  readonly root: string;
};

/**
 * The configuration of every command. Objects are on disk before a ref names them, and nothing that
 * git could be told to start is started.
 */
const SETTINGS = [
  'core.bare=false',
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.alternateRefsCommand=false',
  'core.gitProxy=false',
  'core.pager=cat',
  'core.sshCommand=false',
  'core.useReplaceRefs=false',
  'credential.helper=',
  'gc.recentObjectsHook=',
  'protocol.allow=never',
  'core.attributesFile=/dev/null',
  'core.excludesFile=/dev/null',
  'core.autocrlf=false',
  'core.safecrlf=false',
  'core.fileMode=true',
  'core.symlinks=true',
  'core.ignoreCase=false',
  'core.precomposeUnicode=false',
  'core.protectNTFS=false',
  'core.quotePath=false',
  'core.untrackedCache=true',
  'core.fsync=loose-object,pack,pack-metadata,reference',
  'core.logAllRefUpdates=false',
  'index.version=4',
  'gc.auto=0',
  'maintenance.auto=false',
].flatMap((setting) => ['-c', setting]);

export const snapshotsFolderOf = (dataDir: string): string => join(dataDir, 'snapshots');

export function placeOfRoot(dataDir: string, session: SessionId, root: string): ShadowPlace {
  const gitDir = snapshotsFolderOf(dataDir);
  const name = createHash('sha256').update(root).digest('hex').slice(0, 16);
  const segment = keySegment(session);
  return { gitDir, root, own: join(gitDir, 'sessions', segment, name), ref: `refs/sessions/${segment}/${name}` };
}

/**
 * Makes the repository and the session's folder where they are missing, and the settings of the
 * repository ours where they are not.
 */
export async function openShadow({ gitDir, own }: Pick<ShadowPlace, 'gitDir' | 'own'>): Promise<void> {
  await mkdir(own, { recursive: true, mode: 0o700 });
  requireOwnSettings(gitDir);
}

/** Returns the arguments of a git command on the shadow repository. */
export function gitArguments(
  git: string,
  { gitDir }: Pick<ShadowPlace, 'gitDir'>,
  args: readonly string[],
): readonly string[] {
  return [git, `--git-dir=${gitDir}`, ...SETTINGS, ...args];
}

/**
 * The environment of git on the shadow repository; names are bytes, and no lock is taken to read.
 */
export function shadowEnvironment(): Readonly<Record<string, string>> {
  const own = { GIT_OPTIONAL_LOCKS: '0', GIT_NO_REPLACE_OBJECTS: '1', GIT_CONFIG_COUNT: '0', LC_ALL: 'C' };
  return { ...gitEnvironment(), ...own };
}

/** Leaves our own data folder out, where it lies in what is captured; empty where it does not. */
export function leaveOutData({ gitDir, root }: ShadowPlace): RawPath {
  const data = realOf(dirname(gitDir));
  if (data === null || data === root || !isInside(root, data)) return '';
  return `${Buffer.from(relative(root, data)).toString('latin1')}/`;
}
