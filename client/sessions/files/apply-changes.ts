// Writes what an agent has changed onto another checkout (T11): file by file, three-way where the
// file differs there. Only files are written: the index and the history of a repository stay.
import { randomUUID } from 'node:crypto';
import type { Stats } from 'node:fs';
import {
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  readlink,
  rename,
  rm,
  rmdir,
  symlink,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import {
  type HeldFile,
  type HeldPair,
  listHeldPairs,
  type Pair,
  readHeld,
  type ShadowReading,
} from '../../../store/snapshots/compare.ts';
import { bytesOf, namesIn, type RawPath, showPath } from '../../../store/snapshots/listing.ts';
import { codeOf } from '../../../system/text.ts';
import { ClientProblem } from '../../problem.ts';
import type { RunInFolder } from './read-shadow.ts';

export type ChangePorts = {
  readonly reading: ShadowReading;
  readonly runIn: RunInFolder;
  /** The data folder, where versions of a file are merged: no command of an agent writes there. */
  readonly root: string;
};

export type Applied = {
  /** Paths that were written or deleted, for people. */
  readonly written: readonly string[];
  readonly deleted: readonly string[];
  /** Number of files that already were as the agent left them. */
  readonly same: number;
  readonly conflicts: readonly { readonly path: string; readonly why: ConflictKind }[];
};

/**
 * `marked`: both versions stand in the file, between markers. Otherwise the file was left alone.
 */
export type ConflictKind = 'marked' | 'changed_here' | 'not_text' | 'blocked';

/** `folder` is an absolute path. Throws ClientProblem `refused`, and nothing is written then. */
export async function applyChanges(ports: ChangePorts, pair: Pair, folder: string): Promise<Applied> {
  const pairs = await listHeldPairs(ports.reading, pair);
  const gone = new Set(pairs.flatMap(({ path, to }) => (to === null ? [path] : [])));
  const plans: Plan[] = [];
  for (const held of pairs) plans.push(await planFile(ports, folder, { held, gone }));
  const differing = plans.filter(({ kind }) => kind !== 'same').map(({ path }) => path);
  await refuseChanged(ports, folder, differing);
  const conflicts = plans.flatMap(({ path, why }) => (why === undefined ? [] : [{ path: showPath(path), why }]));
  for (const { path } of plans.filter(({ kind }) => kind === 'delete')) await removeFile(folder, path);
  for (const plan of plans) if (plan.kind === 'write') await writeHeld(folder, plan);
  const names = (kind: Plan['kind']): readonly string[] =>
    plans.filter((plan) => plan.kind === kind && plan.why === undefined).map(({ path }) => showPath(path));
  return { written: names('write'), deleted: names('delete'), same: names('same').length, conflicts };
}

type Plan = { readonly path: RawPath; readonly why?: ConflictKind } & (
  | { readonly kind: 'same' | 'delete' | 'leave' }
  | { readonly kind: 'write'; readonly mode: string; readonly content: Buffer }
);

const LINK = '120000';

async function planFile(
  ports: ChangePorts,
  folder: string,
  { held, gone }: { readonly held: HeldPair; readonly gone: ReadonlySet<RawPath> },
): Promise<Plan> {
  const { path, from, to } = held;
  const here = await readHere(folder, path, gone);
  // Where something else is in its place, a file that is not wanted is gone already.
  if (here === 'blocked') return to === null ? { path, kind: 'same' } : { path, kind: 'leave', why: 'blocked' };
  const base = await contentOf(ports, from);
  const wanted = await contentOf(ports, to);
  if (isSame(here, wanted)) return { path, kind: 'same' };
  if (isSame(here, base)) return wanted === null ? { path, kind: 'delete' } : { path, kind: 'write', ...wanted };
  if (here === null || wanted === null) return { path, kind: 'leave', why: 'changed_here' };
  const all = [here, wanted, ...(base ? [base] : [])];
  if (all.some(({ mode, content }) => mode === LINK || content.includes(0)))
    return { path, kind: 'leave', why: 'not_text' };
  const { content, isClean } = await mergeFile(ports, { here, base, wanted });
  if (isClean && isSame(here, { mode: wanted.mode, content })) return { path, kind: 'same' };
  return { path, kind: 'write', mode: wanted.mode, content, ...(!isClean && { why: 'marked' }) };
}

/** A file with its content, or a link with its target. */
type Content = { readonly mode: string; readonly content: Buffer };

async function contentOf({ reading }: ChangePorts, file: HeldFile | null): Promise<Content | null> {
  return file && { mode: file.mode, content: await readHeld(reading, file) };
}

/** Compares contents; the mode of a missing file is that of none. */
function isSame(one: Content | null, other: Content | null): boolean {
  if (one === null || other === null) return one === other;
  return one.mode === other.mode && one.content.equals(other.content);
}

/**
 * Reads a file of the checkout; null where it is missing. It is `blocked` where a link or a file is
 * in the way to it, or a folder in its place, unless those are to be deleted.
 */
async function readHere(
  folder: string,
  path: RawPath,
  gone: ReadonlySet<RawPath>,
): Promise<Content | null | 'blocked'> {
  if (path.split('/').some((part) => ['', '.', '..'].includes(part) || part.toLowerCase() === '.git')) return 'blocked';
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) {
    const above = path.slice(0, at);
    const stats = await look(placeOf(folder, above));
    if (stats === null) return null;
    if (!stats.isDirectory()) return gone.has(above) ? null : 'blocked';
  }
  const place = placeOf(folder, path);
  const stats = await look(place);
  if (stats === null) return null;
  if (stats.isSymbolicLink()) return { mode: LINK, content: await readlink(place, 'buffer') };
  if (stats.isFile()) return { mode: (stats.mode & 0o100) === 0 ? '100644' : '100755', content: await readFile(place) };
  return stats.isDirectory() && [...gone].some((other) => other.startsWith(`${path}/`)) ? null : 'blocked';
}

const placeOf = (folder: string, path: RawPath): Buffer => Buffer.concat([Buffer.from(`${folder}/`), bytesOf(path)]);

async function look(place: Buffer): Promise<Stats | null> {
  try {
    return await lstat(place);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')) return null;
    throw error;
  }
}

type Versions = { readonly here: Content; readonly base: Content | null; readonly wanted: Content };

async function mergeFile(
  { reading: { git }, runIn, root }: ChangePorts,
  { here, base, wanted }: Versions,
): Promise<{ readonly content: Buffer; readonly isClean: boolean }> {
  const place = await mkdtemp(join(root, 'merge-'));
  try {
    await writeFile(join(place, 'here'), here.content);
    await writeFile(join(place, 'base'), base?.content ?? '');
    await writeFile(join(place, 'wanted'), wanted.content);
    const labels = ['here', 'before the agent', 'agent'].flatMap((label) => ['-L', label]);
    const argv = [git, 'merge-file', '-p', ...labels, 'here', 'base', 'wanted'];
    const { exit, stdout, stderr } = await runIn(argv, place, NO_SETTINGS);
    // Its status counts the conflicts, and from 128 on it tells of a failure.
    if (exit.code === null || exit.code > 127)
      throw new ClientProblem('refused', `git merge-file failed: ${stderr.trim()}`);
    return { content: Buffer.from(stdout, 'latin1'), isClean: exit.code === 0 };
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

const NO_SETTINGS = { GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null', LC_ALL: 'C' };

/** Repositories that an agent could write, also those in the folder, name no program that runs. */
const STATUS =
  '-c core.fsmonitor=false -c core.hooksPath=/dev/null status --porcelain -z --untracked-files=all --no-renames --ignore-submodules=all -- .'.split(
    ' ',
  );
const NO_PROGRAMS = { GIT_OPTIONAL_LOCKS: '0', GIT_NO_LAZY_FETCH: '1', GIT_ALLOW_PROTOCOL: 'none' };

/** Returns an environment in which git has none of the filters that a repository defines. */
async function withoutFilters(git: string, runIn: RunInFolder, folder: string): Promise<Record<string, string>> {
  const { exit, stdout } = await runIn([git, 'config', '--show-scope', '-z', '--get-regexp', '^filter\\.'], folder);
  // With 1 it has found none.
  if (exit.code !== 0 && exit.code !== 1) throw new ClientProblem('refused', `git cannot read how ${folder} is set up`);
  const fields = stdout.split('\0');
  const own = fields.flatMap((scope, at) =>
    at % 2 === 0 && ['local', 'worktree'].includes(scope) ? [(fields[at + 1] ?? '').split('\n')[0] ?? ''] : [],
  );
  const names = new Set(own.map((key) => key.slice(0, key.lastIndexOf('.'))));
  const settings = [...names].flatMap((raw) => {
    const name = Buffer.from(raw, 'latin1').toString('utf8');
    if (name.includes('\ufffd'))
      throw new ClientProblem('refused', `a filter of ${folder} has a name that is no UTF-8`);
    return [[`${name}.clean`, ''] as const, [`${name}.process`, ''] as const, [`${name}.required`, 'false'] as const];
  });
  const set = settings.flatMap(([key, value], at) => [
    [`GIT_CONFIG_KEY_${at}`, key],
    [`GIT_CONFIG_VALUE_${at}`, value],
  ]);
  return { ...NO_PROGRAMS, GIT_CONFIG_COUNT: String(settings.length), ...Object.fromEntries(set) };
}

/** Throws ClientProblem where a repository has changes of these files that are not committed. */
async function refuseChanged(
  { reading: { git }, runIn }: ChangePorts,
  folder: string,
  paths: readonly RawPath[],
): Promise<void> {
  if (paths.length === 0) return;
  const { exit, stdout } = await runIn([git, ...STATUS], folder, await withoutFilters(git, runIn, folder));
  // The folder is in no repository.
  if (exit.code !== 0) return;
  const { stdout: prefix } = await runIn([git, 'rev-parse', '--show-prefix'], folder);
  const before = prefix.replace(/\n$/, '');
  const changed = new Set(namesIn(stdout).map((line) => line.slice(3)));
  const found = paths.filter((path) => changed.has(`${before}${path}`)).map(showPath);
  if (found.length === 0) return;
  const named = found.slice(0, 5).join(', ');
  throw new ClientProblem(
    'refused',
    `${folder} has changes that are not committed of ${named}${found.length > 5 ? ', …' : ''}: commit or stash them first; nothing was written`,
  );
}

async function removeFile(folder: string, path: RawPath): Promise<void> {
  await unlink(placeOf(folder, path));
  for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
    const isGone = await rmdir(placeOf(folder, path.slice(0, at))).then(
      () => true,
      () => false,
    );
    if (!isGone) return;
  }
}

async function writeHeld(folder: string, { path, mode, content }: Content & { readonly path: RawPath }): Promise<void> {
  const above = path.slice(0, path.lastIndexOf('/') + 1);
  if (above !== '') await mkdir(placeOf(folder, above.slice(0, -1)), { recursive: true });
  const temporary = placeOf(folder, `${above}.perdure-${randomUUID()}`);
  try {
    if (mode === LINK) await symlink(content, temporary);
    else await writeFile(temporary, content, { flag: 'wx', mode: mode === '100755' ? 0o777 : 0o666 });
    await rename(temporary, placeOf(folder, path));
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
