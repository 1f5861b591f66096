// Writes what an agent has changed onto another checkout (T11): file by file, three-way where the
// file differs there. Only files are written: the index and the history of a repository stay.
import { existsSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import {
  type HeldFile,
  type HeldPair,
  listHeldPairs,
  type Pair,
  type ShadowReading,
} from '../../../store/snapshots/compare.ts';
import {
  bytesOf,
  foldersOf,
  namesIn,
  type RawPath,
  showPath,
  type SnapshotChange,
} from '../../../store/snapshots/listing.ts';
import { readSnapshotNotes } from '../../../store/snapshots/read-notes.ts';
import { readBlobs } from '../../../store/snapshots/read-blobs.ts';
import { describeUnchanged, findUncaptured } from '../../../store/snapshots/uncaptured.ts';
import { foldersUp } from '../../../system/process/places.ts';
import { type Programs, findPrograms } from '../../../system/process/programs.ts';
import { onOneLine, reasonOf } from '../../../system/text.ts';
import { ClientProblem } from '../../problem.ts';
import { type Change, CheckoutFolder, type CheckoutFile, LINK_MODE, type Look } from './checkout-folder.ts';
import { type RunInFolder, findGit, openShadowReading } from './read-shadow.ts';
import { mkdtemp, readFile, rm, writeFile, realpath } from 'node:fs/promises';
import { hasPacks } from '../../../store/snapshots/packs.ts';
import type { Client } from '@temporalio/client';
import type { Entry } from '../../../store/log/entries.ts';
import type { Store } from '../../../store/values/store.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import { entriesFrom } from '../transcript-reader.ts';
import type { SessionDescription } from '../info.ts';
import { headOf } from '../newest-head.ts';
import { type DiffOptions, findPairs } from './diff-session.ts';

type ChangePorts = MergePorts & { readonly programs: Programs };

export type Applied = {
  /** Paths that were written or deleted, for people. */
  readonly written: readonly string[];
  readonly deleted: readonly string[];
  /** Number of files that already were as the agent left them. */
  readonly same: number;
  readonly conflicts: readonly { readonly path: string; readonly why: ConflictKind }[];
  /** Files that are left alone, for it is not known how the agent left them; absent without any. */
  readonly uncaptured?: readonly { readonly path: string; readonly why: string }[];
};

/**
 * `marked`: both versions stand in the file, between markers. Otherwise the file was left alone.
 */
export type ConflictKind = 'marked' | 'changed_here' | 'not_text' | 'blocked';

/**
 * `folder` is an absolute real path. With `dryRun` nothing is written, and what would be is
 * returned. Throws ClientProblem `refused`, and nothing is written then.
 */
export async function applyChanges(
  ports: ChangePorts,
  pair: Pair,
  folder: string,
  { dryRun = false }: { readonly dryRun?: boolean } = {},
): Promise<Applied> {
  const checkout = new CheckoutFolder(folder, ports.programs);
  const all = await listHeldPairs(ports.reading, pair);
  const left = await findUncaptured(ports.reading, pair, all.map(changeOf));
  const pairs = all.filter(({ path }) => !left.has(path));
  const deleted = new Set(pairs.flatMap(({ path, to }) => (to === null ? [path] : [])));
  const looked: (Plan | Merging)[] = [];
  for (const each of pairs) looked.push(planFile(each, await checkout.look(each.path, deleted)));
  const plans = await planMerges(ports, checkout, looked);
  await refuseChanged(
    ports,
    folder,
    plans.filter(({ kind }) => kind !== 'same').map(({ path }) => path),
  );
  const uncaptured = [...left].map(([path, found]) => ({ path: showPath(path), why: describeUnchanged(found) }));
  const applied = describePlans(dryRun ? plans : await carryOut(ports, checkout, { plans, to: pair.to }));
  return { ...applied, ...(uncaptured.length > 0 && { uncaptured }) };
}

const changeOf = ({ path, from, to }: HeldPair): Pick<SnapshotChange, 'path' | 'kind'> => ({
  path,
  kind: from === null ? 'added' : to === null ? 'deleted' : 'changed',
});

type Plan = { readonly path: RawPath; readonly why?: ConflictKind } & (
  | { readonly kind: 'same' | 'leave' }
  | { readonly kind: 'delete'; readonly before: Stats }
  | {
      readonly kind: 'write';
      readonly mode: string;
      /** The hash of a content that a snapshot has, or one that was merged. */
      readonly content: string | Buffer;
      readonly before: Stats | null;
    }
);

/** A file that differs on both sides. */
type Merging = {
  readonly kind: 'merge';
  readonly path: RawPath;
  readonly here: CheckoutFile & { readonly stats: Stats };
  readonly base: HeldFile | null;
  readonly wanted: HeldFile;
};

function planFile({ path, from, to }: HeldPair, here: Look): Plan | Merging {
  // Where something else is in its place, a file that is not wanted is gone already.
  if (here === 'blocked') return to === null ? { path, kind: 'same' } : { path, kind: 'leave', why: 'blocked' };
  if (isSame(here, to)) return { path, kind: 'same' };
  if (isSame(here, from)) {
    if (to !== null) return { path, kind: 'write', mode: to.mode, content: to.blob, before: here?.stats ?? null };
    // Both are missing, or the file is as the agent found it.
    return here === null ? { path, kind: 'same' } : { path, kind: 'delete', before: here.stats };
  }
  if (here === null || to === null) return { path, kind: 'leave', why: 'changed_here' };
  const isLink = [here, to, from].some((each) => each?.mode === LINK_MODE);
  if (isLink || !here.isText) return { path, kind: 'leave', why: 'not_text' };
  return { path, kind: 'merge', here, base: from, wanted: to };
}

/** Compares contents; the mode of a missing file is that of none. */
function isSame(here: CheckoutFile | null, other: HeldFile | null): boolean {
  if (here === null || other === null) return here === other;
  return here.mode === other.mode && here.blob === other.blob;
}

async function planMerges(
  ports: ChangePorts,
  checkout: CheckoutFolder,
  looked: readonly (Plan | Merging)[],
): Promise<readonly Plan[]> {
  const versions: Versions[] = [];
  for (const each of looked) {
    if (each.kind !== 'merge') continue;
    const here = await checkout.read(each.path);
    if (here === null)
      throw new ClientProblem('refused', `${showPath(each.path)} is being changed: nothing was written`);
    versions.push({ here, base: each.base?.blob ?? null, wanted: each.wanted.blob });
  }
  const merged = await mergeFiles(ports, versions);
  let at = 0;
  return looked.map((each): Plan => {
    if (each.kind !== 'merge') return each;
    const { path, here, wanted } = each;
    const [version, found] = [versions[at], merged[at]];
    at += 1;
    if (!version || !found) return { path, kind: 'leave', why: 'not_text' };
    const { content, isClean } = found;
    if (isClean && here.mode === wanted.mode && content.equals(version.here)) return { path, kind: 'same' };
    const plan = { path, kind: 'write', mode: wanted.mode, content, before: here.stats } as const;
    return isClean ? plan : { ...plan, why: 'marked' };
  });
}

/**
 * Deletes first: a file may take the place of a folder. What has changed meanwhile is left. New
 * files are no more open than in the snapshot `to`.
 */
async function carryOut(
  { reading }: ChangePorts,
  checkout: CheckoutFolder,
  { plans, to }: { readonly plans: readonly Plan[]; readonly to: string },
): Promise<readonly Plan[]> {
  const left = new Map<RawPath, Exclude<Change, 'done'>>();
  const note = (path: RawPath, change: Change): void => {
    if (change !== 'done') left.set(path, change);
  };
  for (const plan of plans) if (plan.kind === 'delete') note(plan.path, await checkout.remove(plan.path, plan.before));
  const writes = plans.filter((plan) => plan.kind === 'write');
  const isNew = writes.some(({ before }) => before === null);
  const permissions = isNew ? (await readSnapshotNotes(reading, to)).permissions : undefined;
  const contents = readBlobs(
    reading,
    writes.flatMap(({ content }) => (typeof content === 'string' ? [content] : [])),
  );
  for (const { content, ...file } of writes) {
    const bytes =
      typeof content === 'string' ? ((await contents.next()).value as readonly [string, Buffer])[1] : content;
    note(file.path, await checkout.write({ ...file, content: bytes, permissions }));
  }
  return plans.map((plan): Plan => {
    const why = left.get(plan.path);
    return why === undefined ? plan : { path: plan.path, kind: 'leave', why };
  });
}

function describePlans(plans: readonly Plan[]): Applied {
  const conflicts = plans.flatMap(({ path, why }) => (why === undefined ? [] : [{ path: showPath(path), why }]));
  const names = (kind: Plan['kind']): readonly string[] =>
    plans.filter((plan) => plan.kind === kind && plan.why === undefined).map(({ path }) => showPath(path));
  return { written: names('write'), deleted: names('delete'), same: names('same').length, conflicts };
}

/** Repositories that an agent could write, also those in the folder, name no program that runs. */
const STATUS =
  '-c core.fsmonitor=false -c core.hooksPath=/dev/null status --porcelain -z --untracked-files=all --no-renames --ignore-submodules=all -- .'.split(
    ' ',
  );
const FLAGS = '-c core.fsmonitor=false ls-files -v -z'.split(' ');
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

/**
 * Throws ClientProblem where a repository has changes of these files that are not committed, or git
 * does not say whether it has.
 */
async function refuseChanged(ports: ChangePorts, folder: string, paths: readonly RawPath[]): Promise<void> {
  const found: RawPath[] = [];
  for (const [below, inside] of byRepository(folder, paths))
    for (const path of await findUncommitted(ports, below === '' ? folder : `${folder}/${showPath(below)}`, inside))
      found.push(below === '' ? path : `${below}/${path}`);
  if (found.length === 0) return;
  const named = found.slice(0, 5).map(showPath).join(', ');
  throw new ClientProblem(
    'refused',
    `${folder} has changes that are not committed of ${named}${found.length > 5 ? ', …' : ''}: commit or stash them first; nothing was written`,
  );
}

/** Sorts paths by the folder, below the one that is changed, whose repository they lie in. */
function byRepository(folder: string, paths: readonly RawPath[]): ReadonlyMap<RawPath, readonly RawPath[]> {
  const known = new Map<RawPath, boolean>();
  const isRepository = (below: RawPath): boolean => {
    const is = known.get(below) ?? existsSync(Buffer.concat([Buffer.from(`${folder}/`), bytesOf(`${below}/.git`)]));
    known.set(below, is);
    return is;
  };
  const sorted = new Map<RawPath, RawPath[]>();
  for (const path of paths) {
    const below = foldersOf(path).find(isRepository) ?? '';
    const inside = below === '' ? path : path.slice(below.length + 1);
    sorted.set(below, [...(sorted.get(below) ?? []), inside]);
  }
  return sorted;
}

/** Returns those of the paths that git shows as changed, or of which it is told not to look. */
async function findUncommitted(
  { reading: { git }, runIn }: ChangePorts,
  folder: string,
  paths: readonly RawPath[],
): Promise<readonly RawPath[]> {
  if (paths.length === 0) return [];
  const { exit, stdout, stderr } = await runIn([git, ...STATUS], folder, await withoutFilters(git, runIn, folder));
  if (exit.code !== 0) {
    if (!foldersUp(folder).some((above) => existsSync(join(above, '.git')))) return [];
    const why = onOneLine(stderr.trim()) || 'git ended without a word';
    throw new ClientProblem(
      'refused',
      `git cannot say whether ${folder} has changes that are not committed: ${why}; nothing was written`,
    );
  }
  const { stdout: prefix } = await runIn([git, 'rev-parse', '--show-prefix'], folder);
  const before = prefix.replace(/\n$/, '');
  const changed = new Set(namesIn(stdout).map((line) => line.slice(3)));
  const { stdout: listed } = await runIn([git, ...FLAGS], folder);
  // `S` is skip-worktree, and a small letter assume-unchanged.
  const unseen = new Set(namesIn(listed).flatMap((line) => (/^[Sa-z] /.test(line) ? [line.slice(2)] : [])));
  const isThere = (path: RawPath): boolean => existsSync(Buffer.concat([Buffer.from(`${folder}/`), bytesOf(path)]));
  return paths.filter((path) => changed.has(`${before}${path}`) || (unseen.has(path) && isThere(path)));
}

// Merges what an agent made of files with what they are in a checkout, all of them by one script.
type MergePorts = {
  readonly reading: ShadowReading;
  readonly runIn: RunInFolder;
  /** The data folder, where versions of a file are merged: no command of an agent writes there. */
  readonly root: string;
};

/** Three versions of a file; the blobs are those of snapshots, and none stands for an empty one. */
type Versions = { readonly here: Buffer; readonly base: string | null; readonly wanted: string };

/** The merged text; null where a version is binary. */
type Merged = { readonly content: Buffer; readonly isClean: boolean } | null;

/** Git's status counts the conflicts, and from 128 on it tells of a failure. */
const SCRIPT = `count=$1; git=$2; at=0
while [ $at -lt $count ]; do
  if [ -e $at.wanted ]; then
    "$git" merge-file -p -L here -L 'before the agent' -L agent $at.here $at.base $at.wanted > $at.merged
    status=$?; [ $status -lt 128 ] || exit $status
    [ $status -eq 0 ] || : > $at.marked
  fi
  at=$((at + 1))
done`;

const NO_SETTINGS = { GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null', LC_ALL: 'C' };
const LONGEST_MS = 30 * 60_000;

/** Returns what became of each, in order. Throws ClientProblem where git cannot merge. */
async function mergeFiles(ports: MergePorts, all: readonly Versions[]): Promise<readonly Merged[]> {
  if (all.length === 0) return [];
  const place = await mkdtemp(join(ports.root, 'merge-'));
  try {
    await writeVersions(ports, place, all);
    const argv = ['sh', '-c', SCRIPT, 'sh', String(all.length), ports.reading.git];
    const { exit, stderr } = await ports.runIn(argv, place, NO_SETTINGS, LONGEST_MS);
    if (exit.code !== 0)
      throw new ClientProblem('refused', `git merge-file failed: ${onOneLine(stderr.trim()) || `${exit.code}`}`);
    const merged: Merged[] = [];
    for (const at of all.keys()) merged.push(await readMerged(join(place, String(at))));
    return merged;
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

/** Writes the versions of those files of which all are text. */
async function writeVersions({ reading }: MergePorts, place: string, all: readonly Versions[]): Promise<void> {
  const ids = all.flatMap(({ base, wanted }) => [...(base === null ? [] : [base]), wanted]);
  const contents = readBlobs(reading, ids);
  const next = async (): Promise<Buffer> => {
    const read = await contents.next();
    return read.done === true ? Buffer.alloc(0) : read.value[1];
  };
  for (const [at, { here, base }] of all.entries()) {
    const versions = { here, base: base === null ? Buffer.alloc(0) : await next(), wanted: await next() };
    if (Object.values(versions).some((version) => version.includes(0))) continue;
    for (const [name, version] of Object.entries(versions)) await writeFile(join(place, `${at}.${name}`), version);
  }
}

async function readMerged(file: string): Promise<Merged> {
  const readIfThere = (end: string): Promise<Buffer | null> => readFile(`${file}.${end}`).catch(() => null);
  const content = await readIfThere('merged');
  return content && { content, isClean: (await readIfThere('marked')) === null };
}

type ApplyPorts = {
  readonly temporal: { readonly client: Client };
  readonly store: Store;
  readonly folder: { readonly root: string };
  readonly sessions: { describe(session: string): Promise<SessionDescription> };
};

type ApplyOptions = Pick<DiffOptions, 'from' | 'to' | 'paths'> & {
  /** The folder that is changed: an absolute path. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Writes nothing, and returns what would be written. */
  readonly dryRun?: boolean;
};

/** Throws ClientProblem when nothing can be applied; nothing was written then. */
export async function applySession(
  { temporal, store, folder: { root }, sessions }: ApplyPorts,
  id: SessionId,
  { folder, env, dryRun = false, ...range }: ApplyOptions,
): Promise<Applied> {
  const { session, cwd } = await sessions.describe(id);
  const entries: Entry[] = [];
  const head = await headOf(temporal.client, session);
  for await (const { entry } of entriesFrom(store, session, head, 0)) entries.push(entry);
  const place = await realpath(folder).catch((error: unknown) => {
    throw new ClientProblem('refused', `${folder} cannot be used: ${reasonOf(error)}`);
  });
  const reading = openShadowReading(root, env, hasPacks(entries));
  const pairs = await findPairs({ session, cwd, reading, store }, { entries, first: 0 }, range);
  const own = pairs.find((pair) => pair.root === cwd);
  if (!own) return { written: [], deleted: [], same: 0, conflicts: [] };
  const ports = { reading, runIn: findGit(root, env).runIn, root, programs: findPrograms(env) };
  return applyChanges(ports, own, place, { dryRun });
}
