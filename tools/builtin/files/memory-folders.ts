// Keeps the folders of memory stores together with their stores (G67): before a tool looks, and
// after it may have written. What both sides held last is a state file beside the workspace, so
// that a process that was killed in between leaves nothing unnoticed and writes nothing twice.
import { mkdirSync, readdirSync, rmdirSync, unlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import {
  type Memories,
  type Memory,
  MemoryRefusal,
  memoriesOf,
  newMemoryId,
  newVersionId,
  textFacts,
} from '../../../store/memories/memories.ts';
import { memoryPathProblem, MOST_MEMORY_BYTES } from '../../../store/memories/memory-rules.ts';
import { planSync, type SyncStep } from '../../../store/memories/plan-sync.ts';
import { readJsonFile, writeJsonFile } from '../../../system/json.ts';
import { withLock } from '../../../system/process/file-lock.ts';
import { realOf } from '../../../system/process/places.ts';
import type { Programs } from '../../../system/process/programs.ts';
import { reasonOf } from '../../../system/text.ts';
import type { RunMount } from '../../../workflows/contract/mounts.ts';
import { ToolFailure } from '../../failures.ts';
import { confine, type Workspace } from './confine.ts';
import { type Mounts, toMachine } from './mounts.ts';
import { entryPath, openFile, openFolder } from './open-inside.ts';
import { writeInside } from './write-inside.ts';

/** A memory store as the tools of a worker reach it. */
export type OpenMemoryStore = (id: string) => {
  readonly memories: Memories;
  /** Why nothing can be written to it, or null. */
  problem(): Promise<string | null>;
};

type Access = { readonly openStore: OpenMemoryStore; readonly programs: Programs };
type MemoryMount = RunMount & Required<Pick<RunMount, 'memory'>>;

const LOCK_MS = 60_000;
const MOST_ENTRIES = 10_000;

const stateShape = z.object({
  v: z.literal(1),
  /** Hashes of what both sides held, by path. */
  base: z.record(z.string(), z.string()),
  /** Notes that the model has had. */
  notes: z.array(z.string()),
});
type State = z.output<typeof stateShape>;

/**
 * Brings the session's folders and stores together. Returns notes for the model about what was not
 * kept, until they are among those that it `hasRead`, and again once they have ceased to hold.
 * Throws StoreError.
 */
export async function syncMemoryFolders(
  access: Access,
  mounts: Mounts,
  hasRead: ReadonlySet<string>,
): Promise<readonly string[]> {
  const notes: string[] = [];
  for (const mount of mounts.all)
    if (isMemory(mount)) notes.push(...(await syncFolder(access, mounts, mount, hasRead)));
  return notes;
}

const isMemory = (mount: RunMount): mount is MemoryMount => mount.memory !== undefined;

async function syncFolder(
  access: Access,
  mounts: Mounts,
  mount: MemoryMount,
  hasRead: ReadonlySet<string>,
): Promise<readonly string[]> {
  const folder = toMachine(mounts, mount.path);
  const place = join(`${mounts.root}-state`, mount.memory.store);
  const sync = new FolderSync(access, mount, folder, join(place, 'state.json'));
  return await withLock(place, { doing: `syncing ${mount.path}`, waitMs: LOCK_MS }, () => sync.run(hasRead));
}

class FolderSync {
  readonly #access: Access;
  readonly #mount: MemoryMount;
  readonly #workspace: Workspace;
  readonly #stateFile: string;
  readonly #store: ReturnType<OpenMemoryStore>;
  readonly #notes = new Set<string>();

  constructor(access: Access, mount: MemoryMount, folder: string, stateFile: string) {
    this.#access = access;
    this.#mount = mount;
    this.#workspace = { root: folder };
    this.#stateFile = stateFile;
    this.#store = access.openStore(mount.memory.store);
  }

  async run(hasRead: ReadonlySet<string>): Promise<readonly string[]> {
    const { root } = this.#workspace;
    const isThere = realOf(root) !== null;
    mkdirSync(root, { recursive: true, mode: 0o700 });
    const state = this.#readState();
    const known = new Set([...state.notes, ...hasRead]);
    // A folder that is gone was removed by no tool of the session: its memories stay.
    const base = new Map(isThere ? Object.entries(state.base) : []);
    const agreed = new Map(base);
    const found = await this.#scan();
    if (found === null) return this.#finish(state, agreed, known);
    const versions = await this.#store.memories.versions();
    const remote = new Map([...memoriesOf(versions).values()].map((one) => [one.path, one]));
    const wasHeld = ({ memory }: Memory, sha256: string, since: string | undefined): boolean => {
      const texts = [...versions.values()].filter((one) => one.memory === memory).map(({ text }) => text?.sha256);
      return texts.lastIndexOf(sha256) > texts.lastIndexOf(since ?? '');
    };
    for (const path of found.skipped) [base, remote].forEach((side) => side.delete(path));
    const readOnly = this.#mount.access === 'read_only';
    const steps = planSync({ base, local: found.local, remote, readOnly, wasHeld });
    for (const step of steps) await this.#perform(step, agreed);
    return this.#finish(state, agreed, known);
  }

  #readState(): State {
    const file = readJsonFile(this.#stateFile, stateShape);
    return file.kind === 'read' ? file.value : { v: 1, base: {}, notes: [] };
  }

  #finish(state: State, agreed: ReadonlyMap<string, string>, known: ReadonlySet<string>): readonly string[] {
    const notes = [...this.#notes].filter((note) => known.has(note));
    const next: State = { v: 1, base: Object.fromEntries(agreed), notes };
    if (JSON.stringify(next) !== JSON.stringify(state)) writeJsonFile(this.#stateFile, next, 'not durable');
    return [...this.#notes].filter((note) => !known.has(note));
  }

  #note(path: string, why: string): void {
    this.#notes.add(`${this.#mount.path}${path}: ${why}`);
  }

  async #perform(step: SyncStep, agreed: Map<string, string>): Promise<void> {
    try {
      const sha256 = await this.#do(step);
      if (sha256 === undefined) agreed.delete(step.path);
      else agreed.set(step.path, sha256);
    } catch (error) {
      if (!(error instanceof MemoryRefusal) && !(error instanceof ToolFailure)) throw error;
      // The next sync sees what is in the store then.
      if (error instanceof MemoryRefusal && error.kind === 'precondition') return;
      this.#note(step.path, `not brought together with the memory store: ${error.message}`);
    }
  }

  /** Returns the hash of the text that both sides hold now. */
  async #do(step: SyncStep): Promise<string | undefined> {
    const { memories } = this.#store;
    if (step.do === 'keep') return step.sha256;
    if (step.do === 'writeFile') return await this.#writeFile(step);
    if (step.do === 'removeFile') {
      removeFile(this.#workspace, step.path);
      return undefined;
    }
    const problem = await this.#store.problem();
    if (problem !== null) throw new ToolFailure(problem);
    const by = { session: this.#mount.memory.session };
    if (step.do === 'deleteMemory') {
      await memories.delete(by, step.memory.memory, { sha256: step.memory.sha256 });
      return undefined;
    }
    const text = await this.#read(step.path);
    if (step.memory) await memories.update(by, step.memory.memory, { text });
    else await memories.create(by, { memory: newMemoryId(), version: newVersionId() }, { path: step.path, text });
    if (step.isOver) this.#note(step.path, 'it was changed elsewhere meanwhile; your text is the newest version');
    return textFacts(text).sha256;
  }

  async #writeFile({ path, memory }: { readonly path: string; readonly memory: Memory }): Promise<string> {
    const text = await this.#store.memories.readText(memory);
    const target = confine(this.#workspace, join(this.#workspace.root, path));
    const unchanged = target.missing.length > 0 ? null : await statOf(this.#workspace, target.path);
    await writeInside(this.#workspace, target, Buffer.from(text), {
      fence: async () => undefined,
      signal: new AbortController().signal,
      unchanged,
      programs: this.#access.programs,
    });
    return memory.sha256;
  }

  /**
   * Hashes the files of the folder; null where not all can be listed. `skipped`: what can be no
   * memory.
   */
  async #scan(): Promise<{ readonly local: ReadonlyMap<string, string>; readonly skipped: readonly string[] } | null> {
    const listed = listFiles(this.#workspace.root);
    if (typeof listed === 'string') {
      this.#note('', `not kept as memories: ${listed}`);
      return null;
    }
    const { files, others } = listed;
    const local = new Map<string, string>();
    const skipped: string[] = [];
    for (const path of others) {
      skipped.push(path);
      this.#note(path, 'not kept as a memory: it is no regular file');
    }
    for (const path of files) {
      try {
        local.set(path, textFacts(await this.#read(path)).sha256);
      } catch (error) {
        if (!(error instanceof ToolFailure)) throw error;
        skipped.push(path);
        this.#note(path, `not kept as a memory: ${error.message}`);
      }
    }
    return { local, skipped };
  }

  /** Throws ToolFailure for what can be no memory. */
  async #read(path: string): Promise<string> {
    const problem = memoryPathProblem(path);
    if (problem !== null) throw new ToolFailure(problem);
    const full = join(this.#workspace.root, path);
    const confined = confine(this.#workspace, full);
    if (confined.path !== full) throw new ToolFailure('a link leads to it');
    const { handle, stats } = await openFile(this.#workspace, confined);
    try {
      if (stats.size > MOST_MEMORY_BYTES) throw new ToolFailure(`it has more than ${MOST_MEMORY_BYTES} bytes`);
      const bytes = await handle.readAll(stats.size);
      if (!isUtf8(bytes)) throw new ToolFailure('it is no UTF-8 text');
      return bytes.toString('utf8');
    } finally {
      handle.close();
    }
  }
}

async function statOf(workspace: Workspace, path: string) {
  const { handle, stats } = await openFile(workspace, confine(workspace, path));
  handle.close();
  return stats;
}

type Listed = { readonly files: readonly string[]; readonly others: readonly string[] };

/**
 * Lists the files below a folder by their paths from it, or says why not: a part would look as if
 * the rest was removed. No link is followed.
 */
function listFiles(root: string): Listed | string {
  const [files, others]: [string[], string[]] = [[], []];
  let count = 0;
  const walk = (path: string): void => {
    if (realOf(join(root, path)) !== join(root, path)) return;
    for (const entry of readdirSync(join(root, path), { withFileTypes: true })) {
      const below = `${path}/${entry.name}`;
      count += 1;
      if (count > MOST_ENTRIES) return;
      if (entry.isDirectory()) walk(below);
      else (entry.isFile() ? files : others).push(below);
    }
  };
  try {
    walk('');
  } catch (error) {
    return `a folder cannot be read: ${reasonOf(error)}`;
  }
  return count > MOST_ENTRIES ? `there are more than ${MOST_ENTRIES} files and folders` : { files, others };
}

/** Removes a file, and the folders that are empty then. Throws ToolFailure where that fails. */
function removeFile(workspace: Workspace, path: string): void {
  const full = join(workspace.root, path);
  try {
    const folder = openFolder(workspace, dirname(full));
    try {
      unlinkSync(entryPath(folder, dirname(full), basename(full)));
    } finally {
      folder.close();
    }
  } catch (error) {
    throw new ToolFailure(`the file could not be removed: ${reasonOf(error)}`);
  }
  removeEmptyFolders(workspace.root, dirname(full));
}

function removeEmptyFolders(root: string, folder: string): void {
  if (folder === root || readdirSync(folder).length > 0) return;
  rmdirSync(folder);
  removeEmptyFolders(root, dirname(folder));
}
