// Carries snapshots from one host to another: packs of what is new lie in the store that hosts
// share, like any value, and the entries of captures and rewinds name them (T4).
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Hash, isHash } from '../../workflows/contract/ids.ts';
import { type Entry, rewoundIn } from '../log/entries.ts';
import { isDamage, type Store } from '../values/store.ts';
import type { ShadowReading } from './compare.ts';
import { outgoingOf } from './capture-folder.ts';
import { receivePack } from './git-objects.ts';
import { gitArguments, isSnapshotId, openShadow, shadowEnvironment, type ShadowPlace } from './shadow.ts';

/** Returns those of the packs that the transcript names. */
export type FindNamed = (waiting: readonly Hash[]) => ReadonlySet<Hash> | Promise<ReadonlySet<Hash>>;

/**
 * Stores the packs that captures have left, and returns their hashes. One that the transcript names
 * is done with; the others stay, in case that the entry which is to name them is not stored.
 */
export async function sendPacks(
  store: Pick<Store, 'put'>,
  place: ShadowPlace,
  findNamed: FindNamed,
): Promise<readonly Hash[]> {
  const folder = outgoingOf(place);
  const waiting = (existsSync(folder) ? await readdir(folder) : []).filter(isHash);
  const named = await findNamed(waiting);
  const sent: Hash[] = [];
  for (const hash of waiting) {
    const path = join(folder, hash);
    if (named.has(hash)) await rm(path, { force: true });
    else sent.push(await store.put(await readFile(path)));
  }
  return sent;
}

/**
 * Brings snapshots that these entries name, and that the repository lacks, from the store. What the
 * store lacks as well stays away. Throws StoreError, and what git said.
 */
export async function fetchPacks(
  reading: ShadowReading,
  store: Pick<Store, 'get'>,
  entries: readonly Entry[],
): Promise<void> {
  const named = listPacked(entries);
  if (named.length === 0) return;
  const { gitDir } = reading;
  await openShadow({ gitDir, own: gitDir });
  const missing = await findMissing(reading, named);
  for (const hash of new Set(missing.flatMap(({ packs }) => packs.filter(isHash)))) {
    const bytes = await store.get(hash).catch((error: unknown) => {
      if (isDamage(error)) return null;
      throw error;
    });
    if (bytes) await addPack(reading, hash, bytes);
  }
}

/** A snapshot, and the packs that were stored with it. */
type Packed = { readonly id: string; readonly packs: readonly Hash[] };

function listPacked(entries: readonly Entry[]): readonly Packed[] {
  const all = entries.flatMap((entry): readonly Packed[] => {
    if (entry.kind === 'files') return entry.roots.map(({ id, packs = [] }) => ({ id, packs }));
    const files = rewoundIn(entry)?.files ?? [];
    return files.flatMap(({ before, to, after = to, packs = [] }) => [before, after].map((id) => ({ id, packs })));
  });
  return all.filter(({ id, packs }) => isSnapshotId(id) && packs.some(isHash));
}

/** Returns the packs that an entry names. */
export const packsIn = (entry: Entry): readonly Hash[] => listPacked([entry]).flatMap(({ packs }) => packs);

/** Tells whether a transcript names packs in the store. */
export const hasPacks = (entries: readonly Entry[]): boolean => listPacked(entries).length > 0;

async function findMissing(reading: ShadowReading, roots: readonly Packed[]): Promise<readonly Packed[]> {
  const ids = [...new Set(roots.map(({ id }) => id))];
  const script = 'ids=$1; shift; exec "$@" cat-file --batch-check < "$ids"';
  const printed = await runOnFile(reading, script, { name: `ids-${randomUUID()}`, content: `${ids.join('\n')}\n` });
  const missing = new Set(printed.split('\n').filter((line) => line.endsWith(' missing')));
  return roots.filter(({ id }) => missing.has(`${id} missing`));
}

async function addPack(reading: ShadowReading, hash: Hash, bytes: Uint8Array): Promise<void> {
  const script = 'pack=$1; shift; exec "$@" index-pack --stdin < "$pack"';
  await receivePack(reading.gitDir, (env) => runOnFile(reading, script, { name: hash, content: bytes, env }));
}

type Incoming = {
  readonly name: string;
  readonly content: string | Uint8Array;
  readonly env?: Readonly<Record<string, string>>;
};

/** Runs a script that is given the path of a file, and git. The file is there for as long. */
async function runOnFile(
  { gitDir, git, run }: ShadowReading,
  script: string,
  { name, content, env = shadowEnvironment() }: Incoming,
): Promise<string> {
  const incoming = join(gitDir, 'incoming');
  await mkdir(incoming, { recursive: true, mode: 0o700 });
  const path = join(incoming, name);
  await writeFile(path, content, { mode: 0o600 });
  try {
    const argv = ['sh', '-c', script, 'sh', path, ...gitArguments(git, { gitDir }, [])];
    return await run(argv, { env, cwd: gitDir });
  } finally {
    await rm(path, { force: true });
  }
}
