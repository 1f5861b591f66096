// Attaches memory stores to a session (G67): their folders, and the agent's instructions for them.
import type { BetaManagedAgentsMemoryStoreResource } from '@anthropic-ai/sdk/resources/beta/sessions';
import type { RunMount } from '../../client/faces/types.ts';
import { invalid } from '../errors.ts';
import type { ResourceParams } from '../shapes/files.ts';
import type { MemoryStores } from './stores.ts';

const MOST_STORES = 8;
const FOLDER = '/mnt/memory';
/** Bytes of a slug to which a number is added. */
const LONGEST_SLUG = 240;

/** Returns the resources as the session keeps them. Throws ManagedError. */
export async function attachMemoryStores(
  stores: MemoryStores,
  requested: readonly ResourceParams[],
): Promise<readonly BetaManagedAgentsMemoryStoreResource[]> {
  const attached: BetaManagedAgentsMemoryStoreResource[] = [];
  for (const [at, resource] of requested.entries()) {
    const path = `resources.${at}`;
    if (resource.type !== 'memory_store') continue;
    const { memory_store_id, access, instructions } = resource;
    if (attached.some((other) => other.memory_store_id === memory_store_id))
      throw invalid(`${path}.memory_store_id: it is attached twice`, `${path}.memory_store_id`);
    if (attached.length === MOST_STORES)
      throw invalid(`resources: a session has at most ${MOST_STORES} memory stores`, 'resources');
    const { name, description } = await stores.requireOpen(memory_store_id);
    const mount_path = mountPathOf(name, attached);
    attached.push({
      type: 'memory_store',
      memory_store_id,
      access: access ?? 'read_write',
      description,
      instructions: instructions ?? null,
      mount_path,
      name,
    });
  }
  return attached;
}

/** Stores of one name get folders of their own. */
function mountPathOf(name: string, others: readonly BetaManagedAgentsMemoryStoreResource[]): string {
  const slug = name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  const names = Array.from({ length: others.length + 1 }, (_, n) =>
    n === 0 ? slug : `${slug.slice(0, LONGEST_SLUG)}-${n + 1}`,
  );
  const isTaken = (path: string): boolean => others.some(({ mount_path }) => mount_path === path);
  return names.map((one) => `${FOLDER}/${one}`).find((path) => !isTaken(path))!;
}

/** The folders as tools of this deployment see them. */
export const mountsOfStores = (
  session: string,
  stores: readonly BetaManagedAgentsMemoryStoreResource[],
): readonly RunMount[] =>
  stores.map(({ memory_store_id: store, mount_path, access }) => ({
    path: mount_path ?? '',
    access: access ?? 'read_write',
    memory: { store, session },
  }));

/** What the system prompt says of the stores, by name; nothing where there are none. */
export function describeMemoryStores(
  stores: readonly BetaManagedAgentsMemoryStoreResource[],
): Readonly<Record<string, string>> {
  if (stores.length === 0) return {};
  const lines = stores.map(({ mount_path, access, name, description, instructions }) => {
    const use = access === 'read_only' ? 'read only' : 'read and write';
    return [`- ${mount_path} (${use}), "${name}"`, description, instructions].filter(Boolean).join('\n  ');
  });
  return { 'memory stores': [INTRODUCTION, ...lines].join('\n') };
}

const INTRODUCTION =
  'These folders outlast the session, and other sessions share them. Look into those that bear on the task before you begin it, ' +
  'and write there what later sessions should know. Each file is one memory, text of at most 100 kB: prefer small files, one topic each.';
