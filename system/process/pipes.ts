// Makes true pipes for a child's input and output, on a system without pipe(2) in Node.
import { closeSync, constants, fstatSync, openSync, rmdirSync, rmSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { codeOf, describeExit } from '../text.ts';
import { type PipeEnd, spawnCommand } from './spawner.ts';
import type { Programs } from './programs.ts';
import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';

/** `own` is the file descriptor of our end, which the caller closes. */
type Pipe = PipeEnd & { readonly own: number };

type PipeName = 'in' | 'out' | 'err';

type Pipes<Names extends readonly PipeName[]> = {
  /** In the order of the names. */
  readonly pipes: { readonly [At in keyof Names]: Pipe };
  /** Removes the pipes from the file system; those that are open keep working. */
  unlink(): void;
};

export type PipePlace = {
  /**
   * A folder that no command of an agent reaches: it could put a link to any file in a pipe's
   * place. It is made when it is missing.
   */
  readonly folder: string;
  readonly programs: Programs;
  /** Whether pipes are made ahead there; absent: for each program. */
  readonly ahead?: boolean;
};

/**
 * Without a data folder pipes are made in the temporary one, where a file in a pipe's place is
 * noticed and refused.
 */
export function pipePlace(programs: Programs, dataDir: string | undefined): PipePlace {
  if (dataDir === undefined) return { folder: tmpdir(), programs };
  return { folder: join(dataDir, 'pipes'), programs, ahead: true };
}

/**
 * Makes true pipes for a child's input and output. child_process makes socket pairs, and a socket
 * cannot be opened as /dev/stdout or /dev/stderr: `echo x > /dev/stderr` fails on one. Node has no
 * pipe(2), so these are FIFOs, unlinked as soon as both ends are open. Rejects when an opened path
 * is not a pipe that we made.
 */
export async function openPipes<const Names extends readonly PipeName[]>(
  place: PipePlace,
  names: Names,
): Promise<Pipes<Names>> {
  const { folder, programs } = place;
  if (place.ahead !== true) return openAt(await makeNamedPipes(folder, names, programs), names);
  const stock = stockOf(folder, programs);
  try {
    return openAt(await stock.take(names.length), names);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    // Someone has emptied the folder meanwhile.
    stock.clear();
    return openAt(await stock.take(names.length), names);
  }
}

/** By their folder. */
const stocks = new Map<string, PipeStock>();

function stockOf(folder: string, programs: Programs): PipeStock {
  if (stocks.size === 0) process.once('exit', () => stocks.forEach((stock) => stock.clear()));
  const stock = stocks.get(folder) ?? new PipeStock(folder, programs);
  stocks.set(folder, stock);
  return stock;
}

function openAt<Names extends readonly PipeName[]>(paths: readonly string[], names: Names): Pipes<Names> {
  const unlink = (): void => removePipes(paths);
  const opened: Pipe[] = [];
  try {
    for (const [at, path] of paths.entries()) opened.push(openOwn(path, names[at] as PipeName));
    return { pipes: opened as unknown as Pipes<Names>['pipes'], unlink };
  } catch (error) {
    opened.forEach(({ own }) => closeSync(own));
    unlink();
    throw error;
  }
}

async function makePipes(paths: readonly string[], programs: Programs): Promise<void> {
  const env = programs.environment();
  const { exit } = await spawnCommand({ argv: [programs.at('mkfifo'), '-m', '600', ...paths], cwd: '/', env }, env);
  const end = await exit;
  if (end.code !== 0) throw new Error(`mkfifo ${paths[0]} failed: ${describeExit(end)}`);
}

function openOwn(path: string, name: PipeName): Pipe {
  if (name !== 'in') return pipeAt(path, openWithoutWaiting(path, constants.O_RDONLY));
  // A pipe that no one reads cannot be opened for writing without waiting.
  const other = openWithoutWaiting(path, constants.O_RDONLY);
  try {
    return pipeAt(path, openWithoutWaiting(path, constants.O_WRONLY));
  } finally {
    closeSync(other);
  }
}

/** Opens without waiting for the other end, as an open without O_NONBLOCK would. */
const openWithoutWaiting = (path: string, flags: number): number =>
  openSync(path, flags | constants.O_NONBLOCK | constants.O_NOFOLLOW);

/** Closes `own` and throws unless it is a pipe that we have made. */
function pipeAt(path: string, own: number): Pipe {
  const found = fstatSync(own);
  const isOurs = found.isFIFO() && found.uid === process.getuid?.() && (found.mode & 0o077) === 0;
  if (isOurs) return { path, inode: found.ino, own };
  closeSync(own);
  throw new Error('a pipe of a command was replaced by something else while it was being opened');
}

// Folders of named pipes, which one program makes, and pipes that are made ahead, many at a time: a
// program for those of the next command alone takes as long as a short command. Ahead only where no
// command reaches: elsewhere one could open them first.
const BATCH = 48;
const PREFIX = 'pipe-';
/** Leftovers of a killed process are removed at this age. */
const OLD_MS = 24 * 3_600_000;

class PipeStock {
  readonly #folder: string;
  readonly #programs: Programs;
  readonly #paths: string[] = [];
  #making: Promise<void> | null = null;

  constructor(folder: string, programs: Programs) {
    this.#folder = folder;
    this.#programs = programs;
  }

  /** Returns the paths of pipes that nobody has opened. Rejects when none can be made. */
  async take(count: number): Promise<readonly string[]> {
    while (this.#paths.length < count) await this.#make();
    return this.#paths.splice(0, count);
  }

  /** Removes what is there: it is no longer needed, or one of it was gone. */
  clear(): void {
    const places = new Set(this.#paths.splice(0).map((path) => dirname(path)));
    for (const place of places) rmSync(place, { recursive: true, force: true });
  }

  #make(): Promise<void> {
    this.#making ??= this.#makeBatch().finally(() => (this.#making = null));
    return this.#making;
  }

  async #makeBatch(): Promise<void> {
    await removeOld(this.#folder);
    const names = Array.from({ length: BATCH }, (_, at) => String(at));
    this.#paths.push(...(await makeNamedPipes(this.#folder, names, this.#programs)));
  }
}

/** Makes pipes in a folder of their own below `folder`, and returns their paths. */
async function makeNamedPipes(
  folder: string,
  names: readonly string[],
  programs: Programs,
): Promise<readonly string[]> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const place = await mkdtemp(join(folder, PREFIX));
  const paths = names.map((name) => join(place, name));
  try {
    await makePipes(paths, programs);
    return paths;
  } catch (error) {
    await rm(place, { recursive: true, force: true });
    throw error;
  }
}

/** Removes the names of pipes that are open, and their folder with the last of them. */
function removePipes(paths: readonly string[]): void {
  for (const path of paths) ignoring(['ENOENT'], () => unlinkSync(path));
  for (const place of new Set(paths.map((path) => dirname(path))))
    ignoring(['ENOENT', 'ENOTEMPTY', 'EEXIST'], () => rmdirSync(place));
}

function ignoring(codes: readonly string[], act: () => void): void {
  try {
    act();
  } catch (error) {
    if (!codes.includes(codeOf(error) ?? '')) throw error;
  }
}

function none(error: unknown): readonly string[] {
  if (codeOf(error) === 'ENOENT') return [];
  throw error;
}

async function removeOld(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(none)) {
    if (!name.startsWith(PREFIX)) continue;
    const path = join(folder, name);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }));
    if (Date.now() - mtimeMs > OLD_MS) await rm(path, { recursive: true, force: true });
  }
}
