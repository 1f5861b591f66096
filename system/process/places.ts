// The places of a machine that a workspace, or a folder that all commands share, may hold and that
// an agent still must not change, since what lies there runs outside the sandbox: Perdure itself,
// and what the user's shells and programs start from.
import { existsSync, readdirSync, realpathSync, type Dirent } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Environment } from './environment.ts';

/** Absolute paths. They need not be there. */
export type Places = {
  readonly home: string;
  /** Perdure, its server and Node: nobody edits them through a tool. */
  readonly own: readonly string[];
  /** A person may want them edited. What has a dot in the home folder belongs to them as well. */
  readonly startup: readonly string[];
  /**
   * The folders in both that Perdure looks into by name: an agent may not add one that is missing.
   */
  readonly named: readonly [string, string];
  /**
   * Caches of package managers, which hold programs that run as they are: commands have their own
   * in the place of the user's.
   */
  readonly caches: readonly Cache[];
};

/** `own`: where those of commands are kept, from one to the next. */
type Cache = { readonly base: string; readonly name: string; readonly own: string };

/** `own` is not to be edited at all, `startup` only when a person says so. */
export type Guard = 'own' | 'startup';

const HOME_CACHES = [
  '.npm',
  '.cargo/registry',
  '.cargo/git',
  'go/pkg',
  '.m2/repository',
  '.gradle/caches',
  '.nuget/packages',
];
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
    own: [named[0], ...installation(), dirname(realpathSync(process.execPath))],
    startup: [config, named[1], ...besides, ...(chosen !== undefined && isAbsolute(chosen) ? [chosen] : [])],
    caches: [
      ...HOME_CACHES.map((name) => ({ base: home, name, own: join(named[0], 'commands', name) })),
      ...XDG_CACHES.map((name) => ({ base: cache, name, own: join(named[0], 'commands', '.cache', name) })),
    ],
  };
}

/** The running files of this package: its dependencies may lie beside it. */
function installation(): readonly string[] {
  const root = packageRoot(import.meta.dirname);
  const segments = root.split(sep);
  const around = segments.indexOf('node_modules');
  if (around !== -1) return [segments.slice(0, around + 1).join(sep)];
  return ['bin', 'dist', 'node_modules', 'package.json'].map((name) => join(root, name));
}

function packageRoot(folder: string): string {
  const parent = dirname(folder);
  return existsSync(join(folder, 'package.json')) || parent === folder ? folder : packageRoot(parent);
}

/**
 * A file that only the build makes, which Temporal takes by its path: in dist/, also for a process
 * that runs from sources.
 */
export function builtFile(path: string): string {
  const here = fileURLToPath(import.meta.url);
  return join(dirname(here), here.endsWith('.ts') ? '../../dist' : '../..', path);
}

export const temporaryFolders = (): readonly string[] => ['/tmp', tmpdir()];

/**
 * Those that are there, by real path. One that is a link would lead wherever a command of an agent
 * had made it lead.
 */
export function plainCaches({ caches }: Places): readonly { readonly path: string; readonly own: string }[] {
  return caches.flatMap(({ base, name, own }) => {
    const folder = realOf(base);
    const path = join(folder ?? base, name);
    return folder === null || realOf(path) !== path ? [] : [{ path, own }];
  });
}

/**
 * Says what guards a path, which need not exist, from the agent of a workspace. A workspace that
 * lies in such a place is the user's own choice.
 */
export function guardOf(places: Places, workspace: string, path: string): Guard | undefined {
  const covers = (place: string): boolean =>
    [place, realOf(place) ?? place].some((at) => isIn(at, path) && !isIn(at, workspace));
  if (places.own.some(covers)) return 'own';
  return [...places.startup, ...dotPlaces(places.home, path)].some(covers) ? 'startup' : undefined;
}

/**
 * The entry of the home folder that a path is in, when it has a dot, and where others with one
 * lead.
 */
function dotPlaces(home: string, path: string): readonly string[] {
  const named = [home, realOf(home) ?? home].flatMap((at) => {
    const entry = isIn(at, path) ? relative(at.toLowerCase(), path.toLowerCase()).split(sep)[0] : undefined;
    return entry?.startsWith('.') === true ? [join(at, entry)] : [];
  });
  return [...named, ...findLinkedStarts(home)];
}

/** Start-up files that are kept elsewhere and linked to. */
export function findLinkedStarts(home: string): readonly string[] {
  const links = entriesOf(home).filter((entry) => entry.isSymbolicLink() && entry.name.startsWith('.'));
  return links.map(({ name }) => realOf(join(home, name))).filter((real) => real !== null);
}

/** Nothing of a folder that cannot be listed. */
export function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

/** Without regard to case, which some file systems do not know. */
function isIn(parent: string, child: string): boolean {
  return isInside(parent.toLowerCase(), child.toLowerCase());
}

/** Null for what is not there or cannot be reached. */
export function realOf(path: string): string | null {
  try {
    return realpathSync.native(path);
  } catch {
    return null;
  }
}

/**
 * The folders that the tools of a run may work in: its workspace, and the others that it was given.
 * Absolute real paths.
 */
export type Reach = { readonly cwd: string; readonly folders?: readonly string[] | undefined };

export const rootsOf = ({ cwd, folders = [] }: Reach): readonly [string, ...string[]] => [cwd, ...folders];

/** Whether the path lies in the workspace or another folder of the run. */
export const isInReach = (reach: Reach, path: string): boolean => rootsOf(reach).some((root) => isInside(root, path));

/** `child` is `parent` or below it. Both are absolute. */
export function isInside(parent: string, child: string): boolean {
  const way = relative(parent, child);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

/** A folder and those above it, up to the root of the file system. */
export function foldersUp(folder: string): readonly string[] {
  const above = dirname(folder);
  return above === folder ? [folder] : [folder, ...foldersUp(above)];
}
