// Forks, comparisons and patches of a walk, held against the model (T10, T11).
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Entry } from '../../store/log/entries.ts';
import { showPath } from '../../store/snapshots/listing.ts';
import { until } from '../support/until.ts';
import { checkMade, expectDifference, type IsHeld, type Moment } from './expect-files.ts';
import { compareLooks, foldersOf, isSame, lookAtFolder, pathIn, show, type RawPath } from './look-folder.ts';
import type { Operation } from './operations.ts';
import type { RunRewind } from './go-back.ts';
import { change, compareAround, lookAround, lookNow, readTranscript, type Walk } from './walk.ts';
import { MOST_SESSIONS, keysIn, listPlaces, momentAt, momentBefore, type WalkSession } from './walk-session.ts';

type Fork = Extract<Operation, { readonly kind: 'fork' }>;
type Diff = Extract<Operation, { readonly kind: 'diff' }>;
type Apply = Extract<Operation, { readonly kind: 'apply' }>;

export async function fork(walk: Walk, session: WalkSession, { at, how }: Fork, run: RunRewind): Promise<void> {
  const { problems } = walk;
  if (walk.sessions.length >= MOST_SESSIONS) return;
  const entries = await readTranscript(walk, session.id);
  const places = listPlaces(entries).filter(({ kind }) => kind !== 'outcomes');
  const place = at === null ? null : (places[at % places.length] ?? null);
  const folder = join(walk.place, `fork${(walk.count += 1)}`);
  const [now, around] = [lookAtFolder(session.folder, walk.contents), lookAround(walk, session.folder)];
  const where = how === 'files' ? ['--files', folder] : ['--worktree', folder];
  const ran = await run('fork', session.id, '--json', ...where, ...(place ? ['--at', place.point] : []));
  // The repository of a work tree may be that of another session.
  const changed = [
    ...compareAround(around, lookAround(walk, session.folder, folder)),
    ...compareLooks(now, lookAtFolder(session.folder, walk.contents)),
  ];
  problems.push(...changed.filter((what) => how === 'files' || !isOfWorktrees(what)));
  const made = ran.status === 0 ? (JSON.parse(ran.out) as MadeFork) : null;
  if (made === null || (await areFilesRefused(walk, made))) {
    if (existsSync(folder)) problems.push(`the fork was refused, and its folder is there`);
    const isEmpty = keysIn(entries).length === 0 && ran.err.includes('nothing to fork');
    const isFine = how === 'worktree' || isEmpty || (place && /nothing was before|the fork begins/i.test(ran.err));
    if (!isFine) problems.push(`the fork was refused: ${ran.err}`);
    return;
  }
  const { position } = made.forkedFrom;
  const then = place ? momentBefore(session, entries, position) : session.known;
  if (!then) return void problems.push(`no moment was seen before ${position}`);
  const look = lookAtFolder(folder, walk.contents);
  problems.push(...checkMade(then, look).map((what) => `in the fork ${what}`));
  await noteFork(walk, session, { id: made.session, folder, shared: entries.slice(0, position) });
}

type MadeFork = { readonly session: string; readonly forkedFrom: { readonly position: number } };

/** The command waits for the files only so long, and a busy machine takes longer. */
async function areFilesRefused({ product }: Walk, { session }: MadeFork): Promise<boolean> {
  const { forkFiles } = await until(async () => {
    const seen = await product.sessions.describe(session);
    return seen.forkFiles?.state !== 'pending' && seen;
  });
  return forkFiles?.state === 'refused';
}

/** A work tree has a branch and its place in the repository, where git may pack refs meanwhile. */
const isOfWorktrees = (what: string): boolean =>
  /\.git\/(?:worktrees|packed-refs|refs\/heads\/perdure|logs\/refs\/heads\/perdure)/.test(what);

type Made = { readonly id: string; readonly folder: string; readonly shared: readonly Entry[] };

async function noteFork(walk: Walk, session: WalkSession, { id, folder, shared }: Made): Promise<void> {
  const entries = await readTranscript(walk, id);
  const [expected, is] = [keysIn(shared), keysIn(entries)];
  if (expected.join() !== is.join()) walk.problems.push(`the fork has the turns ${is.join()}, not ${expected.join()}`);
  const known = lookNow(walk, folder, null);
  const held = [...known.held].map(([path, one]): [RawPath, IsHeld] => [path, one === 'no' ? 'maybe' : one]);
  walk.sessions.push({
    id,
    folder,
    turns: new Map(session.turns),
    first: session.first,
    known: { ...known, held: new Map(held) },
    isNext: false,
    floor: shared.length + 1,
    last: null,
    others: new Set(),
    wentOn: false,
  });
}

type ListedFile = { readonly root: string; readonly path: string; readonly kind: string };

export async function diff(walk: Walk, session: WalkSession, asked: Diff): Promise<void> {
  const { problems } = walk;
  const entries = await readTranscript(walk, session.id);
  const places = listPlaces(entries).filter(({ kind }) => kind !== 'user');
  const choose = (nth: number | null): { readonly args: readonly string[]; readonly moment: Moment | null } | null => {
    const place = nth === null ? undefined : places[nth % places.length];
    return place ? { args: [String(place.position)], moment: momentAt(session, entries, place.position) } : null;
  };
  const [from, to] = [choose(asked.from), choose(asked.to)];
  const args = [...(from ? ['--from', ...from.args] : []), ...(to ? ['--to', ...to.args] : [])];
  const [a, b] = [from ? from.moment : session.first, to ? to.moment : session.known];
  if (!a || !b) return void problems.push(`no moment was seen at ${args.join(' ')}`);
  const ran = await walk.product.run('diff', session.id, '--json', ...args);
  // A fork of an empty conversation has captured nothing before its first turn.
  if (ran.status !== 0 && keysIn(entries).length === 0 && ran.err.includes('no files')) return;
  if (ran.status !== 0) return void problems.push(`the comparison failed: ${ran.err}`);
  const { files, patch } = JSON.parse(ran.out) as { readonly files: readonly ListedFile[]; readonly patch: string };
  const { must, may } = expectDifference(a, b);
  const listed = new Map(files.map(({ path, kind }) => [path, kind]));
  for (const [path, kind] of must)
    if (listed.get(showPath(path)) !== kind && !mayBeUncaptured(session, [a, b], path))
      problems.push(
        `the comparison ${args.join(' ')} says of ${show(path)} ${listed.get(showPath(path)) ?? 'nothing'}, not ${kind}`,
      );
  const names = new Set([...must.keys(), ...may].map(showPath));
  for (const path of listed.keys())
    if (!names.has(path)) problems.push(`the comparison ${args.join(' ')} names ${path}, which did not change`);
  if (typeof patch !== 'string') problems.push('the comparison has no patch');
}

/** A file that one of two snapshots lacks may have been there all the same: it is told apart (T2). */
function mayBeUncaptured(
  { floor }: WalkSession,
  [from, to]: readonly [from: Moment, to: Moment],
  path: RawPath,
): boolean {
  const isHeld = ({ held }: Moment): boolean => (held.get(path) ?? 'no') !== 'no';
  const isThere = ({ look }: Moment): boolean => (look.entries.get(path)?.kind ?? 'folder') !== 'folder';
  // What a fork knows of its files is what its origin had left out.
  if (isHeld(from)) return !isHeld(to) && (floor > 0 || isThere(to) || to.rules([path]).has(path));
  return isHeld(to) && (isThere(from) || from.rules([path]).has(path));
}

/** Applies the changes of a session onto a copy of what it began with. */
export async function apply(walk: Walk, session: WalkSession, { edit }: Apply, run: RunRewind): Promise<void> {
  const { problems } = walk;
  // Which of two versions the first capture has of a file is not known.
  if (session.first.meanwhile) return;
  const copy = join(walk.place, `copy${(walk.count += 1)}`);
  writeMoment(walk, session.first, copy);
  const made = lookAtFolder(copy, walk.contents);
  if (edit !== null) change(walk, copy, edit);
  const before = lookAtFolder(copy, walk.contents);
  const around = lookAround(walk, copy);
  if (keysIn(await readTranscript(walk, session.id)).length === 0) return;
  const ran = await run('apply', session.id, '--to-dir', copy);
  problems.push(...compareAround(around, lookAround(walk, copy)));
  if (ran.status !== 0 && edit === null)
    problems.push(`nothing was changed in the copy, and yet: ${ran.out}${ran.err}`);
  const after = lookAtFolder(copy, walk.contents);
  // A repository that was made there has files that are not committed.
  if (ran.status === 2 && edit !== null && / has changes that are not committed of \S+: /.test(ran.err)) {
    problems.push(...compareLooks(before, after).map((what) => `refused, and yet ${what}`));
    return;
  }
  const topOf = (path: RawPath): string => path.split('/')[0] ?? path;
  const edited = new Set(
    [...made.entries.keys(), ...before.entries.keys()]
      .filter((path) => !isSame(made.entries.get(path), before.entries.get(path)))
      .map(topOf),
  );
  const isOpen = new Set(
    [...session.first.held, ...session.known.held].filter(([, held]) => held === 'maybe').map(([path]) => path),
  );
  for (const path of new Set([...session.first.held.keys(), ...session.known.held.keys()])) {
    if (edited.has(topOf(path)) || isOpen.has(path) || mayBeUncaptured(session, [session.first, session.known], path))
      continue;
    const wanted = (session.known.held.get(path) ?? 'no') === 'no' ? undefined : session.known.look.entries.get(path);
    const is = after.entries.get(path);
    if (!isSame(is?.kind === 'folder' ? undefined : is, wanted))
      problems.push(`after it was applied, ${show(path)} is not as the agent left it`);
  }
  for (const path of after.entries.keys()) if (/\.perdure-/.test(path)) problems.push(`${show(path)} was left behind`);
}

/** Writes what a snapshot of a moment may hold into a new folder. */
export function writeMoment(walk: Walk, { look, held }: Moment, folder: string): void {
  mkdirSync(folder);
  const files = [...held].filter(([, is]) => is !== 'no').map(([path]) => path);
  // A checkout of git has no empty folders.
  const folders = files.flatMap(foldersOf);
  for (const path of folders) mkdirSync(pathIn(folder, path), { recursive: true });
  for (const path of files) {
    const seen = look.entries.get(path);
    const [place, bytes] = [pathIn(folder, path), walk.contents.get(seen?.content ?? '')];
    if (seen?.kind === 'link') symlinkSync(bytes, place);
    else {
      writeFileSync(place, bytes);
      chmodSync(place, seen?.mode ?? 0o644);
    }
  }
}

/** Drops what no session reaches, and packs the repository: nothing of these sessions changes. */
export async function collectGarbage(walk: Walk, run: RunRewind): Promise<void> {
  const around = lookAround(walk);
  const ran = await run('gc');
  if (ran.status !== 0) walk.problems.push(`gc failed: ${ran.err}`);
  walk.problems.push(...compareAround(around, lookAround(walk)));
  const snapshots = join(walk.product.data, 'snapshots');
  const checked = spawnSync('git', [`--git-dir=${snapshots}`, 'fsck', '--connectivity-only'], { encoding: 'utf8' });
  if (checked.status !== 0) walk.problems.push(`the snapshots are damaged: ${checked.stderr}`);
}
