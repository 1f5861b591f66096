// Who a program is, so that it goes on when it is started again. Programs for in-process agents know no ids: one that was killed is
// known by its folder, its script and its arguments, and each query() by what it asks. Its sessions' ids and its messages' ids follow from that. What
// it has received is noted in the data folder, so that it gets what it missed, once. One that ends in good order leaves nothing.
import { createHash, randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../../activities/text.ts';
import { formatIdentity, isAlive, parseIdentity, processIdentity } from '../../activities/process/identity.ts';
import type { MessageId } from '../../workflows/contract/ids.ts';

export type ProgramQuery = {
  /** For a session that it begins. */
  readonly session: string;
  /** The position after the last entry of the transcript that the program has received, in this process or the one before it. */
  readonly received: number;
  /** An earlier process of the program has begun it. */
  readonly isKnown: boolean;
  /** The session that it found to continue, or its own where there was none, in this process or the one before it. */
  readonly continued: string | undefined;
  continues(session: string): void;
  /** The same for the same message in the same place. */
  messageId(content: string): MessageId;
  note(received: number): void;
  end(how: QueryEnd): void;
};

/** `succeeded`, `failed`: the program has that result. `left`: it stopped listening, or was stopped by an error. */
export type QueryEnd = 'succeeded' | 'failed' | 'left';

type Program = { query(asked: string): ProgramQuery };

const programs = new Map<string, Program>();

/** `root`: the data folder. The program of this process, which takes up what one that died has left. */
export function thisProgram(root: string, named: string | undefined): Program {
  const key = `${root}\0${named ?? ''}`;
  const known = programs.get(key) ?? openProgram(join(root, 'programs'), named);
  programs.set(key, known);
  return known;
}

function openProgram(folder: string, named: string | undefined): Program {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const id = named === undefined ? takeUp(folder) : `named-${shortHash(named)}`;
  const log = join(folder, `${id}.log`);
  const { received, continued } = readLog(log);
  const ends = new Map<string, 'open' | QueryEnd>();
  // A program with a name is the same for as long as it has it.
  if (named === undefined)
    process.once('exit', (status) => {
      if (!isOver(new Set(ends.values()), status)) return;
      forget(folder, id);
      for (const query of received.keys()) if (!ends.has(query)) process.stderr.write(leftOver(sessionOf(id, query)));
    });
  const count = counter();
  return {
    query: (asked) => {
      const query = `${shortHash(asked)}-${count(asked)}`;
      const messages = counter();
      ends.set(query, 'open');
      const isKnown = received.has(query);
      if (!isKnown) appendFileSync(log, `${query} 0\n`);
      return {
        session: named === undefined ? sessionOf(id, query) : `${sessionName(named)}-${shortHash(query)}`,
        received: received.get(query) ?? 0,
        isKnown,
        continued: continued.get(query),
        continues: (session) => appendFileSync(log, `${query} =${session}\n`),
        messageId: (content) => `m-${shortHash(id, query, content, String(messages(content)))}` as MessageId,
        note: (position) => appendFileSync(log, `${query} ${position}\n`),
        end: (how) => ends.set(query, how),
      };
    },
  };
}

/** One that ends with an error keeps what it has, to go on: but not what has failed, which it would only get again. */
export function isOver(ends: ReadonlySet<'open' | QueryEnd>, status: number): boolean {
  if (ends.has('open')) return false;
  return status === 0 || (ends.has('failed') && !ends.has('left'));
}

function sessionOf(program: string, query: string): string {
  return `s-${shortHash(program, query)}`;
}

/** It asks otherwise since it was changed. */
function leftOver(session: string): string {
  return `session ${session}, which an earlier process of this program began, was not asked for again: options.resume goes on with it\n`;
}

/** A name may be anything; an id of a session may not. */
function sessionName(name: string): string {
  return name
    .replaceAll(/[^A-Za-z0-9._-]/g, '-')
    .replace(/^[^A-Za-z0-9]/, 'p')
    .slice(0, 60);
}

function counter(): (what: string) => number {
  const counts = new Map<string, number>();
  return (what) => {
    const before = counts.get(what) ?? 0;
    counts.set(what, before + 1);
    return before;
  };
}

/** The id of a program whose process died, or of a new one. */
function takeUp(folder: string): string {
  const own = shortHash(process.cwd(), ...process.argv.slice(1));
  const owners = readdirSync(folder).flatMap((file) => {
    const [, id = '', turn = ''] = /^(.+)\.(\d+)\.owner$/.exec(file) ?? [];
    return id.startsWith(`${own}-`) ? [{ id, turn: Number(turn), file }] : [];
  });
  const newest = new Map(owners.toSorted((a, b) => a.turn - b.turn).map((owner) => [owner.id, owner]));
  for (const { id, turn, file } of newest.values())
    if (isGone(join(folder, file)) && isMine(join(folder, `${id}.${turn + 1}.owner`))) return id;
  const id = `${own}-${shortHash(randomUUID())}`;
  writeFileSync(join(folder, `${id}.1.owner`), formatIdentity(processIdentity()), { flag: 'wx' });
  return id;
}

function isGone(owner: string): boolean {
  const identity = parseIdentity(readIfThere(owner));
  return identity !== null && isAlive(identity, 'here') === 'dead';
}

/** Only one of several that find it takes it up. */
function isMine(owner: string): boolean {
  try {
    writeFileSync(owner, formatIdentity(processIdentity()), { flag: 'wx' });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** Nothing is left where the data folder is gone: this runs at exit, where an error would be the program's. */
function forget(folder: string, id: string): void {
  if (!existsSync(folder)) return;
  for (const file of readdirSync(folder)) if (file.startsWith(`${id}.`)) rmSync(join(folder, file), { force: true });
}

/** By query, the last position, and the session that it continues. A line that was cut off by a crash counts for nothing. */
function readLog(log: string): { readonly received: Map<string, number>; readonly continued: Map<string, string> } {
  const [received, continued] = [new Map<string, number>(), new Map<string, string>()];
  for (const line of readIfThere(log).split('\n').slice(0, -1)) {
    const [query = '', what = ''] = line.split(' ');
    if (what.startsWith('=')) continued.set(query, what.slice(1));
    else received.set(query, Number(what));
  }
  return { received, continued };
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return '';
    throw error;
  }
}

function shortHash(...parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16);
}
