// The programs that Perdure itself starts outside the sandbox, by absolute paths that are looked up
// once. An agent can write into many a folder of PATH (`node_modules/.bin`, `~/bin`): a program
// there is the agent's, and would run as the user, with no sandbox.
import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { delimiter, isAbsolute, join, sep } from 'node:path';
import { isInside } from './places.ts';
import { helperEnvironment, type Environment } from './environment.ts';

export type Programs = {
  /**
   * An absolute path; of a program that is not there, one where it could be, so that starting it
   * says what is missing.
   */
  at(name: string): string;
  /** The folders of PATH that no agent writes, in its order; those of the system follow. */
  readonly folders: readonly string[];
  /**
   * For a program of these: no key and no token is in it. `network`: also what a download or a
   * build needs.
   */
  environment(needs?: 'nothing' | 'network'): Record<string, string>;
};

const SYSTEM = ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/usr/local/bin'];

/**
 * `writable`: what lies in these folders counts as an agent's. The system's own folders are trusted
 * wherever they lie.
 */
export function findPrograms(env: Environment, writable: readonly string[] = agentsFolders(env)): Programs {
  const system = SYSTEM.filter((folder) => realOf(folder) !== null);
  // npm puts those of a project and of all its parents into PATH, also those that are not there
  // yet.
  const trusted = pathOutside(env, writable).filter((folder) => !folder.split(sep).includes('node_modules'));
  const folders = [...new Set([...trusted, ...system])];
  const found = new Map<string, string>();
  return {
    folders,
    at(name) {
      const known = found.get(name);
      if (known !== undefined) return known;
      // The system's first: what a PATH puts before it is for people and their shells.
      const path = [...system, ...folders].map((folder) => join(folder, name)).find(isExecutable);
      if (path !== undefined) found.set(name, path);
      return path ?? join(SYSTEM[0] as string, name);
    },
    environment: (needs = 'nothing') => helperEnvironment(env, folders.join(delimiter), needs),
  };
}

/**
 * The folders of a PATH that lie outside others, links followed; without those that depend on where
 * a program is started.
 */
export function pathOutside(env: Environment, others: readonly string[]): readonly string[] {
  const closed = others.flatMap((folder) => [folder, realOf(folder) ?? folder]);
  return (env['PATH'] ?? '')
    .split(delimiter)
    .filter(isAbsolute)
    .filter((folder) => ![folder, realOf(folder) ?? folder].some((at) => closed.some((other) => isInside(other, at))));
}

export const temporaryFolders = (): readonly string[] => ['/tmp', '/var/tmp', tmpdir()];

/** Wherever a session's workspace may be, and what all commands share. */
function agentsFolders(env: Environment): readonly string[] {
  const home = env['HOME'] || homedir();
  return [home, env['XDG_CACHE_HOME'], process.cwd(), ...temporaryFolders()].filter(
    // The root is where a service begins, and the workspace of nobody.
    (folder): folder is string => folder !== undefined && isAbsolute(folder) && folder !== sep,
  );
}

/** Null for what is not there or cannot be reached. */
function realOf(path: string): string | null {
  try {
    return realpathSync.native(path);
  } catch {
    return null;
  }
}

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
