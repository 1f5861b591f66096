// Finds the places of a machine that an agent must not change, although its workspace or a shared
// folder may hold them: Perdure itself, and what the user's shells and programs start from. What
// lies there runs outside the sandbox.
import { existsSync, readdirSync, realpathSync, type Dirent } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Environment } from './environment.ts';

/** All are absolute paths, which need not exist. */
export type Places = {
  readonly home: string;
  /** Perdure, its server and Node, which no tool may edit. */
  readonly own: readonly string[];
  /**
   * A person may allow edits here. Entries of the home folder that begin with a dot belong here as
   * well.
   */
  readonly startup: readonly string[];
  /**
   * The folders among `own` and `startup` that Perdure looks into by name: an agent may not add one
   * that is missing.
   */
  readonly named: readonly [string, string];
  /**
   * Caches of package managers, which hold programs that run unchecked: commands get caches of
   * their own in their place.
   */
  readonly caches: readonly Cache[];
  /** Where data folders are found (data-folders.ts): the usual ones, and the register of others. */
  readonly data: { readonly usual: readonly string[]; readonly register: string };
};

/** `own` is where the commands' cache is kept from one command to the next. */
type Cache = { readonly base: string; readonly name: string; readonly own: string };

/** Tools never edit what is `own`, and `startup` only when a person allows it. */
type Guard = 'own' | 'startup';

const HOME_CACHES = ['.npm', '.m2/repository', '.nuget/packages'];
/** Caches in a folder that a variable may put elsewhere. */
const MOVED_CACHES = [
  { variable: 'CARGO_HOME', usual: '.cargo', name: 'registry' },
  { variable: 'CARGO_HOME', usual: '.cargo', name: 'git' },
  { variable: 'GOPATH', usual: 'go', name: 'pkg' },
  { variable: 'GRADLE_USER_HOME', usual: '.gradle', name: 'caches' },
] as const;
const XDG_CACHES = ['pip', 'uv', 'yarn', 'pnpm', 'go-build', 'node-gyp', 'ccache'];

export function findPlaces(env: Environment): Places {
  const home = env['HOME'] || homedir();
  const under = (name: string, fallback: string): string =>
    env[name] !== undefined && isAbsolute(env[name]) ? env[name] : join(home, fallback);
  const cache = under('XDG_CACHE_HOME', '.cache');
  const config = under('XDG_CONFIG_HOME', '.config');
  const chosen = env['PERDURE_CONFIG'];
  const besides = ['bin', 'go/bin', 'Library/LaunchAgents'].map((name) => join(home, name));
  const named = [join(cache, 'perdure'), join(config, 'perdure')] as const;
  return {
    home,
    named,
    own: [named[0], ...listInstallationPaths(), dirname(realpathSync(process.execPath))],
    startup: [config, named[1], ...besides, ...(chosen !== undefined && isAbsolute(chosen) ? [chosen] : [])],
    data: {
      usual: [under('XDG_DATA_HOME', '.local/share'), join(home, '.local/share')].map((at) => join(at, 'perdure')),
      register: registerIn(named[0]),
    },
    caches: [
      ...HOME_CACHES.map((name) => ({ base: home, name, own: join(named[0], 'commands', name) })),
      ...MOVED_CACHES.map(({ variable, usual, name }) => ({
        base: under(variable, usual),
        name,
        own: join(named[0], 'commands', usual, name),
      })),
      ...XDG_CACHES.map((name) => ({ base: cache, name, own: join(named[0], 'commands', '.cache', name) })),
    ],
  };
}

/** `cache` is Perdure's own. */
export const registerIn = (cache: string): string => join(cache, 'data-folders');

/** Returns the paths of the running package; its dependencies may lie next to it. */
function listInstallationPaths(): readonly string[] {
  const root = findPackageRoot(import.meta.dirname);
  const segments = root.split(sep);
  const around = segments.indexOf('node_modules');
  if (around !== -1) return [segments.slice(0, around + 1).join(sep)];
  return ['bin', 'dist', 'node_modules', 'package.json'].map((name) => join(root, name));
}

function findPackageRoot(folder: string): string {
  const parent = dirname(folder);
  return existsSync(join(folder, 'package.json')) || parent === folder ? folder : findPackageRoot(parent);
}

/**
 * Returns the path of a file that only the build makes and that Temporal takes by its path. It is
 * in dist/, also for a process that runs from sources.
 */
export function pathOfBuiltFile(path: string): string {
  const here = fileURLToPath(import.meta.url);
  return join(dirname(here), here.endsWith('.ts') ? '../../dist' : '../..', path);
}

export const temporaryFolders = (): readonly string[] => ['/tmp', tmpdir()];

/**
 * Returns the caches that exist and are no links, by real path: a link would lead wherever a
 * command of an agent had made it lead.
 */
export function listUnlinkedCaches({ caches }: Places): readonly { readonly path: string; readonly own: string }[] {
  return caches.flatMap(({ base, name, own }) => {
    const folder = realOf(base);
    const path = join(folder ?? base, name);
    return folder === null || realOf(path) !== path ? [] : [{ path, own }];
  });
}

/**
 * Returns the guard of a path, which need not exist, for an agent in `workspace`. A workspace that
 * lies in such a place is the user's own choice.
 */
export function guardOf(places: Places, workspace: string, path: string): Guard | undefined {
  const covers = (place: string): boolean =>
    [place, realOf(place) ?? place].some((at) => isIn(at, path) && !isIn(at, workspace));
  if (places.own.some(covers)) return 'own';
  return [...places.startup, ...listDotPlaces(places.home, path)].some(covers) ? 'startup' : undefined;
}

/**
 * Returns the entry of the home folder that a path is in, when it begins with a dot, and the
 * targets of others that do.
 */
function listDotPlaces(home: string, path: string): readonly string[] {
  const named = [home, realOf(home) ?? home].flatMap((at) => {
    const entry = isIn(at, path) ? relative(at.toLowerCase(), path.toLowerCase()).split(sep)[0] : undefined;
    return entry?.startsWith('.') === true ? [join(at, entry)] : [];
  });
  return [...named, ...findLinkedStartupFiles(home)];
}

/** Finds start-up files that are kept elsewhere and linked from the home folder. */
export function findLinkedStartupFiles(home: string): readonly string[] {
  const links = listEntries(home).filter((entry) => entry.isSymbolicLink() && entry.name.startsWith('.'));
  return links.map(({ name }) => realOf(join(home, name))).filter((real) => real !== null);
}

/** Returns an empty list for a folder that cannot be listed. */
export function listEntries(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

/** Compares without regard to case, which some file systems ignore. */
function isIn(parent: string, child: string): boolean {
  return isInside(parent.toLowerCase(), child.toLowerCase());
}

/** Returns the real path, or null when it is missing or cannot be reached. */
export function realOf(path: string): string | null {
  try {
    return realpathSync.native(path);
  } catch {
    return null;
  }
}

/**
 * The folders that the tools of a run may work in: its workspace, and others that it was given. All
 * are absolute real paths.
 */
export type Reach = { readonly cwd: string; readonly folders?: readonly string[] | undefined };

export const rootsOf = ({ cwd, folders = [] }: Reach): readonly [string, ...string[]] => [cwd, ...folders];

/** Tells whether the path lies in the workspace or another folder of the run. */
export const isInReach = (reach: Reach, path: string): boolean => rootsOf(reach).some((root) => isInside(root, path));

/** Tells whether `child` is `parent` or lies below it. Both are absolute. */
export function isInside(parent: string, child: string): boolean {
  const way = relative(parent, child);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

/** Returns a folder and all above it, up to the root of the file system. */
export function foldersUp(folder: string): readonly string[] {
  const above = dirname(folder);
  return above === folder ? [folder] : [folder, ...foldersUp(above)];
}
