// Implements the SDK's session stores, which programs keep for themselves: a store in memory, the
// summary of a session for lists, and the copy of a session into a store. query() uses no such
// store.
import { present } from '../../faces/basics.ts';
import type {
  ImportSessionToStoreOptions,
  SessionKey,
  SessionStore,
  SessionStoreEntry,
  SessionSummaryEntry,
} from '../shapes/facts.ts';
import { getSessionMessages } from './sessions.ts';

type StoredSession = { entries: SessionStoreEntry[]; mtime: number };

/** A store in memory. Keeps its entries until `clear()`, or until the process ends. */
export class InMemorySessionStore implements SessionStore {
  readonly #kept = new Map<string, StoredSession & { readonly key: SessionKey }>();

  append(key: SessionKey, entries: SessionStoreEntry[]): Promise<void> {
    const at = nameOf(key);
    const { entries: before } = this.#kept.get(at) ?? { entries: [] };
    this.#kept.set(at, { key, entries: [...before, ...structuredClone(entries)], mtime: Date.now() });
    return Promise.resolve();
  }

  load(key: SessionKey): Promise<SessionStoreEntry[] | null> {
    const stored = this.#kept.get(nameOf(key));
    return Promise.resolve(stored ? structuredClone(stored.entries) : null);
  }

  listSessions(projectKey: string): Promise<{ sessionId: string; mtime: number }[]> {
    return Promise.resolve(this.#whole(projectKey).map(({ key: { sessionId }, mtime }) => ({ sessionId, mtime })));
  }

  listSessionSummaries(projectKey: string): Promise<SessionSummaryEntry[]> {
    const summaries = this.#whole(projectKey).map(({ key: { sessionId }, mtime, entries }) => {
      return foldSessionSummary(undefined, { projectKey, sessionId }, entries, { mtime });
    });
    return Promise.resolve(summaries);
  }

  listSubkeys({ projectKey, sessionId }: { projectKey: string; sessionId: string }): Promise<string[]> {
    const subpaths = [...this.#kept.values()].flatMap(({ key }) =>
      key.projectKey === projectKey && key.sessionId === sessionId && key.subpath !== undefined ? [key.subpath] : [],
    );
    return Promise.resolve(subpaths);
  }

  /** Deletes the session with its parts, or the one part that `subpath` names. */
  delete(key: SessionKey): Promise<void> {
    for (const [at, { key: other }] of this.#kept) {
      const isOf = other.projectKey === key.projectKey && other.sessionId === key.sessionId;
      if (isOf && (key.subpath === undefined || key.subpath === other.subpath)) this.#kept.delete(at);
    }
    return Promise.resolve();
  }

  getEntries(key: SessionKey): SessionStoreEntry[] {
    return structuredClone(this.#kept.get(nameOf(key))?.entries ?? []);
  }

  get size(): number {
    return this.#kept.size;
  }

  clear(): void {
    this.#kept.clear();
  }

  #whole(projectKey: string): readonly (StoredSession & { readonly key: SessionKey })[] {
    return [...this.#kept.values()].filter(({ key }) => key.projectKey === projectKey && key.subpath === undefined);
  }
}

function nameOf({ projectKey, sessionId, subpath }: SessionKey): string {
  return JSON.stringify([projectKey, sessionId, subpath]);
}

/**
 * Adds appended entries to the summary that a list shows of a session. `mtime` is the time of the
 * append.
 */
export function foldSessionSummary(
  before: SessionSummaryEntry | undefined,
  { sessionId }: SessionKey,
  entries: SessionStoreEntry[],
  { mtime = before?.mtime ?? 0 }: { mtime?: number } = {},
): SessionSummaryEntry {
  const prompts = entries.flatMap((entry) => promptOf(entry) ?? []);
  const { firstPrompt = prompts[0], lastPrompt, entries: counted = 0 } = before?.data ?? {};
  const count = Number(counted) + entries.length;
  return { sessionId, mtime, data: { firstPrompt, lastPrompt: prompts.at(-1) ?? lastPrompt, entries: count } };
}

function promptOf({ type, message }: SessionStoreEntry): string | null {
  const content = type === 'user' && typeof message === 'object' ? (message as { content?: unknown })?.content : null;
  return typeof content === 'string' ? content : null;
}

const BATCH = 500;

/** Copies the messages of a session of query() into a store, in order. */
export async function importSessionToStore(
  sessionId: string,
  store: SessionStore,
  { dir, batchSize = BATCH }: ImportSessionToStoreOptions = {},
): Promise<void> {
  const messages = await getSessionMessages(sessionId, {
    includeSystemMessages: true,
    ...present({ dir }),
  });
  for (let at = 0; at < messages.length; at += batchSize)
    await store.append({ projectKey: dir ?? '', sessionId }, messages.slice(at, at + batchSize));
}
