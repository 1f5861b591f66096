// Lays the files that are attached to sessions into the data folder of this machine (G66), from
// where commands and tools see them at /mnt/session/uploads. What was attached or detached counts
// with the next call, on any machine, and nobody but Perdure writes there.
import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync, rmSync, statSync, utimesSync } from 'node:fs';
import { lstat, mkdir, readdir, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type AttachedFile, attachedTo, Files } from '../../../store/values/files.ts';
import type { Store } from '../../../store/values/store.ts';
import { listEntries, realOf } from '../../../system/process/places.ts';
import { codeOf } from '../../../system/text.ts';

/** Folders of sessions whose last call is so many days past are removed. */
const KEPT_DAYS = 30;
const DAY_MS = 24 * 3_600_000;

/** Begins the name of a file until it is whole. */
const UNFINISHED = 'new-';

export class AttachedFiles {
  readonly #files: Files;
  readonly #root: string;
  readonly #last = new Map<string, Promise<unknown>>();
  /** Milliseconds since the epoch: when old folders were looked for last. */
  #swept = 0;

  constructor(store: Store, dataDir: string) {
    this.#files = new Files(store, Date.now);
    this.#root = join(dataDir, 'session-files');
  }

  /** Lays the session's files, and returns the real path of their folder. Throws StoreError. */
  lay(session: string): Promise<string> {
    const before = this.#last.get(session) ?? Promise.resolve();
    const work = (): Promise<string> => this.#lay(session);
    const laid = before.then(work, work);
    this.#last.set(session, laid);
    const forget = (): void => void (this.#last.get(session) === laid && this.#last.delete(session));
    laid.then(forget, forget);
    return laid;
  }

  async #lay(session: string): Promise<string> {
    const place = join(this.#root, createHash('sha256').update(session).digest('hex').slice(0, 32));
    const folder = join(place, 'uploads');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.#noteUse(place);
    removeUnfinished(place);
    const attached = attachedTo(await this.#files.log.read(), session);
    const mounts = attached.map(([, { mount }]) => mount);
    await removeOthers(folder, { files: new Set(mounts), folders: new Set(mounts.flatMap(foldersOf)) });
    for (const one of attached) await this.#layOne(place, folder, one);
    return realOf(folder) ?? folder;
  }

  /** A file that is there has the time of its attachment: each has a time and a size of its own. */
  async #layOne(place: string, folder: string, [id, { mount, createdAt, size }]: AttachedFile): Promise<void> {
    const path = join(folder, mount);
    const found = await lstat(path).catch(ignoreMissing);
    if (found?.isFile() && found.size === size && Math.round(found.mtimeMs) === createdAt) return;
    const bytes = await this.#files.bytesOf(id);
    // It was detached meanwhile.
    if (!bytes) return;
    const fresh = join(place, `${UNFINISHED}${randomUUID()}`);
    await writeFile(fresh, bytes, { mode: 0o444 });
    await utimes(fresh, createdAt / 1000, createdAt / 1000);
    await mkdir(dirname(path), { recursive: true, mode: 0o755 });
    await rename(fresh, path);
  }

  #noteUse(place: string): void {
    const now = Date.now();
    utimesSync(place, now / 1000, now / 1000);
    if (now - this.#swept < DAY_MS) return;
    this.#swept = now;
    for (const old of listEntries(this.#root).map(({ name }) => join(this.#root, name))) {
      const used = statSync(old, { throwIfNoEntry: false })?.mtimeMs ?? now;
      if (used < now - KEPT_DAYS * DAY_MS) rmSync(old, { recursive: true, force: true });
    }
  }
}

/** Removes what killed workers left half written. */
function removeUnfinished(place: string): void {
  const unfinished = listEntries(place).filter(({ name }) => name.startsWith(UNFINISHED));
  for (const path of unfinished.map(({ name }) => join(place, name))) {
    const since = statSync(path, { throwIfNoEntry: false })?.ctimeMs ?? Infinity;
    if (since < Date.now() - DAY_MS) rmSync(path, { force: true });
  }
}

/** Returns the folders on the way to a path. */
function foldersOf(path: string): readonly string[] {
  const names = path.split('/').slice(0, -1);
  return names.map((_, at) => names.slice(0, at + 1).join('/'));
}

type KeptPaths = { readonly files: ReadonlySet<string>; readonly folders: ReadonlySet<string> };

/** Removes what is below a folder, but for these paths. */
async function removeOthers(folder: string, kept: KeptPaths, way = ''): Promise<void> {
  for (const entry of await readdir(join(folder, way), { withFileTypes: true })) {
    const path = way === '' ? entry.name : `${way}/${entry.name}`;
    const isKept = entry.isDirectory() ? kept.folders.has(path) : kept.files.has(path);
    if (!isKept) await rm(join(folder, path), { recursive: true, force: true });
    else if (entry.isDirectory()) await removeOthers(folder, kept, path);
  }
}

function ignoreMissing(error: unknown): undefined {
  if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined;
  throw error;
}
