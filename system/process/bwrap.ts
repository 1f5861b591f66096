// The arguments for bubblewrap: what a shell command can see and change of this machine's files.
import { existsSync, lstatSync, mkdirSync, readFileSync, readlinkSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import { isInside, entriesOf, findLinkedStarts, plainCaches, realOf, temporaryFolders, type Places } from './places.ts';

export type Confinement = {
  /** The workspace: an absolute real path. */
  readonly cwd: string;
  /**
   * Other folders of the run, to be written as the workspace is: absolute real paths. One that is
   * not there, or a link now, is left out.
   */
  readonly folders?: readonly string[] | undefined;
  /** Where the command begins; the workspace when absent. */
  readonly dir?: string;
  /** Perdure's own data: hidden where it exists. */
  readonly dataDir?: string | undefined;
  /**
   * Nothing at all is writable and there is no network: for commands that were judged to only read
   * (L55).
   */
  readonly readOnly?: boolean;
  /** There is no network. */
  readonly offline?: boolean;
  /** Sockets of services outside that it may reach all the same. */
  readonly sockets?: readonly ReachedSocket[];
};

/** Absolute paths. `from`: the socket that is reached in its place. */
export type ReachedSocket = { readonly path: string; readonly from?: string };

type Kind = '--bind' | '--ro-bind' | '--tmpfs' | '--dev' | '--proc' | '--symlink';
/** `from`: what is shown at the path, when that is something else. */
type Mount = { readonly kind: Kind; readonly path: string; readonly from?: string };

/**
 * The capabilities that root keeps: enough to work on files of any owner, none that could undo a
 * mount or make a device.
 */
const ROOT_CAPABILITIES = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'SETGID', 'SETUID'];

/**
 * The parts of /run that commands need: how names are looked up, where NixOS keeps programs, other
 * disks.
 */
const KEPT_OF_RUN = ['systemd/resolve', 'resolvconf', 'NetworkManager', 'current-system', 'opengl-driver', 'media'];

/** Everything between bubblewrap and the command itself. */
export function bwrapArguments(confinement: Confinement, places: Places): string[] {
  const dataDir = confinement.dataDir === undefined ? null : realOf(confinement.dataDir);
  const isRoot = process.getuid?.() === 0;
  const shown = mounts(confinement, places, dataDir);
  // As root, a file of the kernel that is writable would change the machine.
  const readOnly = [...(isRoot ? ['/proc'] : []), ...(dataDir === null ? [] : [dataDir])];
  return [
    '--die-with-parent',
    '--unshare-pid',
    '--unshare-ipc',
    ...(confinement.readOnly === true || confinement.offline === true ? ['--unshare-net'] : []),
    ...(isRoot ? keepCapabilities() : []),
    ...shown.flatMap(({ kind, path, from = path }) => (isNew(kind) ? [kind, path] : [kind, from, path])),
    ...readOnly.flatMap((path) => ['--remount-ro', path]),
    '--chdir',
    confinement.dir ?? confinement.cwd,
    '--',
  ];
}

/**
 * Whether that is all that was said: then bubblewrap could not make what it was told to, and has
 * run nothing.
 */
export const isNeverBuilt = (said: string): boolean => /^bwrap: Can't [^\n]*$/.test(said.trim());

/**
 * As `bwrapArguments`, for a program that is trusted with files: its processes are held, and
 * Perdure's data is hidden.
 */
export function holdArguments(dataDir: string | undefined): string[] {
  const hidden = dataDir === undefined ? null : realOf(dataDir);
  const data = hidden === null ? [] : ['--tmpfs', hidden, '--remount-ro', hidden];
  return ['--die-with-parent', '--unshare-pid', '--dev-bind', '/', '/', '--proc', '/proc', ...data, '--'];
}

/**
 * Shallow before deep, so that a workspace inside the data folder stays in view, and a data folder
 * inside the workspace does not.
 */
function mounts(confinement: Confinement, places: Places, dataDir: string | null): readonly Mount[] {
  const { cwd, readOnly = false } = confinement;
  const hidden = dataDir === null ? [] : [empty(dataDir)];
  const system: readonly Mount[] = [
    { kind: cwd === sep && !readOnly ? '--bind' : '--ro-bind', path: sep },
    { kind: '--dev', path: '/dev' },
    { kind: '--proc', path: '/proc' },
    ...runFolders(),
  ];
  const writable = readOnly ? [] : shared(places);
  const chosen = [...(cwd === sep ? [] : [cwd]), ...outerFolders(confinement)];
  const own = chosen.map((path): Mount => ({ kind: readOnly ? '--ro-bind' : '--bind', path }));
  const roots = [...outerFolders(confinement), ...writable.map(({ path }) => path)];
  const guarded = readOnly ? [] : guards(places, [cwd, ...roots], dataDir);
  const before = [...system, ...hidden, ...writable, ...own, ...guarded];
  const reached = readOnly ? [] : (confinement.sockets ?? []).flatMap(reachedSocket);
  const masked = maskedSockets(confinement, before).filter((mask) => !reached.some(({ path }) => path === mask.path));
  const all = [...before, ...masked, ...reached];
  return all.toSorted((a, b) => depth(a.path) - depth(b.path));
}

/**
 * Without those that lie in another: what is mounted there could be swapped for a link, as it lies
 * in what an agent may change.
 */
function outerFolders({ cwd, folders = [] }: Confinement): readonly string[] {
  const isCovered = (folder: string): boolean =>
    [cwd, ...folders].some((root) => root !== folder && isInside(root, folder));
  return [...new Set(folders)].filter((folder) => folder !== cwd && !isCovered(folder) && realOf(folder) === folder);
}

/**
 * What commands share with each other: temporary folders with the rest of the machine too, caches
 * with nobody else.
 */
function shared(places: Places): readonly Mount[] {
  const caches = plainCaches(places).filter(({ own }) => isMade(own));
  return [
    ...existing(temporaryFolders()).map(bind),
    ...caches.map(({ path, own }): Mount => ({ kind: '--bind', path, from: own })),
  ];
}

/** Services that run for the user or the system listen in there. */
function runFolders(): readonly Mount[] {
  const folders = existing(['/run', '/var/run']);
  const kept = folders.flatMap((folder) => KEPT_OF_RUN.map((name) => join(folder, name)));
  return [...folders.map(empty), ...kept.filter((path) => realOf(path) !== null).map(asItIs)];
}

/** Where a cache of their own cannot be made, commands read the user's and write none. */
function isMade(folder: string): boolean {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return true;
  } catch {
    return false;
  }
}

function asItIs(path: string): Mount {
  const isLink = lstatSync(path).isSymbolicLink();
  return isLink ? { kind: '--symlink', path, from: readlinkSync(path) } : readOnlyBind(path);
}

/**
 * Protects writable places that an agent must not change (places.ts). A mount cannot be renamed, so
 * the folders on the way to it are mounted as well, as they are: nobody can put another folder in
 * their place.
 */
function guards(places: Places, roots: readonly [string, ...string[]], dataDir: string | null): readonly Mount[] {
  const isWritable = (path: string): boolean => roots.some((root) => isInside(root, path));
  // A workspace in such a place is the user's own choice.
  const isGuarded = (path: string): boolean => isWritable(path) && !isInside(path, roots[0]);
  const closed = existing([...places.own, ...places.startup, ...findLinkedStarts(places.home)]).filter(isGuarded);
  const home = realOf(places.home);
  const held = home !== null && isWritable(home) && !temporaryFolders().includes(home) ? home : null;
  // A workspace that lies in the home folder is writable whatever is around it.
  const isHeld = (path: string): boolean =>
    held !== null && /^\.[^.]/.test(relative(held, path)) && (isInside(roots[0], held) || !isInside(roots[0], path));
  const isClosed = (path: string): boolean => isHeld(path) || closed.some((at) => isInside(at, path));
  const missing = places.named.filter((path) => isMissing(path) && isGuarded(path) && !isClosed(path));
  const ends = [...closed, dataDir, held].filter((path) => path !== null);
  return [
    ...waysTo(ends, roots)
      .filter((path) => !isClosed(path))
      .map(bind),
    ...(held === null ? [] : homeMounts(held)),
    ...closed.map(readOnlyBind),
    ...missing.map(empty),
  ];
}

/**
 * Nothing is made or replaced in the home folder itself: there a new file with a dot would be run.
 * Its other folders are writable.
 */
function homeMounts(home: string): readonly Mount[] {
  const folders = entriesOf(home).filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'));
  return [readOnlyBind(home), ...folders.map(({ name }) => bind(join(home, name)))];
}

/**
 * It is made by being mounted over: an empty folder does no harm, and no other can be put there.
 */
function isMissing(path: string): boolean {
  return !existsSync(path) && realOf(dirname(path)) === dirname(path);
}

/** The folders between a writable one and what lies in it. */
function waysTo(paths: readonly string[], roots: readonly string[]): readonly string[] {
  const ways = paths.flatMap((path) => {
    const above: string[] = [];
    for (let at = dirname(path); at !== dirname(at); at = dirname(at)) above.push(at);
    return above.filter((folder) => roots.some((root) => root !== folder && isInside(root, folder)));
  });
  return [...new Set(ways)].filter((folder) => !roots.includes(folder));
}

/**
 * Behind a named socket is a service that acts outside: an agent for keys, Docker, a terminal.
 * Those of the workspace are its own.
 */
function maskedSockets({ cwd }: Confinement, before: readonly Mount[]): readonly Mount[] {
  const masked = existing(namedSockets()).filter((path) => {
    const over = before.filter((mount) => isInside(mount.path, path));
    const shown = over.reduce((deepest, mount) => (depth(mount.path) >= depth(deepest.path) ? mount : deepest));
    return shown.kind !== '--tmpfs' && !(shown.path === cwd && shown.kind === '--bind');
  });
  return masked.map((path) => ({ kind: '--ro-bind', path, from: '/dev/null' }));
}

function reachedSocket({ path, from = path }: ReachedSocket): readonly Mount[] {
  const [at, source] = [realOf(path), realOf(from)];
  return at === null || source === null ? [] : [{ kind: '--bind', path: at, from: source }];
}

/**
 * Finds the sockets that listen now, as the kernel tells it, and the agent for keys, which may be
 * of another container.
 */
function namedSockets(): readonly string[] {
  const lines = realOf('/proc/net/unix') === null ? [] : readFileSync('/proc/net/unix', 'utf8').split('\n');
  const named = lines.map((line) => /^(?:\S+ +){7}(\/.*)$/.exec(line)?.[1]).filter((path) => path !== undefined);
  const keys = process.env['SSH_AUTH_SOCK'];
  return keys !== undefined && isAbsolute(keys) ? [...named, keys] : named;
}

const bind = (path: string): Mount => ({ kind: '--bind', path });
const readOnlyBind = (path: string): Mount => ({ kind: '--ro-bind', path });
const empty = (path: string): Mount => ({ kind: '--tmpfs', path });

function existing(paths: readonly string[]): string[] {
  return [...new Set(paths.map(realOf).filter((path) => path !== null))];
}

function isNew(kind: Kind): boolean {
  return kind === '--tmpfs' || kind === '--dev' || kind === '--proc';
}

function depth(path: string): number {
  return path.split(sep).filter((segment) => segment !== '').length;
}

function keepCapabilities(): string[] {
  return ['--cap-drop', 'ALL', ...ROOT_CAPABILITIES.flatMap((name) => ['--cap-add', `CAP_${name}`])];
}
