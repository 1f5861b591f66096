// Notes the open sessions of programs without a name, by process, so that the next start of the
// program can say which were cut off. Its folder, script and arguments identify a program here. The
// sessions are only reported, since it is unknown which query asked for them.
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../../../system/text.ts';
import { formatIdentity, isAlive, parseIdentity, processIdentity } from '../../../system/process/identity.ts';
import { readIfThere, shortHash } from './program-files.ts';

export type OpenSessions = { add(session: string): void; remove(session: string): void };

/** The open sessions of this process, by the folder of programs. */
const tracked = new Map<string, OpenSessions>();
const searchedFolders = new Set<string>();

/**
 * Returns the sessions that dead processes of this program left open. The process that removes a
 * file reports its sessions, so that each is reported once.
 */
export function takeLeftSessions(folder: string): readonly string[] {
  if (searchedFolders.has(folder)) return [];
  searchedFolders.add(folder);
  const files = readdirSync(folder).filter((file) => file.startsWith(`${thisProgram()}-`) && file.endsWith('.open'));
  return files.flatMap((file) => {
    const [owner = '', ...sessions] = readIfThere(join(folder, file)).trim().split('\n');
    const identity = parseIdentity(owner);
    return identity !== null && isAlive(identity, 'here') === 'dead' && tryRemove(join(folder, file)) ? sessions : [];
  });
}

/** Tracks the open sessions of this process in a file, which exists only while there are some. */
export function trackOpenSessions(folder: string): OpenSessions {
  const known = tracked.get(folder);
  if (known) return known;
  const file = join(folder, `${thisProgram()}-${randomUUID()}.open`);
  const owner = formatIdentity(processIdentity());
  const sessions = new Set<string>();
  const write = (): void => {
    // The data folder may be deleted by now, and an error here would surface in the program.
    if (!existsSync(folder)) return;
    if (sessions.size === 0) rmSync(file, { force: true });
    else writeFileSync(file, [owner, ...sessions, ''].join('\n'));
  };
  const opened: OpenSessions = {
    add: (session) => {
      sessions.add(session);
      write();
    },
    remove: (session) => {
      sessions.delete(session);
      write();
    },
  };
  tracked.set(folder, opened);
  return opened;
}

function thisProgram(): string {
  return shortHash(process.cwd(), ...process.argv.slice(1));
}

function tryRemove(file: string): boolean {
  try {
    rmSync(file);
    return true;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    throw error;
  }
}
