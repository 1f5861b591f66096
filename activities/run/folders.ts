// Finds the folders that a run is to work in, its workspace and the others, or says why it cannot;
// and tells an agent what its own work tree lacks.
import { mkdir, realpath, stat } from 'node:fs/promises';
import { resolve, sep, join } from 'node:path';
import type { WorkspacePlace } from '../../workflows/contract/activities.ts';
import type { Deps } from '../deps.ts';
import { bootId } from '../../system/process/identity.ts';
import { isDataFolder } from '../../system/process/data-folders.ts';
import { foldersUp, guardOf, isInside, type Places } from '../../system/process/places.ts';
import { codeOf, reasonOf } from '../../system/text.ts';
import { type Dirent, readdirSync } from 'node:fs';

type Workspace = {
  readonly path: string;
  readonly place: WorkspacePlace;
  readonly problem?: string | undefined;
  readonly isMissing?: true;
};

/**
 * Finds the workspace; `problem` says why a run cannot work there. `before` is the place where the
 * session's runs worked so far.
 */
export async function findWorkspace(
  cwd: string,
  dataDir: string | undefined,
  before?: WorkspacePlace,
): Promise<Workspace> {
  try {
    const path = await realpath(cwd);
    const found = await stat(path, { bigint: true });
    const place = { path, file: [bootId().slice(0, 8), found.dev, found.ino].join('/') };
    if (!found.isDirectory()) return { path, place, problem: `the working directory ${cwd} is not a directory` };
    return {
      path,
      place,
      problem: describeMove(cwd, place, before) ?? (await describeDataOverlap(`the workspace ${path}`, path, dataDir)),
    };
  } catch (error) {
    const moved = codeOf(error) === 'ENOENT' ? '; if it has moved, name its new place (`--cwd DIR`)' : '';
    const problem = `the working directory ${cwd} cannot be used on this worker: ${reasonOf(error)}${moved}`;
    const isMissing = codeOf(error) === 'ENOENT';
    return { path: cwd, place: { path: cwd, file: '' }, problem, ...(isMissing && { isMissing }) };
  }
}

/** Returns false where the folder that is to hold it is missing. */
export async function makeWorkspace(cwd: string): Promise<boolean> {
  try {
    await mkdir(cwd, { mode: 0o700 });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return true;
    if (codeOf(error) === 'ENOENT') return false;
    throw error;
  }
}

/**
 * A program that can write above a workspace can put a link, or another folder, in its place.
 * Device numbers change with a boot.
 */
function describeMove(cwd: string, now: WorkspacePlace, before: WorkspacePlace | undefined): string | undefined {
  if (before === undefined) return undefined;
  const [[boot, device, inode], [oldBoot, oldDevice, oldInode]] = [now.file.split('/'), before.file.split('/')];
  if (now.path === before.path && inode === oldInode && (device === oldDevice || boot !== oldBoot)) return undefined;
  const where = now.path === before.path ? 'it was replaced by another' : `it leads to ${now.path}`;
  return `the working directory ${cwd} is not the folder ${before.path} in which this session worked (${where}): if that is meant, give it again with --cwd`;
}

/**
 * Returns why a path must not be an agent's, or undefined. An agent that can rename the folder
 * around its data could put other data there.
 */
export async function describeDataOverlap(
  named: string,
  path: string,
  dataDir: string | undefined,
): Promise<string | undefined> {
  const other = foldersUp(path).find(isDataFolder);
  const data = dataDir === undefined ? null : await realpath(dataDir).catch(() => null);
  if (other !== undefined && other !== data)
    return `${named} lies in ${other}, a data folder of Perdure: use one outside it`;
  if (data === null) return undefined;
  if (isInside(data, path)) return `${named} lies in Perdure's data folder ${data}: use one outside it`;
  if (!isInside(path, data)) return undefined;
  return `${named} holds Perdure's data folder ${data}: work in a folder below, or set PERDURE_DATA to one outside`;
}

type ExtraFolders = {
  /** Absolute real paths, without the workspace. */
  readonly folders: readonly string[];
  readonly problem?: string;
  /** The folder that does not exist here: another host may have it. */
  readonly missing?: string;
};

/** `made`: one more folder, which is made where it is missing. */
export async function findExtraFolders(
  requested: readonly string[] = [],
  { cwd, made }: { readonly cwd: string; readonly made?: string | undefined },
  { dataDir, places }: Pick<Deps, 'dataDir' | 'places'>,
): Promise<ExtraFolders> {
  const folders: string[] = [];
  const unmade = made === undefined ? undefined : await makeFolder(made);
  if (unmade !== undefined) return { folders: [], problem: unmade };
  const all = [...requested, ...(made === undefined ? [] : [made])];
  for (const folder of all.map((path) => resolve(path))) {
    const found = await checkFolder(folder, cwd, dataDir, places);
    if (found !== null) return { folders: [], ...found };
    if (folder !== cwd && !folders.includes(folder)) folders.push(folder);
  }
  return { folders };
}

/** Returns why a folder cannot be made. */
async function makeFolder(folder: string): Promise<string | undefined> {
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') return `the folder ${folder} cannot be made on this worker: ${reasonOf(error)}`;
  }
  return undefined;
}

async function checkFolder(
  folder: string,
  cwd: string,
  dataDir: string | undefined,
  places: Places | undefined,
): Promise<Omit<ExtraFolders, 'folders'> | null> {
  const named = `the additional directory ${folder}`;
  try {
    const real = await realpath(folder);
    if (real !== folder)
      return { problem: `${named} leads through a link to ${real}: if that is meant, give this path` };
    if (!(await stat(real)).isDirectory())
      return { problem: `${named} is not a directory: give the folder it lies in` };
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') return { problem: `${named} cannot be used on this worker: ${reasonOf(error)}` };
    return {
      problem: `${named} is not there on this worker: make it, or give the folders without it`,
      missing: folder,
    };
  }
  // A folder on the way to the workspace could be renamed, and a link be put in its place.
  if (folder !== cwd && isInside(folder, cwd)) {
    return {
      problem: `${named} holds the workspace ${cwd}: give it as the workspace, or folders beside the workspace`,
    };
  }
  const problem = (await describeDataOverlap(named, folder, dataDir)) ?? describeGuard(named, folder, places);
  return problem === undefined ? null : { problem };
}

function describeGuard(named: string, folder: string, places: Places | undefined): string | undefined {
  const guard = places && guardOf(places, sep, folder);
  if (guard === undefined) return undefined;
  if (guard === 'own') return `${named} lies where Perdure itself runs from: use one outside`;
  return `${named} lies where what is written runs outside the sandbox later: use one outside, or work in it as the workspace`;
}

const MOST_NAMED = 20;

/** Folders that are looked into for empty ones. */
const MOST_FOLDERS = 200;

/** Other names could be words for the model. */
const PLAIN_NAME = /^[\w.@+-]{1,60}$/;

/**
 * Tells an agent in a work tree of its own what lies only in the workspace: git brings what it
 * tracks, and neither installed packages, nor settings, nor the files of submodules. Both paths are
 * absolute. Returns one sentence or more, or '' where nothing is missing.
 */
export function describeMissingInTree(workspace: string, tree: string): string {
  const there = listFolder(tree);
  const names = new Set(there.map(({ name }) => name));
  const missing = listFolder(workspace)
    .filter(({ name }) => name !== '.git' && !names.has(name))
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name));
  const folders = there.filter((entry) => entry.isDirectory() && entry.name !== '.git').slice(0, MOST_FOLDERS);
  const below = folders.flatMap(({ name }) =>
    listFolder(join(tree, name))
      .filter((one) => one.isDirectory())
      .map((one) => `${name}/${one.name}`),
  );
  const empty = [...folders.map(({ name }) => name), ...below.slice(0, MOST_FOLDERS)].filter(
    (path) => listFolder(join(tree, path)).length === 0 && listFolder(join(workspace, path)).length > 0,
  );
  return [
    sentence(missing, 'It lacks what git does not track: of the workspace these are not there'),
    sentence(empty, 'These folders are submodules or the like, and empty'),
    missing.length + empty.length === 0 ? '' : 'Install or make what you need.',
  ]
    .filter((part) => part !== '')
    .join(' ');
}

function sentence(paths: readonly string[], beginning: string): string {
  const named = paths.filter((path) => path.split('/').every((name) => name === '' || PLAIN_NAME.test(name)));
  const listed = named.slice(0, MOST_NAMED);
  if (paths.length === 0) return '';
  const more = paths.length - listed.length;
  return `${beginning}: ${[...listed, ...(more > 0 ? [`${more} more`] : [])].join(', ')}.`;
}

/** Returns an empty list for what is no folder, or cannot be listed. */
function listFolder(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
