// Finds the programs that Perdure itself starts outside the sandbox, and keeps their absolute
// paths. An agent can write into many a folder of PATH (`node_modules/.bin`, `~/bin`): a program
// there is the agent's, and would run as the user, without a sandbox.
import { accessSync, constants, statSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { delimiter, isAbsolute, join, sep } from 'node:path';
import { isInside, realOf } from './places.ts';
import { helperEnvironment, type Environment } from './environment.ts';

export type Programs = {
  /**
   * Returns an absolute path. For a missing program it is one where the program could be, so that
   * starting it says what is missing.
   */
  at(name: string): string;
  /** The folders of PATH that no agent writes, in its order, and then those of the system. */
  readonly folders: readonly string[];
  /**
   * Builds the environment for one of these programs, without any key or token. `network` adds what
   * a download or a build needs.
   */
  environment(needs?: 'nothing' | 'network'): Record<string, string>;
};

const SYSTEM = ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/usr/local/bin'];

/**
 * Programs in `writable` folders count as an agent's. The system's own folders are trusted wherever
 * they lie.
 */
export function findPrograms(env: Environment, writable: readonly string[] = listAgentFolders(env)): Programs {
  const system = SYSTEM.filter((folder) => realOf(folder) !== null);
  // npm puts the `node_modules/.bin` of a project and of all its parents into PATH, also those that
  // do not exist yet.
  const trusted = pathOutside(env, writable).filter((folder) => !folder.split(sep).includes('node_modules'));
  const folders = [...new Set([...trusted, ...system])];
  const found = new Map<string, string>();
  return {
    folders,
    at(name) {
      const known = found.get(name);
      if (known !== undefined) return known;
      // Look into the system's folders first: what a PATH puts before them is for people and their
      // shells.
      const path = [...system, ...folders].map((folder) => join(folder, name)).find(isExecutable);
      if (path !== undefined) found.set(name, path);
      return path ?? join(SYSTEM[0] as string, name);
    },
    environment: (needs = 'nothing') => helperEnvironment(env, folders.join(delimiter), needs),
  };
}

/**
 * Returns the folders of a PATH that lie outside others, links followed, without those that depend
 * on where a program is started.
 */
export function pathOutside(env: Environment, others: readonly string[]): readonly string[] {
  const closed = others.flatMap((folder) => [folder, realOf(folder) ?? folder]);
  return (env['PATH'] ?? '')
    .split(delimiter)
    .filter(isAbsolute)
    .filter((folder) => ![folder, realOf(folder) ?? folder].some((at) => closed.some((other) => isInside(other, at))));
}

export const worldWritableFolders = (): readonly string[] => ['/tmp', '/var/tmp', tmpdir()];

/** Returns the folders in which a session's workspace may be, and those that all commands share. */
function listAgentFolders(env: Environment): readonly string[] {
  const home = env['HOME'] || homedir();
  return [home, env['XDG_CACHE_HOME'], process.cwd(), ...worldWritableFolders()].filter(
    // A service starts in the root, which is never a workspace.
    (folder): folder is string => folder !== undefined && isAbsolute(folder) && folder !== sep,
  );
}

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
