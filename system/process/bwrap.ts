// Builds the arguments for bubblewrap, which decide what a shell command can see and change of this
// machine's files.
import { existsSync, lstatSync, mkdirSync, readFileSync, readlinkSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import { listDataFolders } from './data-folders.ts';
import {
  isInside,
  listEntries,
  findLinkedStartupFiles,
  listUnlinkedCaches,
  realOf,
  temporaryFolders,
  type Places,
} from './places.ts';

export type Confinement = {
  /** The workspace: an absolute real path. */
  readonly cwd: string;
  /**
   * Other folders of the run, which are writable as the workspace is: absolute real paths. One that
   * is missing, or a link now, is left out.
   */
  readonly folders?: readonly string[] | undefined;
  /** The folder in which the command starts; the workspace when absent. */
  readonly dir?: string;
  /**
   * The folder of Perdure's own data. Where it is given, it is hidden, and so are all other data
   * folders of this user.
   */
  readonly dataDir?: string | undefined;
  /**
   * Makes nothing writable and cuts the network off, for commands that were judged to only read
   * (L55).
   */
  readonly readOnly?: boolean;
  /** Cuts the network off. */
  readonly offline?: boolean;
  /** Makes the workspace and `folders` writable and nothing else: no temporary folder, no cache. */
  readonly alone?: boolean;
  /** Folders that can be read although they lie in the data folder: absolute real paths. */
  readonly readable?: readonly string[];
  /** What is shown below /mnt, whose other folders can be read (G66). */
  readonly shown?: readonly ShownFolder[];
  /** Sockets of outside services that the command may reach all the same. */
  readonly sockets?: readonly ReachedSocket[];
};

/** A folder `from` that is seen at `path`. `isWritable`: unless the command may only read. */
export type ShownFolder = { readonly path: string; readonly from: string; readonly isWritable?: true };

/** Both are absolute paths. `from` is the socket that is reached in the place of `path`. */
export type ReachedSocket = { readonly path: string; readonly from?: string };

type MountKind = '--bind' | '--ro-bind' | '--tmpfs' | '--dev' | '--proc' | '--symlink';
/** `from` is what is shown at `path`, when that is something else. */
type Mount = { readonly kind: MountKind; readonly path: string; readonly from?: string };

/**
 * Root keeps these capabilities: enough to work on files of any owner, and none that could undo a
 * mount or make a device.
 */
const ROOT_CAPABILITIES = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'SETGID', 'SETUID'];

/**
 * Commands need these parts of /run: how names are looked up, where NixOS keeps programs, other
 * disks.
 */
const KEPT_OF_RUN = ['systemd/resolve', 'resolvconf', 'NetworkManager', 'current-system', 'opengl-driver', 'media'];

/** Returns everything between bubblewrap and the command itself. */
export function bwrapArguments(confinement: Confinement, places: Places): string[] {
  const { dataDir, cwd, folders = [] } = confinement;
  const hidden = listHidden(dataDir, places, [cwd, ...folders]);
  const isRoot = process.getuid?.() === 0;
  const mounts = listMounts(confinement, places, hidden);
  // A writable file of the kernel would let root change the machine.
  const shown = mayShow(confinement) ? [SHOWN_BELOW] : [];
  const readOnly = [...(isRoot ? ['/proc'] : []), ...hidden, ...shown];
  return [
    '--die-with-parent',
    '--unshare-pid',
    '--unshare-ipc',
    ...(confinement.readOnly === true || confinement.offline === true ? ['--unshare-net'] : []),
    ...(isRoot ? capabilityArguments() : []),
    ...mounts.flatMap(({ kind, path, from = path }) => (hasNoSource(kind) ? [kind, path] : [kind, from, path])),
    ...readOnly.flatMap((path) => ['--remount-ro', path]),
    '--chdir',
    confinement.dir ?? confinement.cwd,
    '--',
  ];
}

/**
 * A socket or another data folder may go away while the sandbox is built, and another one the next
 * time: on a busy machine a build takes a second, in which one of many short-lived folders is gone.
 */
export const MOST_BUILDS = 40;

/**
 * Tells whether bubblewrap could not build the sandbox and has run nothing: all that was printed is
 * its complaint about a place in its arguments that is masked, or gone.
 */
export function isNeverBuilt(output: string, argv: readonly string[]): boolean {
  const complaint = /^bwrap: Can't [^\n]*$/.exec(output.trim())?.[0];
  if (complaint === undefined) return false;
  // What it would have made a folder for was gone, and another sandbox may have made it since.
  const wasGone = complaint.startsWith("bwrap: Can't mkdir ");
  const named = namedIn(complaint);
  const dir = argv[argv.indexOf('--chdir') + 1] ?? sep;
  return argv.some(
    (path, at) =>
      isAbsolute(path) &&
      path !== sep &&
      complaint.includes(path) &&
      (wasGone || argv[at - 1] === '/dev/null' || !existsSync(path) || (named.has(path) && !isInside(path, dir))),
  );
}

/** The places of others that a complaint names: one that was gone may be there again. */
function namedIn(complaint: string): ReadonlySet<string> {
  if (!/Can't (?:find source path|get type of source|bind mount|mount tmpfs on|remount) /.test(complaint))
    return new Set();
  return new Set(
    complaint
      .replace('/oldroot/dev/null', '')
      .split(/[ :]+/)
      .map((word) => word.replace(/^\/(?:newroot|oldroot)(?=\/)/, '')),
  );
}

/**
 * Runs a program with arguments that are built anew, a few times, while its sandbox is not built.
 */
export async function runBuilt<T>(
  build: () => readonly string[],
  run: (argv: readonly string[]) => Promise<T>,
  saidIn: (end: T) => string,
): Promise<T> {
  for (let count = 1; ; count += 1) {
    const argv = build();
    const end = await run(argv);
    if (count === MOST_BUILDS || !isNeverBuilt(saidIn(end), argv)) return end;
  }
}

/**
 * Does the same as `bwrapArguments` for a program that is trusted with files: its processes are
 * held, and Perdure's data is hidden.
 */
export function holdArguments(dataDir: string | undefined, places: Places): string[] {
  const hidden = listHidden(dataDir, places, []);
  const data = hidden.flatMap((path) => ['--tmpfs', path, '--remount-ro', path]);
  return ['--die-with-parent', '--unshare-pid', '--dev-bind', '/', '/', '--proc', '/proc', ...data, '--'];
}

/** Returns the data folders that exist, where the one of this Perdure is to be hidden. */
function listHidden(dataDir: string | undefined, places: Places, roots: readonly string[]): readonly string[] {
  if (dataDir === undefined) return [];
  return keepExisting([dataDir, ...listDataFolders(places, [...roots, dirname(realOf(dataDir) ?? dataDir)])]);
}

/**
 * Orders mounts shallow before deep, so that a workspace inside the data folder stays in view, and
 * a data folder inside the workspace does not.
 */
function listMounts(confinement: Confinement, places: Places, hidden: readonly string[]): readonly Mount[] {
  const { cwd, readOnly = false, alone = false, readable = [] } = confinement;
  const system: readonly Mount[] = [
    { kind: cwd === sep && !readOnly ? '--bind' : '--ro-bind', path: sep },
    { kind: '--dev', path: '/dev' },
    { kind: '--proc', path: '/proc' },
    ...listRunFolderMounts(),
  ];
  const writable = readOnly || alone ? [] : listSharedMounts(places);
  const chosen = [...(cwd === sep ? [] : [cwd]), ...outerFolders(confinement)];
  const own = chosen.map((path): Mount => ({ kind: readOnly ? '--ro-bind' : '--bind', path }));
  const roots = [...outerFolders(confinement), ...writable.map(({ path }) => path)];
  const guarded = readOnly ? [] : listGuardMounts(places, [cwd, ...roots], hidden);
  const before = [
    ...system,
    ...hidden.map(emptyFolder),
    ...readable.map(readOnlyBind),
    ...writable,
    ...listShownMounts(confinement, hidden),
    ...own,
    ...guarded,
  ];
  const reached = readOnly ? [] : (confinement.sockets ?? []).flatMap(mountReachedSocket);
  const masked = listSocketMasks(confinement, before).filter((mask) => !reached.some(({ path }) => path === mask.path));
  const all = [...before, ...masked, ...reached];
  return all.toSorted((a, b) => depthOf(a.path) - depthOf(b.path));
}

/**
 * Leaves out folders that lie in another: the agent can change what is there, and could swap the
 * mount point for a link.
 */
function outerFolders({ cwd, folders = [] }: Confinement): readonly string[] {
  const isCovered = (folder: string): boolean =>
    [cwd, ...folders].some((root) => root !== folder && isInside(root, folder));
  return [...new Set(folders)].filter((folder) => folder !== cwd && !isCovered(folder) && realOf(folder) === folder);
}

/**
 * Commands share the temporary folders with the rest of the machine, and caches only with each
 * other.
 */
function listSharedMounts(places: Places): readonly Mount[] {
  const caches = listUnlinkedCaches(places).filter(({ own }) => canMake(own));
  return [
    ...keepExisting(temporaryFolders()).map(writableBind),
    ...caches.map(({ path, own }): Mount => ({ kind: '--bind', path, from: own })),
  ];
}

/**
 * Hides /run, where services of the user and the system listen, except for the parts that commands
 * need.
 */
function listRunFolderMounts(): readonly Mount[] {
  const folders = keepExisting(['/run', '/var/run']);
  const needed = folders.flatMap((folder) => KEPT_OF_RUN.map((name) => join(folder, name)));
  return [...folders.map(emptyFolder), ...needed.filter((path) => realOf(path) !== null).map(mountUnchanged)];
}

const SHOWN_BELOW = '/mnt';

/** A machine without the folder has no place to show anything in. */
const mayShow = ({ shown = [] }: Confinement): boolean => shown.length > 0 && realOf(SHOWN_BELOW) === SHOWN_BELOW;

/** An empty folder takes the place of /mnt, with what the machine has there and what is shown. */
function listShownMounts(confinement: Confinement, hidden: readonly string[]): readonly Mount[] {
  const { shown = [], readOnly = false } = confinement;
  if (!mayShow(confinement)) return [];
  const taken = new Set(shown.map(({ path }) => path.split(sep)[2]));
  const others = listEntries(SHOWN_BELOW)
    .filter((entry) => !taken.has(entry.name) && !entry.isFile())
    .map(({ name }) => join(SHOWN_BELOW, name))
    .filter((path) => !hidden.includes(path));
  return [
    emptyFolder(SHOWN_BELOW),
    ...others.map(mountUnchanged),
    ...shown
      .filter(({ from }) => realOf(from) === from)
      .map(({ path, from, isWritable }): Mount => ({
        kind: isWritable && !readOnly ? '--bind' : '--ro-bind',
        path,
        from,
      })),
  ];
}

/** Makes the commands' own cache. Where that fails, commands read the user's and write none. */
function canMake(folder: string): boolean {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return true;
  } catch {
    return false;
  }
}

function mountUnchanged(path: string): Mount {
  const isLink = lstatSync(path).isSymbolicLink();
  return isLink ? { kind: '--symlink', path, from: readlinkSync(path) } : readOnlyBind(path);
}

/**
 * Protects writable places that an agent must not change (places.ts). A mount cannot be renamed, so
 * the folders on the way to it are mounted as well, unchanged: no command can put another folder in
 * their place.
 */
function listGuardMounts(
  places: Places,
  roots: readonly [string, ...string[]],
  hidden: readonly string[],
): readonly Mount[] {
  const isWritable = (path: string): boolean => roots.some((root) => isInside(root, path));
  // A workspace in such a place is the user's own choice.
  const isGuarded = (path: string): boolean => isWritable(path) && !isInside(path, roots[0]);
  const closed = keepExisting([...places.own, ...places.startup, ...findLinkedStartupFiles(places.home)]).filter(
    isGuarded,
  );
  const home = realOf(places.home);
  const guardedHome = home !== null && isWritable(home) && !temporaryFolders().includes(home) ? home : null;
  // A workspace that lies in the home folder is writable whatever is around it.
  const isHeld = (path: string): boolean =>
    guardedHome !== null &&
    /^\.[^.]/.test(relative(guardedHome, path)) &&
    (isInside(roots[0], guardedHome) || !isInside(roots[0], path));
  const isClosed = (path: string): boolean => isHeld(path) || closed.some((at) => isInside(at, path));
  const missing = places.named.filter((path) => canBeCreated(path) && isGuarded(path) && !isClosed(path));
  const ends = [...closed, ...hidden, guardedHome].filter((path) => path !== null);
  return [
    ...listFoldersBetween(ends, roots)
      .filter((path) => !isClosed(path))
      .map(writableBind),
    ...(guardedHome === null ? [] : listHomeMounts(guardedHome)),
    ...closed.map(readOnlyBind),
    ...missing.map(emptyFolder),
  ];
}

/**
 * Makes the home folder itself read-only, because a new file with a dot would be run there. Its
 * other folders are writable.
 */
function listHomeMounts(home: string): readonly Mount[] {
  const folders = listEntries(home).filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'));
  return [readOnlyBind(home), ...folders.map(({ name }) => writableBind(join(home, name)))];
}

/**
 * Tells whether mounting over a missing path would create it: an empty folder does no harm, and
 * nothing else can be put there.
 */
function canBeCreated(path: string): boolean {
  return !existsSync(path) && realOf(dirname(path)) === dirname(path);
}

/** Returns the folders between a writable root and each of the paths in it. */
function listFoldersBetween(paths: readonly string[], roots: readonly string[]): readonly string[] {
  const ways = paths.flatMap((path) => {
    const above: string[] = [];
    for (let at = dirname(path); at !== dirname(at); at = dirname(at)) above.push(at);
    return above.filter((folder) => roots.some((root) => root !== folder && isInside(root, folder)));
  });
  return [...new Set(ways)].filter((folder) => !roots.includes(folder));
}

/**
 * Covers named sockets: behind one is a service that acts outside, such as an agent for keys,
 * Docker or a terminal. Those in the workspace are the workspace's own. Programs of ours, which run
 * alone, see those in temporary folders: they come and go, and where nothing can be written no mask
 * can be put over one that has just gone.
 */
function listSocketMasks({ cwd, alone = false }: Confinement, before: readonly Mount[]): readonly Mount[] {
  const open = alone ? temporaryFolders() : [];
  const masked = keepExisting(findNamedSockets()).filter((path) => {
    const over = before.filter((mount) => isInside(mount.path, path));
    const top = over.reduce((deepest, mount) => (depthOf(mount.path) >= depthOf(deepest.path) ? mount : deepest));
    const isSeen = top.kind !== '--tmpfs' && !(top.path === cwd && top.kind === '--bind');
    return isSeen && !open.some((folder) => isInside(folder, path));
  });
  return masked.map((path) => ({ kind: '--ro-bind', path, from: '/dev/null' }));
}

function mountReachedSocket({ path, from = path }: ReachedSocket): readonly Mount[] {
  const [at, source] = [realOf(path), realOf(from)];
  return at === null || source === null ? [] : [{ kind: '--bind', path: at, from: source }];
}

/**
 * Finds the sockets that listen now, as the kernel tells it, and the agent for keys, which may
 * belong to another container.
 */
function findNamedSockets(): readonly string[] {
  const lines = realOf('/proc/net/unix') === null ? [] : readFileSync('/proc/net/unix', 'utf8').split('\n');
  const named = lines.map((line) => /^(?:\S+ +){7}(\/.*)$/.exec(line)?.[1]).filter((path) => path !== undefined);
  const keys = process.env['SSH_AUTH_SOCK'];
  return keys !== undefined && isAbsolute(keys) ? [...named, keys] : named;
}

const writableBind = (path: string): Mount => ({ kind: '--bind', path });
const readOnlyBind = (path: string): Mount => ({ kind: '--ro-bind', path });
const emptyFolder = (path: string): Mount => ({ kind: '--tmpfs', path });

function keepExisting(paths: readonly string[]): string[] {
  return [...new Set(paths.map(realOf).filter((path) => path !== null))];
}

function hasNoSource(kind: MountKind): boolean {
  return kind === '--tmpfs' || kind === '--dev' || kind === '--proc';
}

function depthOf(path: string): number {
  return path.split(sep).filter((segment) => segment !== '').length;
}

function capabilityArguments(): string[] {
  return ['--cap-drop', 'ALL', ...ROOT_CAPABILITIES.flatMap((name) => ['--cap-add', `CAP_${name}`])];
}
