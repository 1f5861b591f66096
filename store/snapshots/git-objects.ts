// Writes objects of git without git: a few one by one, many as packs, which git indexes. Each is on
// disk before anything names it.
import { spawn } from 'node:child_process';
import { createHash, type Hash, randomBytes } from 'node:crypto';
import {
  closeSync,
  fdatasync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { deflateSync } from 'node:zlib';
import { codeOf, describeExit } from '../../system/text.ts';
import { shadowEnvironment } from './shadow.ts';

type ObjectKind = 'commit' | 'tree' | 'blob';
type GitObject = { readonly kind: ObjectKind; readonly id: string; readonly content: Buffer };

/** A file of its own for each of more objects costs more than a pack. */
const MOST_LOOSE = 100;
/** Bytes that wait to be written. */
const MOST_WAITING = 32 * 1024 * 1024;
const FAST = { level: 1 };
const PACK_KINDS: Readonly<Record<ObjectKind, number>> = { commit: 1, tree: 2, blob: 3 };

export type TreeEntry = { readonly mode: string; readonly name: string; readonly id: string };

export const FOLDER_MODE = '40000';

/** Begins the hash of an object, which is its id once the content was added. */
export const startObjectHash = (kind: ObjectKind, size: number): Hash => createHash('sha1').update(`${kind} ${size}\0`);

export class ObjectWriter {
  readonly #known = new Set<string>();
  readonly #objects: string;
  readonly #indexPack: (pack: Buffer) => Promise<unknown>;
  #waiting: GitObject[] = [];
  #bytes = 0;

  /** `indexPack` adds a pack to the repository `gitDir`. */
  constructor(gitDir: string, indexPack: (pack: Buffer) => Promise<unknown>) {
    this.#objects = join(gitDir, 'objects');
    this.#indexPack = indexPack;
  }

  /** Takes objects for written that are in the repository. */
  remember(ids: Iterable<string>): void {
    for (const id of ids) this.#known.add(id);
  }

  /** Returns the id of an object, which `flush` writes. */
  add(kind: ObjectKind, content: Buffer): string {
    const id = startObjectHash(kind, content.length).update(content).digest('hex');
    if (this.#known.has(id)) return id;
    this.#known.add(id);
    this.#waiting.push({ kind, id, content });
    this.#bytes += content.length;
    return id;
  }

  addTree(entries: readonly TreeEntry[]): string {
    const sorted = entries
      .map((entry) => ({ ...entry, key: entry.mode === FOLDER_MODE ? `${entry.name}/` : entry.name }))
      .toSorted((a, b) => (a.key < b.key ? -1 : 1));
    const parts = sorted.flatMap(({ mode, name, id }) => [
      Buffer.from(`${mode} ${name}\0`, 'latin1'),
      Buffer.from(id, 'hex'),
    ]);
    return this.add('tree', Buffer.concat(parts));
  }

  isFull(): boolean {
    return this.#bytes > MOST_WAITING;
  }

  /** Calls `collect` with a pack of what is written. */
  async flush(collect?: (pack: Buffer) => void): Promise<void> {
    const objects = this.#waiting;
    const bytes = this.#bytes;
    this.#waiting = [];
    this.#bytes = 0;
    if (objects.length === 0) return;
    const isPacked = objects.length > MOST_LOOSE || bytes > MOST_WAITING;
    const pack = isPacked || collect ? buildPack(objects) : null;
    if (pack) collect?.(pack);
    if (pack && isPacked) await this.#indexPack(pack);
    else await Promise.all(objects.map((object) => this.#writeLoose(object)));
  }

  async #writeLoose({ kind, id, content }: GitObject): Promise<void> {
    const path = loosePath(this.#objects, id);
    if (freshen(path)) return;
    // Git removes old files of such names.
    const temporary = join(dirname(path), `tmp_obj_${randomBytes(6).toString('hex')}`);
    const bytes = deflateSync(Buffer.concat([Buffer.from(`${kind} ${content.length}\0`), content]), FAST);
    try {
      await writeDurably(temporary, bytes, 0o444);
      renameSync(temporary, path);
    } catch (error) {
      rmSync(temporary, { force: true });
      throw error;
    }
  }
}

/**
 * Adds a pack to a repository. `index` runs `git index-pack` with this environment, in which git
 * writes to a folder of its own: on a full disk it leaves the part of a pack that it has written.
 */
export async function receivePack(
  gitDir: string,
  index: (env: Readonly<Record<string, string>>) => Promise<unknown>,
): Promise<void> {
  const folder = join(gitDir, 'incoming', `pack-${randomBytes(6).toString('hex')}`);
  const [from, to] = [join(folder, 'pack'), join(gitDir, 'objects', 'pack')];
  try {
    mkdirSync(from, { recursive: true, mode: 0o700 });
    await index({ ...shadowEnvironment(), GIT_OBJECT_DIRECTORY: folder });
    // Git takes a pack for whole as soon as it has an index.
    const names = readdirSync(from).toSorted((a, b) => Number(a.endsWith('.idx')) - Number(b.endsWith('.idx')));
    for (const name of names) renameSync(join(from, name), join(to, name));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A file that is there counts as young, so that no `gc` takes it before it is named. */
function freshen(path: string): boolean {
  try {
    const now = new Date();
    utimesSync(path, now, now);
    return true;
  } catch {
    return false;
  }
}

/**
 * Writes a new file, and waits for the disk alone: a hop to another thread costs more than what a
 * call of the system does.
 */
async function writeDurably(path: string, bytes: Uint8Array, mode: number): Promise<void> {
  const fd = openNew(path, mode);
  try {
    writeFileSync(fd, bytes);
    await syncData(fd);
  } finally {
    closeSync(fd);
  }
}

/** A git that packs removes folders of objects that are empty, also one that was made just now. */
const MOST_OPENS = 10;

/** Makes a file, and the folder that it lies in. */
function openNew(path: string, mode: number): number {
  for (let count = 1; ; count += 1) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    try {
      return openSync(path, 'wx', mode);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT' || count === MOST_OPENS) throw error;
    }
  }
}

export const syncData = (fd: number): Promise<void> => promisify(fdatasync)(fd);

export const loosePath = (objects: string, id: string): string => join(objects, id.slice(0, 2), id.slice(2));

function buildPack(objects: readonly GitObject[]): Buffer {
  const header = Buffer.alloc(12);
  header.write('PACK', 'latin1');
  header.writeUInt32BE(2, 4);
  header.writeUInt32BE(objects.length, 8);
  const parts = [
    header,
    // A result of zlib is a view of 16 KiB, however small it is.
    ...objects.flatMap(({ kind, content }) => [packHeader(kind, content), Buffer.from(deflateSync(content, FAST))]),
  ];
  const hash = createHash('sha1');
  for (const part of parts) hash.update(part);
  return Buffer.concat([...parts, hash.digest()]);
}

/** Encodes the kind and the size of an object: four bits of it first, then seven a byte. */
function packHeader(kind: ObjectKind, { length }: Buffer): Buffer {
  const bytes: number[] = [];
  let rest = Math.floor(length / 16);
  let byte = PACK_KINDS[kind] * 16 + (length % 16);
  while (rest > 0) {
    bytes.push(byte + 128);
    byte = rest % 128;
    rest = Math.floor(rest / 128);
  }
  return Buffer.from([...bytes, byte]);
}

/** Runs a program with an input, and returns what it printed as latin1. */
export function runWithInput(
  [program = '', ...args]: readonly string[],
  input: Buffer | string,
  env: Readonly<Record<string, string>>,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: 'pipe' });
    const printed: Buffer[] = [];
    let errorText = '';
    child.stdout.on('data', (bytes: Buffer) => printed.push(bytes));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (errorText += text));
    // A program that ends early says so by its status.
    child.stdin.on('error', (error) => {
      if (codeOf(error) !== 'EPIPE') reject(error);
    });
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (code === 0) resolve(Buffer.concat(printed).toString('latin1'));
      else reject(new Error(errorText.trim() || `${program} ended with ${describeExit({ code, signal })}`));
    });
    child.stdin.end(typeof input === 'string' ? Buffer.from(input, 'latin1') : input);
  });
}
