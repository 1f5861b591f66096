// Looks at a folder as it lies, without any part of the product: what a walk holds the product
// against. Paths are bytes, kept as latin1.
import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync, type BigIntStats } from 'node:fs';

export type RawPath = string;

export type Seen = {
  readonly kind: 'file' | 'link' | 'folder' | 'other';
  /** The hash of the content, or of where a link leads; empty for the rest. */
  readonly content: string;
  readonly mode: number;
  readonly size: number;
  /** Another when the file was written anew. */
  readonly identity: string;
};

export type FolderLook = {
  /** All that lies below the folder, outside of `.git`. */
  readonly entries: ReadonlyMap<RawPath, Seen>;
  /** All that lies in folders and files called `.git`, as lines. */
  readonly git: ReadonlyMap<RawPath, string>;
};

/** Contents by their hashes, for all that was looked at. */
export class Contents {
  readonly #held = new Map<string, Buffer>();

  add(bytes: Buffer): string {
    const hash = createHash('sha1').update(bytes).digest('hex');
    this.#held.set(hash, bytes);
    return hash;
  }

  get(hash: string): Buffer {
    const bytes = this.#held.get(hash);
    if (!bytes) throw new Error(`nothing was seen with the content ${hash}`);
    return bytes;
  }
}

export function pathIn(root: string, path: RawPath): Buffer {
  return Buffer.from(path === '' ? latin1Of(root) : `${latin1Of(root)}/${path}`, 'latin1');
}

const latin1Of = (path: string): string => Buffer.from(path).toString('latin1');

export const isOfGit = (name: string): boolean => name.toLowerCase() === '.git';

export function lookAtFolder(root: string, contents: Contents): FolderLook {
  const entries = new Map<RawPath, Seen>();
  const git = new Map<RawPath, string>();
  const lookInto = (path: RawPath, isGit: boolean): void => {
    for (const name of readdirSync(pathIn(root, path), 'latin1').toSorted()) {
      const below = path === '' ? name : `${path}/${name}`;
      const ofGit = isGit || isOfGit(name);
      const seen = lookAt(pathIn(root, below), contents);
      if (ofGit) git.set(below, `${seen.kind} ${seen.mode.toString(8)} ${seen.content}`);
      else entries.set(below, seen);
      if (seen.kind === 'folder') lookInto(below, ofGit);
    }
  };
  lookInto('', false);
  return { entries, git };
}

function lookAt(place: Buffer, contents: Contents): Seen {
  const stats = lstatSync(place, { bigint: true });
  const mode = Number(stats.mode) & 0o7777;
  const identity = `${stats.ino} ${stats.mtimeNs}`;
  return { ...read(place, stats, contents), mode, size: Number(stats.size), identity };
}

function read(place: Buffer, stats: BigIntStats, contents: Contents): Pick<Seen, 'kind' | 'content'> {
  if (stats.isDirectory()) return { kind: 'folder', content: '' };
  if (stats.isSymbolicLink()) return { kind: 'link', content: contents.add(readlinkSync(place, 'buffer')) };
  if (stats.isFile()) return { kind: 'file', content: contents.add(readFileSync(place)) };
  return { kind: 'other', content: '' };
}

/** Tells whether both are the same for a snapshot: kind, content and the executable bit. */
export function isSame(one: Seen | undefined, other: Seen | undefined): boolean {
  if (!one || !other) return one === other;
  if (one.kind !== other.kind || one.content !== other.content) return false;
  return one.kind !== 'file' || isExecutable(one) === isExecutable(other);
}

export const isExecutable = ({ mode }: Pick<Seen, 'mode'>): boolean => (mode & 0o100) !== 0;

/** The folders that a path lies in, the nearest first. */
export function foldersOf(path: RawPath): readonly RawPath[] {
  const found: RawPath[] = [];
  for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) found.push(path.slice(0, at));
  return found;
}

/** Names what differs between two looks, byte for byte. */
export function compareLooks(before: FolderLook, after: FolderLook): readonly string[] {
  const found: string[] = [];
  for (const path of new Set([...before.entries.keys(), ...after.entries.keys()])) {
    const [was, is] = [before.entries.get(path), after.entries.get(path)];
    if (!isSame(was, is) || was?.mode !== is?.mode)
      found.push(`${show(path)}: ${describe(was)} became ${describe(is)}`);
  }
  return [...found, ...compareGit(before, after)];
}

/** Names what differs in the folders of git. */
export function compareGit(before: FolderLook, after: FolderLook): readonly string[] {
  const paths = [...new Set([...before.git.keys(), ...after.git.keys()])];
  const changed = paths.filter((path) => before.git.get(path) !== after.git.get(path));
  return changed.map((path) => `git's own ${show(path)} changed`);
}

export const show = (path: RawPath): string => JSON.stringify(path).slice(1, -1);

export function describe(seen: Seen | undefined): string {
  return seen ? `${seen.kind} ${seen.mode.toString(8)} ${seen.content.slice(0, 8)}` : 'nothing';
}
