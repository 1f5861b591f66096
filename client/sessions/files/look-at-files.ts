// Says what a rewind would do to files (T7): a worker inspects the folders as they are now. If none
// can, the session's snapshots say what they know.
import { waysBelow } from '../../../store/snapshots/nested-roots.ts';
import { listChanges, type ShadowReading } from '../../../store/snapshots/compare.ts';
import { isAtOrBelow, showPath } from '../../../store/snapshots/listing.ts';
import { fetchPacks, hasPacks } from '../../../store/snapshots/packs.ts';
import { readWithLeftBehind } from '../../../store/log/read-chain.ts';
import type { Entry } from '../../../store/log/entries.ts';
import type { FilesPreview, RemainingFiles, RewindRequest, RootPreview } from '../../../workflows/contract/rewind.ts';
import { UPDATES } from '../../../workflows/contract/session.ts';
import { ClientProblem } from '../../problem.ts';
import type { SessionDescription } from '../info.ts';
import type { ClientOptions } from '../start.ts';
import { updateAndWait } from '../updates/update.ts';
import type { ChangedFile } from './diff-session.ts';
import { basename, dirname, resolve } from 'node:path';

/** `unnamed`: no call of the session names it. */
export type RewoundFile = ChangedFile & { readonly unnamed?: true };

export type RewindPreview = {
  /** The files that differ; null if unknown. */
  readonly files: readonly RewoundFile[] | null;
  /** Files that differ and are not listed: a worker lists some thousands. */
  readonly moreFiles: number;
  /** Says why no worker looked at the folders as they are; null when one did, or none has to. */
  readonly notLooked: string | null;
  /** The sentences with which the rewind would be refused. */
  readonly problems: readonly string[];
  /** Files that stay, although they were not there then, or not captured. */
  readonly untaken: RemainingFiles;
  /** Programs that have files open or work in a folder, as in `node (pid 12) has data.db open`. */
  readonly inUse: readonly string[];
};

type LookPorts = Pick<ClientOptions, 'temporal' | 'store' | 'snapshots'>;

type LookAbout = {
  readonly description: SessionDescription;
  readonly rewind: RewindRequest;
  readonly entries: readonly Entry[];
  readonly by: string;
};

const NOTHING: Omit<RewindPreview, 'files'> = {
  moreFiles: 0,
  notLooked: null,
  problems: [],
  untaken: { count: 0, first: [] },
  inUse: [],
};

/** Milliseconds: a worker that is there answers in a moment, after it has captured the folders. */
const LOOK_MS = 3 * 60_000;

/** Has a worker look. Throws ClientProblem only for a session that is not there. */
export async function lookAtFiles(ports: LookPorts, about: LookAbout): Promise<RewindPreview> {
  const { description, rewind } = about;
  if (rewind.files === undefined) return { ...NOTHING, files: [] };
  if (description.phase !== 'idle')
    return { ...(await lookAtSnapshots(ports, about)), notLooked: 'the session is not idle' };
  try {
    return describeLook(about, await askWorker(ports, about));
  } catch (error) {
    if (!(error instanceof ClientProblem)) throw error;
    return { ...(await lookAtSnapshots(ports, about)), notLooked: error.message };
  }
}

/** Compares the snapshots that this machine can read. */
export async function lookAtSnapshots(ports: LookPorts, about: LookAbout): Promise<RewindPreview> {
  const files = await listFiles(ports, about);
  return { ...NOTHING, files: files && markUnnamed(about, files) };
}

/** Throws ClientProblem. */
async function askWorker(
  { temporal }: LookPorts,
  { description, rewind, by }: LookAbout,
): Promise<readonly RootPreview[]> {
  const workers = () => Promise.resolve(description);
  const { session } = description;
  const about = { temporal, session, name: UPDATES.previewRewind, arg: rewind, signed: { by }, workers };
  const looked = await updateAndWait<FilesPreview>(about, LOOK_MS);
  if (looked.kind === 'refused') throw new ClientProblem('refused', looked.problem);
  return looked.roots;
}

function describeLook(about: LookAbout, roots: readonly RootPreview[]): RewindPreview {
  const files = roots.flatMap(({ root, changes }) => changes.map((change) => ({ root, ...change })));
  const { cwd } = about.description;
  const untaken = roots.flatMap(({ root, untaken: { first } = NOTHING.untaken }) =>
    first.map(({ path, why }) => ({ path: root === cwd ? path : `${root}/${path}`, why })),
  );
  return {
    files: markUnnamed(about, files),
    moreFiles: roots.reduce((sum, { count }) => sum + count, 0) - files.length,
    notLooked: null,
    problems: roots.flatMap(({ problems = [] }) => problems),
    untaken: { count: roots.reduce((sum, root) => sum + (root.untaken?.count ?? 0), 0), first: untaken },
    inUse: roots.flatMap(({ inUse = [] }) => inUse),
  };
}

function markUnnamed({ description, entries }: LookAbout, files: readonly ChangedFile[]): readonly RewoundFile[] {
  const isNamed = createFileNaming(entries, description.cwd);
  return files.map((file) => (isNamed(file) ? file : { ...file, unnamed: true }));
}

async function listFiles(
  { snapshots, store }: LookPorts,
  { description, rewind: { files = [], from }, entries }: LookAbout,
): Promise<readonly ChangedFile[] | null> {
  if (files.length === 0) return [];
  const reading = openReading(() => snapshots?.(hasPacks(entries)));
  if (reading === null) return null;
  if (hasPacks(entries)) await fetchPacks(reading, store, await readWithLeftBehind(store, description.session, from));
  const lists = await Promise.all(
    files.map(async ({ root, known, to }) => {
      const changes = await listChanges(reading, { from: known, to, paths: [] });
      const apart = waysBelow(root, files);
      return changes.flatMap(({ path, ...change }) =>
        isAtOrBelow(path, apart) ? [] : [{ root, path: showPath(path), ...change }],
      );
    }),
  );
  return lists.flat();
}

/** Returns null where no snapshots can be read. */
function openReading(open: () => ShadowReading | undefined): ShadowReading | null {
  try {
    return open() ?? null;
  } catch (error) {
    if (error instanceof ClientProblem) return null;
    throw error;
  }
}

/** Characters that surround names in a command. */
const BETWEEN = /[\s'"`=:;,|&<>(){}[\]]+/;

/**
 * Tells which files the calls of a session name: a file that none names may be a person's, or have
 * been written by a program that a call started (T7). Returns whether a call names a file, or a
 * folder above it, by its path, or a command does by the name alone. `cwd` is the folder of the
 * session; `path` is relative to `root`.
 */
export function createFileNaming(
  entries: readonly Entry[],
  cwd: string,
): (file: { readonly root: string; readonly path: string }) => boolean {
  const places = new Set<string>();
  const names = new Set<string>();
  for (const { path, file_path: filePath, command } of entries.flatMap(inputsOf)) {
    for (const named of [path, filePath]) if (typeof named === 'string') places.add(resolve(cwd, named));
    if (typeof command !== 'string') continue;
    const words = command.split(BETWEEN).filter(Boolean);
    for (const [at, word] of words.entries()) {
      // Working in a folder names nothing in it.
      if (words[at - 1] === 'cd') continue;
      places.add(resolve(cwd, word));
      names.add(basename(word));
    }
  }
  return ({ root, path }) => {
    const file = resolve(root, path);
    if (names.has(basename(file))) return true;
    for (let place = file; place !== root && place !== '/'; place = dirname(place)) if (places.has(place)) return true;
    return false;
  };
}

type NamingInput = { readonly path?: unknown; readonly file_path?: unknown; readonly command?: unknown };

function inputsOf(entry: Entry): readonly NamingInput[] {
  if (entry.kind !== 'reply') return [];
  return entry.message.content.flatMap((block) =>
    block.type === 'tool_use' && typeof block.input === 'object' && block.input !== null ? [block.input] : [],
  );
}
