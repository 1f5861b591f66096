// Sessions of programs without a name that are under way, by process, so that the next start of the
// program can say which were cut off. A program is its folder, its script and its arguments here.
// It is only told of them: who asked for them, nobody knows any more.
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../../../system/text.ts';
import { formatIdentity, isAlive, parseIdentity, processIdentity } from '../../../system/process/identity.ts';
import { readIfThere, shortHash } from './program-files.ts';

export type OpenSessions = { add(session: string): void; remove(session: string): void };

/** By the folder of programs. */
const mine = new Map<string, OpenSessions>();
const looked = new Set<string>();

/** Those of processes that are gone, told once: whoever takes the file tells of it. */
export function leftByOthers(folder: string): readonly string[] {
  if (looked.has(folder)) return [];
  looked.add(folder);
  const files = readdirSync(folder).filter((file) => file.startsWith(`${thisProgram()}-`) && file.endsWith('.open'));
  return files.flatMap((file) => {
    const [owner = '', ...sessions] = readIfThere(join(folder, file)).trim().split('\n');
    const identity = parseIdentity(owner);
    return identity !== null && isAlive(identity, 'here') === 'dead' && isTaken(join(folder, file)) ? sessions : [];
  });
}

/** Those of this process, in a file that is gone when it ends with none. */
export function openedHere(folder: string): OpenSessions {
  const known = mine.get(folder);
  if (known) return known;
  const file = join(folder, `${thisProgram()}-${randomUUID()}.open`);
  const owner = formatIdentity(processIdentity());
  const sessions = new Set<string>();
  const write = (): void => {
    // At its end there may be no data folder any more, and an error there would be the program's.
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
  mine.set(folder, opened);
  return opened;
}

function thisProgram(): string {
  return shortHash(process.cwd(), ...process.argv.slice(1));
}

function isTaken(file: string): boolean {
  try {
    rmSync(file);
    return true;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    throw error;
  }
}
