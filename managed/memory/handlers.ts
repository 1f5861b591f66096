// Handlers of the routes for memory stores (G67): for people, and for a self-hosted worker within
// its session's stores.
import type {
  BetaManagedAgentsDeletedMemory,
  BetaManagedAgentsDeletedMemoryStore,
  BetaManagedAgentsMemory,
  BetaManagedAgentsMemoryListItem,
  BetaManagedAgentsMemoryStore,
  BetaManagedAgentsMemoryVersion,
} from '@anthropic-ai/sdk/resources/beta/memory-stores';
import type { z } from 'zod';
import { type Memories, memoryPathProblem, MemoryRefusal, memoryTextProblem } from '../../client/faces/stored.ts';
import type { Memory, MemoryAuthor, MemoryText, MemoryVersion } from '../../client/faces/types.ts';
import { invalid, ManagedError } from '../errors.ts';
import { formatTime, newId } from '../ids.ts';
import { type ListRequest, pageOf, placeOfDated } from '../pages.ts';
import { filterOf, type Handler, idIn, type ManagedRequest, type Paged, pageIn, type Parts } from '../request.ts';
import { reserveId, reserveIds } from '../request-log.ts';
import { parseBody, parseQuery } from '../shapes/parse.ts';
import { agentList } from '../shapes/agents.ts';
import * as shapes from '../shapes/memory-stores.ts';
import { isWithin } from '../shapes/sessions.ts';
import type { ServedName } from '../surface.ts';

const storeIn = (request: ManagedRequest): string => idIn(request, 'memory_store_id', 'memstore', 'Memory store');
const memoryIn = (request: ManagedRequest): string => idIn(request, 'memory_id', 'mem', 'Memory');
const versionIn = (request: ManagedRequest): string => idIn(request, 'memory_version_id', 'memver', 'Memory version');

export function memoryHandlers(parts: Parts) {
  return { ...storeHandlers(parts), ...ownMemoryHandlers(parts), ...versionHandlers(parts) };
}

function storeHandlers(parts: Parts) {
  const { memoryStores } = parts;
  return {
    'memoryStores.create': async (request) => {
      const body = parseBody(shapes.memoryStoreCreate, request.body);
      const id = await reserveId(parts.ports, request, 'memstore');
      return memoryStores.create(id, request.person, body);
    },
    'memoryStores.retrieve': (request) => memoryStores.retrieve(storeIn(request)),
    'memoryStores.update': (request) => {
      const body = parseBody(shapes.memoryStoreUpdate, request.body);
      return memoryStores.update(storeIn(request), request.person, body);
    },
    'memoryStores.archive': (request) => memoryStores.archive(storeIn(request), request.person),
    'memoryStores.delete': async (request): Promise<BetaManagedAgentsDeletedMemoryStore> => {
      const id = storeIn(request);
      await memoryStores.delete(id, request.person);
      return { id, type: 'memory_store_deleted' };
    },
    'memoryStores.list': async (request): Promise<Paged<BetaManagedAgentsMemoryStore>> => {
      const query = parseQuery(agentList, request.query);
      const list: ListRequest = { list: 'memory stores', order: 'desc', filter: filterOf(query), ...pageIn(query) };
      const all = (await memoryStores.list(query.include_archived === true)).filter(({ created_at }) =>
        isWithin(Date.parse(created_at) * 1000, query),
      );
      const page = pageOf(await parts.cursors(), list, all, placeOfDated);
      return { data: page.items, next_page: page.next };
    },
  } satisfies Partial<Record<ServedName, Handler>>;
}

function ownMemoryHandlers(parts: Parts) {
  const open = (request: ManagedRequest, use: Use) => openMemories(parts, request, use);
  return {
    'memoryStores.memories.create': (request) =>
      refusing(async () => {
        const { id, memories, by } = await open(request, 'write');
        const { view } = parseQuery(shapes.viewQuery, request.query);
        const { content, path } = parseBody(shapes.memoryCreate, request.body);
        checkMemory({ path, content });
        const [memory = '', version = ''] = await reserveIds(parts.ports, request, () => [
          newId('mem'),
          newId('memver'),
        ]);
        await memories.create(by, { memory, version }, { path, text: content ?? '' });
        return showMemory(memories, id, await memories.find(memory), view);
      }),
    'memoryStores.memories.update': (request) =>
      refusing(async () => {
        const { id, memories, by } = await open(request, 'write');
        const { view } = parseQuery(shapes.viewQuery, request.query);
        const { content, path, precondition } = parseBody(shapes.memoryUpdate, request.body);
        checkMemory({ path, content });
        const [memory, sha256] = [memoryIn(request), precondition?.content_sha256];
        await memories.update(by, memory, { path: path ?? undefined, text: content ?? undefined, sha256 });
        return showMemory(memories, id, await memories.find(memory), view);
      }),
    'memoryStores.memories.retrieve': (request) =>
      refusing(async () => {
        const { id, memories } = await open(request, 'read');
        const { view = 'full' } = parseQuery(shapes.viewQuery, request.query);
        return showMemory(memories, id, await memories.find(memoryIn(request)), view);
      }),
    'memoryStores.memories.delete': (request) =>
      refusing(async (): Promise<BetaManagedAgentsDeletedMemory> => {
        const { memories, by } = await open(request, 'delete');
        const { expected_content_sha256: sha256 } = parseQuery(shapes.memoryDelete, request.query);
        const memory = memoryIn(request);
        await memories.delete(by, memory, { sha256 });
        return { id: memory, type: 'memory_deleted' };
      }),
    'memoryStores.memories.list': async (request): Promise<Paged<BetaManagedAgentsMemoryListItem>> => {
      const { id, memories } = await open(request, 'read');
      const query = parseQuery(shapes.memoryList, request.query);
      const list = { list: `memories ${id}`, order: 'asc', filter: filterOf(query), ...sizeIn(query) } as const;
      const entries = listBelow([...(await memories.list()).values()], query.path_prefix, query.depth);
      const page = pageOf(await parts.cursors(), list, entries, ({ path }) => path);
      const show = async ({ path, memory }: MemoryEntry): Promise<BetaManagedAgentsMemoryListItem> =>
        memory ? showMemory(memories, id, memory, query.view) : { type: 'memory_prefix', path };
      return { data: await Promise.all(page.items.map(show)), next_page: page.next };
    },
  } satisfies Partial<Record<ServedName, Handler>>;
}

function versionHandlers(parts: Parts) {
  const open = (request: ManagedRequest) => openMemories(parts, request, 'read');
  const read = async (request: ManagedRequest, view: View): Promise<BetaManagedAgentsMemoryVersion> => {
    const { id, memories } = await open(request);
    const name = versionIn(request);
    const version = (await memories.versions()).get(name);
    if (!version) throw new MemoryRefusal('no_version', `Memory version ${JSON.stringify(name)} was not found`);
    return showVersion(memories, id, [name, version], view);
  };
  return {
    'memoryStores.memoryVersions.retrieve': (request) =>
      refusing(() => read(request, parseQuery(shapes.viewQuery, request.query).view ?? 'full')),
    'memoryStores.memoryVersions.redact': (request) =>
      refusing(async () => {
        const { memories, by } = await open(request);
        await memories.redact(by, versionIn(request));
        return read(request, 'basic');
      }),
    'memoryStores.memoryVersions.list': async (request): Promise<Paged<BetaManagedAgentsMemoryVersion>> => {
      const query = parseQuery(shapes.memoryVersionList, request.query);
      const { id, memories } = await open(request);
      const list = { list: `versions ${id}`, order: 'desc', filter: filterOf(query), ...sizeIn(query) } as const;
      const chosen = [...(await memories.versions())].filter(([, version]) => isChosen(version, query)).toReversed();
      const page = pageOf(await parts.cursors(), list, chosen, ([, { n }]) => String(n).padStart(12, '0'));
      const data = await Promise.all(page.items.map((one) => showVersion(memories, id, one, query.view)));
      return { data, next_page: page.next };
    },
  } satisfies Partial<Record<ServedName, Handler>>;
}

type Use = 'read' | 'write' | 'delete';
type View = 'basic' | 'full' | undefined;
type OpenedMemories = { readonly id: string; readonly memories: Memories; readonly by: MemoryAuthor };

/**
 * Opens a store for the caller: a worker may what its session may. An archived store keeps its
 * memories as they are; they can be deleted. Throws ManagedError.
 */
async function openMemories(parts: Parts, request: ManagedRequest, use: Use): Promise<OpenedMemories> {
  const { lease, person } = request;
  const id = storeIn(request);
  if (lease) await requireAttached(parts, lease.session, { id, use });
  await (use === 'write' ? parts.memoryStores.requireOpen(id) : parts.memoryStores.retrieve(id));
  return { id, memories: parts.stored.memories(id), by: lease ? { session: lease.session } : { person } };
}

/** The token of a lease opens the stores of its session, and changes what the session may (G55). */
async function requireAttached(
  { sessions }: Parts,
  session: string,
  { id, use }: { readonly id: string; readonly use: Use },
): Promise<void> {
  const { resources = [] } = await sessions.item(session);
  const attached = resources.find((one) => one.type === 'memory_store' && one.memory_store_id === id);
  if (!attached) throw new ManagedError(403, `Memory store ${id} is none of session ${session}`);
  if (use !== 'read' && attached.access === 'read_only')
    throw new ManagedError(403, `Memory store ${id} is attached to session ${session} to be read: nothing was done`);
}

const statuses = {
  no_memory: 404,
  no_version: 404,
  path_conflict: 409,
  precondition: 409,
  full: 400,
  current: 400,
} as const;

/** Answers what a store refuses in the words of the API. */
async function refusing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof MemoryRefusal)) throw error;
    const { kind, message, conflict } = error;
    const fields =
      kind === 'path_conflict'
        ? {
            type: 'memory_path_conflict_error',
            conflicting_memory_id: conflict?.memory ?? '',
            conflicting_path: conflict?.path ?? '',
          }
        : kind === 'precondition'
          ? { type: 'memory_precondition_failed_error' }
          : undefined;
    throw new ManagedError(statuses[kind], message, { error_code: `memory_${kind}` }, fields);
  }
}

function checkMemory({
  path,
  content,
}: {
  readonly path?: string | null | undefined;
  readonly content?: string | null | undefined;
}): void {
  const wrongPath = typeof path === 'string' ? memoryPathProblem(path) : null;
  if (wrongPath !== null) throw invalid(`path: ${wrongPath}`, 'path');
  const wrongText = typeof content === 'string' ? memoryTextProblem(content) : null;
  if (wrongText !== null) throw invalid(`content: ${wrongText}`, 'content');
}

const MOST_FULL = 20;

/** A page with texts is a small one. */
function sizeIn(query: {
  readonly limit?: number | undefined;
  readonly page?: string | undefined;
  readonly view?: View;
}) {
  const { limit, page } = pageIn(query);
  return { page, limit: query.view === 'full' ? Math.min(limit ?? MOST_FULL, MOST_FULL) : limit };
}

type MemoryEntry = { readonly path: string; readonly memory?: Memory };

/** Lists memories below a prefix by their paths; deeper ones than `depth` are folders. 0: all. */
function listBelow(memories: readonly Memory[], prefix = '/', depth = 0): readonly MemoryEntry[] {
  const entries = new Map<string, MemoryEntry>();
  for (const memory of memories.filter(({ path }) => path.startsWith(prefix))) {
    const segments = memory.path.slice(prefix.length).split('/');
    const isDeeper = depth > 0 && segments.length > depth;
    const path = isDeeper ? `${prefix}${segments.slice(0, depth).join('/')}/` : memory.path;
    entries.set(path, isDeeper ? { path } : { path, memory });
  }
  return [...entries.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

async function showMemory(
  memories: Memories,
  memory_store_id: string,
  memory: Memory,
  view: View = 'basic',
): Promise<BetaManagedAgentsMemory> {
  return {
    id: memory.memory,
    type: 'memory',
    memory_store_id,
    memory_version_id: memory.version,
    path: memory.path,
    ...(await showText(memories, memory, view)),
    content_sha256: memory.sha256,
    content_size_bytes: memory.bytes,
    created_at: formatTime(memory.createdAt),
    updated_at: formatTime(memory.at),
  };
}

async function showVersion(
  memories: Memories,
  memory_store_id: string,
  [id, version]: readonly [string, MemoryVersion],
  view: View = 'basic',
): Promise<BetaManagedAgentsMemoryVersion> {
  const { text, redacted, by } = version;
  return {
    id,
    type: 'memory_version',
    memory_store_id,
    memory_id: version.memory,
    operation: version.operation,
    path: version.path,
    ...(await showText(memories, text, view)),
    content_sha256: text?.sha256 ?? null,
    content_size_bytes: text?.bytes ?? null,
    created_at: formatTime(version.at),
    created_by: actorOf(by),
    redacted_at: redacted ? formatTime(redacted.at) : null,
    ...(redacted && { redacted_by: actorOf(redacted.by) }),
  };
}

const showText = async (memories: Memories, text: MemoryText | null, view: View) => ({
  content: view === 'full' && text ? await memories.readText(text) : null,
});

const apiKeyOf = (person: string): string => `apikey_${person.replaceAll(' ', '_')}`;

const actorOf = (by: MemoryAuthor) =>
  'session' in by
    ? ({ type: 'session_actor', session_id: by.session } as const)
    : ({ type: 'api_actor', api_key_id: apiKeyOf(by.person) } as const);

function isChosen(version: MemoryVersion, query: z.output<typeof shapes.memoryVersionList>): boolean {
  const { by } = version;
  return (
    query.service_account_id === undefined &&
    (query.memory_id === undefined || query.memory_id === version.memory) &&
    (query.operation === undefined || query.operation === version.operation) &&
    (query.session_id === undefined || ('session' in by && by.session === query.session_id)) &&
    (query.api_key_id === undefined || ('person' in by && apiKeyOf(by.person) === query.api_key_id)) &&
    isWithin(version.at * 1000, query)
  );
}
