// The memories of one store (G67): each change is a version in a log of the store's own, and the
// newest version of a memory is what it holds. Texts lie in records beside the log, so that a
// cleaning can remove those that were redacted.
import { createHash } from 'node:crypto';
import { randomName } from '../../system/random-name.ts';
import { RecentMap } from '../../system/recent-map.ts';
import { ResourceLog, type Resources } from '../values/resource-log.ts';
import { type Store, StoreError } from '../values/store.ts';
import { isInTheWay, MOST_MEMORIES } from './memory-rules.ts';

/** Who made a change: an agent in its session, or the holder of a token by name. */
export type MemoryAuthor = { readonly session: string } | { readonly person: string };

/**
 * `in`: the version whose record holds the text, an earlier one where only the path was changed.
 */
export type MemoryText = { readonly sha256: string; readonly bytes: number; readonly in: string };

/** Times in milliseconds since the epoch. */
export type MemoryVersion = {
  /** Counts the versions of the store from 1. */
  readonly n: number;
  readonly memory: string;
  readonly operation: 'created' | 'modified' | 'deleted';
  readonly at: number;
  /** When the memory was created. */
  readonly createdAt: number;
  readonly by: MemoryAuthor;
  /** Null once it is redacted. */
  readonly path: string | null;
  /** Null of a deletion, and once it is redacted. */
  readonly text: MemoryText | null;
  readonly redacted?: { readonly at: number; readonly by: MemoryAuthor };
};

/** A memory as it stands: `version` is the id of its newest version. */
export type Memory = Pick<MemoryVersion, 'memory' | 'at' | 'createdAt'> &
  MemoryText & { readonly version: string; readonly path: string };

/** Why a change was not made. `path`, `memory`: what is in the way. */
export class MemoryRefusal extends Error {
  override readonly name = 'MemoryRefusal';
  readonly kind: 'no_memory' | 'no_version' | 'path_conflict' | 'precondition' | 'full' | 'current';
  readonly conflict: Pick<Memory, 'memory' | 'path'> | undefined;
  constructor(kind: MemoryRefusal['kind'], message: string, conflict?: Pick<Memory, 'memory' | 'path'>) {
    super(message);
    this.kind = kind;
    this.conflict = conflict;
  }
}

/** Milliseconds for which a version is kept that is not the newest of a memory. */
const RETENTION_MS = 30 * 24 * 3_600_000;
const MOST_VERSIONS = 50_000;
/** Memory stores that a process keeps in mind. */
const MOST_OPEN = 100;

/** The name of the log of memory stores, by their ids. */
export const MEMORY_STORES = 'memory-stores';

/** Returns the name of the log of a store's versions, a segment of keys. */
export const memoryLogName = (memoryStore: string): string => `memories-${memoryStore}`;

/** Kind of the records that hold texts: `memory-texts/<store>/<version>`. */
export const MEMORY_TEXTS = 'memory-texts';

type MemoriesOptions = {
  readonly store: Store;
  /** The id of the memory store: `memstore_…`. */
  readonly id: string;
  readonly now: () => number;
};

/** `sha256`: the text that the memory must have for the change to be made. */
type Condition = { readonly sha256?: string | undefined };
type Changed = { readonly path?: string | undefined; readonly text?: string | undefined } & Condition;
type Versions = Resources<MemoryVersion>;

export class Memories {
  readonly #log: ResourceLog<MemoryVersion>;
  readonly #options: MemoriesOptions;

  constructor(options: MemoriesOptions) {
    const { store, id, now } = options;
    this.#options = options;
    this.#log = new ResourceLog({ store, name: memoryLogName(id), now, forget: listForgotten });
  }

  /** Returns all versions that are kept by their ids, oldest first. Throws StoreError. */
  versions(maxAgeMs?: number): Promise<Versions> {
    return this.#log.read(maxAgeMs);
  }

  /** Returns the memories as they stand, by id. Throws StoreError. */
  async list(maxAgeMs?: number): Promise<ReadonlyMap<string, Memory>> {
    return memoriesOf(await this.#log.read(maxAgeMs));
  }

  /** Throws MemoryRefusal, StoreError. */
  async find(memory: string): Promise<Memory> {
    return requireMemory(await this.list(), memory);
  }

  /** Returns a text. Throws StoreError. */
  async readText({ in: version }: Pick<MemoryText, 'in'>): Promise<string> {
    const bytes = await this.#options.store.read(this.#textKey(version));
    if (bytes === null) throw new StoreError('missing', `the text of memory version ${version} is missing`);
    return Buffer.from(bytes).toString('utf8');
  }

  /**
   * Creates a memory; a repeat with the same ids creates nothing. Throws MemoryRefusal, StoreError.
   */
  create(by: MemoryAuthor, ids: MemoryIds, { path, text }: { readonly path: string; readonly text: string }) {
    return this.#change(by, ids, text, (memories, written) => {
      requireFree(memories, path);
      if (memories.size >= MOST_MEMORIES)
        throw new MemoryRefusal('full', `a memory store holds at most ${MOST_MEMORIES} memories: delete some first`);
      return { operation: 'created', path, text: written ?? null };
    });
  }

  /**
   * Changes the text or the path of a memory; what changes nothing makes no version, whatever its
   * condition. Throws MemoryRefusal, StoreError.
   */
  update(by: MemoryAuthor, memory: string, { path, text, sha256 }: Changed): Promise<void> {
    return this.#change(by, { memory, version: newVersionId() }, text, (memories, written) => {
      const current = requireMemory(memories, memory);
      const next = { path: path ?? current.path, text: written ?? textOf(current) };
      if (next.path === current.path && next.text.sha256 === current.sha256) return null;
      requireText(current, sha256);
      requireFree(memories, next.path, memory);
      return { operation: 'modified', ...next };
    });
  }

  /** Throws MemoryRefusal, StoreError. */
  delete(by: MemoryAuthor, memory: string, { sha256 }: Condition = {}): Promise<void> {
    return this.#change(by, { memory, version: newVersionId() }, undefined, (memories) => {
      const current = requireMemory(memories, memory);
      requireText(current, sha256);
      return { operation: 'deleted', path: current.path, text: null };
    });
  }

  /** Empties a version for good, unless a memory holds it. Throws MemoryRefusal, StoreError. */
  redact(by: MemoryAuthor, id: string): Promise<void> {
    return this.#log.append(nameOf(by), (versions) => {
      const version = versions.get(id);
      if (!version) throw new MemoryRefusal('no_version', `Memory version ${JSON.stringify(id)} was not found`);
      if (version.redacted) return null;
      if (memoriesOf(versions).get(version.memory)?.version === id)
        throw new MemoryRefusal('current', `memory ${version.memory} holds version ${id}: change or delete it first`);
      return { id, item: { ...version, path: null, text: null, redacted: { at: this.#options.now(), by } } };
    });
  }

  /** Decides before a text is written, and again by the newest state when the version is. */
  async #change(by: MemoryAuthor, { memory, version }: MemoryIds, text: string | undefined, decide: Decide) {
    const { store, now } = this.#options;
    const written = text === undefined ? undefined : { ...textFacts(text), in: version };
    const before = await this.#log.read();
    if (before.has(version) || decide(memoriesOf(before), written) === null) return;
    if (text !== undefined) await store.create(this.#textKey(version), Buffer.from(text));
    await this.#log.append(nameOf(by), (versions) => {
      const memories = memoriesOf(versions);
      const change = versions.has(version) ? null : decide(memories, written);
      if (change === null) return null;
      const last = [...versions.values()].at(-1);
      // A clock that is behind another one makes no version the older one: it would be forgotten first.
      const at = Math.max(now(), last?.at ?? 0);
      const n = (last?.n ?? 0) + 1;
      return { id: version, item: { n, memory, at, createdAt: memories.get(memory)?.createdAt ?? at, by, ...change } };
    });
  }

  #textKey(version: string): string {
    return `${MEMORY_TEXTS}/${this.#options.id}/${version}`;
  }
}

export type MemoryIds = { readonly memory: string; readonly version: string };
type Change = Pick<MemoryVersion, 'operation' | 'path' | 'text'>;
type Decide = (memories: ReadonlyMap<string, Memory>, written: MemoryText | undefined) => Change | null;

export const newMemoryId = (): string => `mem_${randomName()}`;
export const newVersionId = (): string => `memver_${randomName()}`;

const nameOf = (by: MemoryAuthor): string => ('session' in by ? by.session : by.person);

/** Facts of a text that tell whether it is another. */
export const textFacts = (text: string) => ({
  sha256: createHash('sha256').update(text).digest('hex'),
  bytes: Buffer.byteLength(text),
});

const textOf = ({ sha256, bytes, in: version }: Memory): MemoryText => ({ sha256, bytes, in: version });

/** Returns the memories that versions leave, by id: the newest version of each counts. */
export function memoriesOf(versions: Versions): ReadonlyMap<string, Memory> {
  const memories = new Map<string, Memory>();
  for (const [version, { memory, at, createdAt, path, text }] of versions) {
    if (path === null || text === null) memories.delete(memory);
    else memories.set(memory, { memory, version, at, createdAt, path, ...text });
  }
  return memories;
}

function requireMemory(memories: ReadonlyMap<string, Memory>, id: string): Memory {
  const memory = memories.get(id);
  if (!memory) throw new MemoryRefusal('no_memory', `Memory ${JSON.stringify(id)} was not found`);
  return memory;
}

function requireText({ memory, sha256 }: Memory, expected: string | undefined): void {
  if (expected === undefined || expected === sha256) return;
  throw new MemoryRefusal(
    'precondition',
    `memory ${memory} holds another text than the request expects: read it again`,
  );
}

function requireFree(memories: ReadonlyMap<string, Memory>, path: string, except?: string): void {
  const other = [...memories.values()].find((one) => one.memory !== except && isInTheWay(one.path, path));
  if (!other) return;
  throw new MemoryRefusal('path_conflict', `memory ${other.memory} is in the way at ${other.path}`, other);
}

/** Versions that no memory holds are forgotten with time, and the oldest of very many. */
function listForgotten(versions: Versions): readonly string[] {
  const newest = [...versions.values()].at(-1)?.at ?? 0;
  const held = new Set([...memoriesOf(versions).values()].map(({ version }) => version));
  const free = [...versions].filter(([id]) => !held.has(id));
  const over = Math.max(0, versions.size - MOST_VERSIONS);
  return free.filter(([, { at }], index) => index < over || newest - at > RETENTION_MS).map(([id]) => id);
}

/** What the log of memory stores says of one. */
type StoreFacts = { readonly archived_at: string | null };

/** Opens memory stores for the tools of a worker. */
export function openMemoryStores(store: Store, now: () => number) {
  const stores = new ResourceLog<StoreFacts>({ store, name: MEMORY_STORES, now });
  const open = new RecentMap<string, Memories>(MOST_OPEN);
  return (id: string) => {
    const memories = open.get(id) ?? new Memories({ store, id, now });
    open.set(id, memories);
    /** Says why nothing can be written to it, or null. Throws StoreError. */
    const problem = async (): Promise<string | null> => {
      const facts = (await stores.read()).get(id);
      if (!facts) return `memory store ${id} is deleted`;
      return facts.archived_at === null ? null : `memory store ${id} is archived`;
    };
    return { memories, problem };
  };
}

// What a cleaning of the store leaves of memories (G67): all of stores that exist, but for the
// texts of versions that were redacted or forgotten.
/**
 * Returns a function that tells whether a record is kept; undefined for records of other kinds.
 * Throws StoreError.
 */
export async function findKeptMemories(store: Store, now: () => number): Promise<(key: string) => boolean | undefined> {
  const stores = await new ResourceLog<object>({ store, name: MEMORY_STORES, now }).read();
  const needed = new Set<string>();
  for (const id of stores.keys()) {
    needed.add(memoryLogName(id)).add(`${memoryLogName(id)}-checkpoints`);
    for (const { text } of (await new Memories({ store, id, now }).versions()).values())
      if (text) needed.add(`${id}/${text.in}`);
  }
  return (key) => {
    const [kind, segment = '', name] = key.split('/');
    if (kind === MEMORY_TEXTS) return needed.has(`${segment}/${name}`);
    return kind === 'managed' && segment.startsWith(memoryLogName('')) ? needed.has(segment) : undefined;
  };
}
