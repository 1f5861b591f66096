// The shadow repository: one bare git repository in the data folder that holds the snapshots of all
// workspaces (T1). Nothing of a workspace's own repository is used or changed: git gets its own
// folder, an index for each session, an empty configuration, and attributes that turn filters and
// conversions off.
import { createHash, randomBytes } from 'node:crypto';
import { lstatSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { gitEnvironment } from '../../system/process/environment.ts';
import { isInside, realOf } from '../../system/process/places.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { keySegment } from '../values/store.ts';
import type { RawPath } from './listing.ts';

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

// Compares the settings of the shadow repository with ours before git reads them: changed ones
// could make git start a program, read objects from elsewhere, or take other contents for those of
// a snapshot. Differing settings are rewritten, and foreign ones are removed.
/** Wins over every `.gitattributes` of a workspace: files are stored as they lie. */
const ATTRIBUTES = '* -text -filter -ident -working-tree-encoding !diff\n';

/** In this order: git takes the folder for a repository as soon as it has HEAD. */
const FILES: readonly (readonly [name: string, content: string])[] = [
  ['config', '[core]\n\trepositoryformatversion = 0\n\tbare = true\n'],
  ['info/attributes', ATTRIBUTES],
  ['HEAD', 'ref: refs/heads/none\n'],
];

const FOLDERS = ['objects', 'objects/info', 'objects/pack', 'refs', 'refs/heads', 'info'];

/** Nothing of ours writes these, and git would follow them. */
const STRANGE = [
  'config.worktree',
  'commondir',
  'gitdir',
  'hooks',
  'modules',
  'shallow',
  'worktrees',
  'index',
  'info/exclude',
  'info/grafts',
  'info/sparse-checkout',
  'objects/info/alternates',
  'objects/info/http-alternates',
  'refs/replace',
];

/**
 * Makes the repository where it is missing, and its settings ours. It costs a few looks where all
 * is as it should be. Throws the system's error.
 */
export function requireOwnSettings(gitDir: string): void {
  for (const name of FOLDERS) requireFolder(join(gitDir, name));
  for (const name of STRANGE) remove(join(gitDir, name));
  for (const [name, content] of FILES) requireFile(join(gitDir, name), content);
}

function requireFolder(path: string): void {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats?.isDirectory() === true) return;
  if (stats) rmSync(path, { force: true });
  mkdirSync(path, { recursive: true, mode: 0o700 });
}

/** No link is followed. */
function remove(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })) rmSync(path, { recursive: true, force: true });
}

/** Another git may read it meanwhile, so that it is replaced as a whole. */
function requireFile(path: string, content: string): void {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats?.isFile() === true && readFileSync(path, 'utf8') === content) return;
  if (stats && !stats.isFile()) rmSync(path, { recursive: true, force: true });
  const temporary = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    writeFileSync(temporary, content, { flag: 'wx', mode: 0o600 });
    renameSync(temporary, path);
  } finally {
    rmSync(temporary, { force: true });
  }
}

// Runs git, and the program that writes the files of a workspace, confined.
/**
 * Runs a program held as an agent's command is, and returns what it printed as latin1. It may write
 * to the shadow repository; with `writes` only to that folder and to `cwd`. Rejects with a sentence
 * that it said.
 */
export type RunHeld = (
  argv: readonly string[],
  options: {
    readonly env: Readonly<Record<string, string>>;
    readonly cwd: string;
    readonly writes?: string;
    /** Rejects with OutOfBounds after so long. */
    readonly timeoutMs?: number;
  },
) => Promise<string>;

export type ShadowReading = {
  /** The bare repository. */
  readonly gitDir: string;
  /** The path of git. */
  readonly git: string;
  readonly run: RunHeld;
};

// The hashes by which git is asked for snapshots. They come from transcripts, and git would take
// text of another form for an option, or for another revision.
export const isSnapshotId = (value: unknown): value is string =>
  typeof value === 'string' && /^[0-9a-f]{40}$/.test(value);

/** Throws for anything but an id. */
export function requireSnapshotId(id: string): void {
  if (!isSnapshotId(id)) throw new Error(`${JSON.stringify(id)} is no id of a snapshot`);
}

/** Names a part of a snapshot to git. Throws for anything but an id. */
export function nameTree(id: string, part: 'files' | 'folders'): string {
  requireSnapshotId(id);
  return `${id}:${part}`;
}
