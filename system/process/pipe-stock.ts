// Folders of named pipes, which one program makes, and pipes that are made ahead, many at a time: a
// program for those of the next command alone takes as long as a short command. Ahead only where no
// command reaches: elsewhere one could open them first.
import { rmdirSync, rmSync, unlinkSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf } from '../text.ts';

const BATCH = 48;
const PREFIX = 'pipe-';
/** What a killed process has left is removed when it is as old. */
const OLD_MS = 24 * 3_600_000;

export type MakePipes = (paths: readonly string[]) => Promise<void>;

export class PipeStock {
  readonly #folder: string;
  readonly #makePipes: MakePipes;
  readonly #paths: string[] = [];
  #making: Promise<void> | null = null;

  constructor(folder: string, makePipes: MakePipes) {
    this.#folder = folder;
    this.#makePipes = makePipes;
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
    this.#paths.push(...(await makeNamedPipes(this.#folder, names, this.#makePipes)));
  }
}

/** Makes pipes in a folder of their own below `folder`, and returns their paths. */
export async function makeNamedPipes(
  folder: string,
  names: readonly string[],
  makePipes: MakePipes,
): Promise<readonly string[]> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const place = await mkdtemp(join(folder, PREFIX));
  const paths = names.map((name) => join(place, name));
  try {
    await makePipes(paths);
    return paths;
  } catch (error) {
    await rm(place, { recursive: true, force: true });
    throw error;
  }
}

/** Removes the names of pipes that are open, and their folder with the last of them. */
export function removePipes(paths: readonly string[]): void {
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
