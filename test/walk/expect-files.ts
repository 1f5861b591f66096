// What the files of a folder may be after it has gone back: a pure model of T2 and T7. It knows what
// a snapshot of a moment must hold, may hold and must not hold, and holds the product to that.
import type { KeptRules } from './ask-git.ts';
import {
  compareGit,
  describe,
  foldersOf,
  isExecutable,
  isSame,
  show,
  type FolderLook,
  type RawPath,
  type Seen,
} from './look-folder.ts';

export type Bounds = {
  readonly files: number;
  readonly bytes: number;
  readonly fileBytes: number;
  /** Patterns of ignored files that are captured. */
  readonly include?: readonly string[];
};

/** `maybe`: the contract leaves it open, as for files beyond the bound on their number. */
export type IsHeld = 'yes' | 'maybe' | 'no';

/** A moment at which the product captures a folder. */
export type Moment = {
  readonly look: FolderLook;
  readonly held: ReadonlyMap<RawPath, IsHeld>;
  /** Folders that git does not ignore. */
  readonly folders: ReadonlySet<RawPath>;
  readonly isBeyond: boolean;
  readonly rules: KeptRules;
  /** What came of files that a person changed while it was captured, which may have either. */
  readonly meanwhile?: ReadonlyMap<RawPath, Seen | undefined>;
};

export type Judged = {
  readonly look: FolderLook;
  readonly ignored: ReadonlySet<RawPath>;
  readonly rules: KeptRules;
  readonly bounds: Bounds;
  /** The moment before; null at the first. */
  readonly before: Moment | null;
  /** Whether nothing but captures happened since `before`. */
  readonly isNext: boolean;
};

export function judgeMoment({ look, ignored, rules, bounds, before, isNext }: Judged): Moment {
  const held = new Map<RawPath, IsHeld>();
  let [count, bytes] = [0, 0];
  for (const [path, seen] of look.entries) {
    if (seen.kind === 'folder') continue;
    const is = judgeFile(path, seen);
    held.set(path, is);
    if (is !== 'no') [count, bytes] = [count + 1, bytes + seen.size];
  }
  const isBeyond = count > bounds.files || bytes > bounds.bytes;
  if (isBeyond) for (const [path, is] of held) if (is === 'yes') held.set(path, 'maybe');
  const folders = [...look.entries].filter(([path, { kind }]) => kind === 'folder' && !ignored.has(path));
  return { look, held, folders: new Set(folders.map(([path]) => path)), isBeyond, rules };

  function judgeFile(path: RawPath, { kind, size }: Seen): IsHeld {
    if (kind === 'other' || size > bounds.fileBytes) return 'no';
    if (!ignored.has(path)) return 'yes';
    // What was captured stays captured (T2).
    const was = before?.held.get(path) ?? 'no';
    return was === 'yes' && isNext ? 'yes' : was === 'no' ? 'no' : 'maybe';
  }
}

/** A moment whose folder a person has changed right after it was looked at. */
export function withMeanwhile(moment: Moment, after: FolderLook): Moment {
  const { entries } = moment.look;
  const paths = [...new Set([...entries.keys(), ...after.entries.keys()])];
  const changed = paths.filter((path) => !isSame(entries.get(path), after.entries.get(path)));
  const unsure = changed.map((path): [RawPath, IsHeld] => [path, 'maybe']);
  const meanwhile = new Map(changed.map((path) => [path, after.entries.get(path)]));
  return { ...moment, held: new Map([...moment.held, ...unsure]), meanwhile };
}

export type Going = {
  /** The folder right before, and what the session knows of it. */
  readonly now: Moment;
  readonly known: Moment;
  readonly past: Moment;
  /** Empty folders that others have made before the rewinds so far. */
  readonly others: ReadonlySet<RawPath>;
  readonly force: boolean;
};

export type Expected = {
  /** Why it must be refused, by path. */
  readonly stops: ReadonlyMap<RawPath, string>;
  /** Why it may be refused. */
  readonly mayStop: ReadonlyMap<RawPath, string>;
  /** What may lie at each path afterwards; undefined stands for nothing. */
  readonly allowed: ReadonlyMap<RawPath, readonly (Seen | undefined)[]>;
};

export function expectFiles(going: Going): Expected {
  const allowed = listAllowed(going);
  const stops = new Map<RawPath, string>();
  const mayStop = new Map<RawPath, string>();
  const stop = (path: RawPath, why: string, isSure: boolean): void => void (isSure ? stops : mayStop).set(path, why);
  for (const [path, outcomes] of allowed) {
    const now = seenAt(going.now, path);
    const isKept = outcomes.some((one) => isSame(one, now));
    const isSure = !isKept;
    if (outcomes.every((one) => isSame(one, now))) {
      if (isPermittedByOthers(going, path)) stop(path, 'someone else has changed its permissions', false);
      continue;
    }
    findForeign(going, path, (why, sure) => stop(path, why, isSure && sure));
    if (outcomes.some((one) => one !== undefined && !isSame(one, now)))
      findUnheldInTheWay(going, allowed, path, (at, sure) => stop(at, 'no snapshot holds it', isSure && sure));
  }
  for (const folder of emptyFolders(going.past))
    if (going.now.look.entries.get(folder)?.kind !== 'folder')
      findUnheldInTheWay(going, allowed, folder, (at, sure) => stop(at, 'no snapshot holds it', sure));
  return { stops, mayStop, allowed };
}

function listAllowed({ now, past }: Going): Expected['allowed'] {
  const paths = [...new Set([...now.held.keys(), ...past.held.keys()])];
  const absent = paths.filter((path) => !past.held.has(path));
  const ignoredThen = past.rules(absent);
  const allowed = new Map<RawPath, readonly (Seen | undefined)[]>();
  for (const path of paths) {
    const [is, was] = [seenAt(now, path), seenAt(past, path)];
    const heldNow = now.held.get(path) ?? 'no';
    const heldThen = past.held.get(path) ?? 'no';
    if (past.meanwhile?.has(path)) allowed.set(path, [was, past.meanwhile.get(path), is]);
    else if (was) allowed.set(path, heldThen === 'yes' ? [was] : heldThen === 'maybe' ? [was, is] : [is]);
    else if (heldNow === 'no' || ignoredThen.has(path)) allowed.set(path, [is]);
    else allowed.set(path, heldNow === 'maybe' || past.isBeyond ? [is, undefined] : [undefined]);
  }
  return allowed;
}

/** What lies at a path, unless it is a folder. */
function seenAt({ look }: Moment, path: RawPath): Seen | undefined {
  const seen = look.entries.get(path);
  return seen?.kind === 'folder' ? undefined : seen;
}

/** A file that others have changed since the session knew it stops what would overwrite it (T7). */
function findForeign({ now, known, force }: Going, path: RawPath, found: (why: string, isSure: boolean) => void): void {
  const isUnsure = known.meanwhile?.has(path) ?? false;
  if (force) return;
  if (!isUnsure && isSame(now.look.entries.get(path), known.look.entries.get(path))) {
    if (known.held.get(path) === 'maybe') found('it may not have been captured', false);
    return;
  }
  const isSure = !isUnsure && (now.held.get(path) ?? 'yes') === 'yes';
  found('someone else has changed it', isSure);
}

/** Permissions are captured, too: whether those that others gave a file would be taken back. */
function isPermittedByOthers({ now, known, past, force }: Going, path: RawPath): boolean {
  const [is, was, then] = [now, known, past].map((moment) => seenAt(moment, path)?.mode);
  return !force && is !== was && is !== then;
}

/** What no snapshot holds is in the way of what is to be written at `path`. */
function findUnheldInTheWay(
  { now }: Going,
  allowed: Expected['allowed'],
  path: RawPath,
  found: (path: RawPath, isSure: boolean) => void,
): void {
  const judge = (at: RawPath): void => {
    const held = now.held.get(at) ?? 'no';
    const goes = allowed.get(at) ?? [undefined];
    const stays = goes.some((one) => one !== undefined && isSame(one, now.look.entries.get(at)));
    if (held !== 'yes') found(at, held === 'no');
    else if (at !== path && stays) found(at, goes.length === 1);
  };
  for (const at of [path, ...foldersOf(path)]) {
    const there = now.look.entries.get(at);
    if (there && there.kind !== 'folder') judge(at);
  }
  if (now.look.entries.get(path)?.kind !== 'folder') return;
  for (const [below, { kind }] of now.look.entries) if (kind !== 'folder' && below.startsWith(`${path}/`)) judge(below);
  for (const below of now.look.git.keys()) if (below.startsWith(`${path}/`)) found(below, true);
}

/** Folders of a moment that have no captured file in them. */
export function emptyFolders({ folders, held }: Moment): ReadonlySet<RawPath> {
  const full = new Set<RawPath>();
  for (const [path, is] of held) if (is !== 'no') for (const folder of foldersOf(path)) full.add(folder);
  const empty = [...folders].filter((folder) => !full.has(folder));
  return new Set(empty);
}

/** Returns what is wrong with a folder that has gone back. */
export function checkFiles(going: Going, { allowed }: Expected, after: FolderLook): readonly string[] {
  const problems: string[] = [];
  for (const [path, outcomes] of allowed) {
    const is = after.entries.get(path);
    const file = is?.kind === 'folder' ? undefined : is;
    if (!outcomes.some((one) => isSame(one, file)))
      problems.push(`${show(path)} is ${describe(file)}, not ${outcomes.map(describe).join(' or ')}`);
    else problems.push(...checkKept(going, path, file));
  }
  for (const [path, seen] of after.entries)
    if (seen.kind !== 'folder' && !allowed.has(path))
      problems.push(`${show(path)} is ${describe(seen)}, and was never`);
  problems.push(...checkFolders(going, after), ...compareGit(going.now.look, after));
  return problems;
}

/** What does not differ is not written anew, and permissions stay. */
function checkKept({ now, past }: Going, path: RawPath, is: Seen | undefined): readonly string[] {
  const [before, was] = [now.look.entries.get(path), past.look.entries.get(path)];
  if (!is || !before || before.kind === 'folder') return [];
  if (isSame(before, is)) {
    if (before.mode !== is.mode && was?.mode !== is.mode)
      return [`the mode of ${show(path)} became ${is.mode.toString(8)}, and it did not differ`];
    return before.identity === is.identity || before.mode !== is.mode ? [] : [`${show(path)} was written anew`];
  }
  if (is.kind !== 'file' || before.kind !== 'file' || !was || isExecutable(before) !== isExecutable(is)) return [];
  return [before.mode, was.mode].includes(is.mode)
    ? []
    : [`the mode of ${show(path)} is ${is.mode.toString(8)}, and was ${before.mode.toString(8)}`];
}

/** Empty folders that others have made: a rewind leaves them (T7). */
export function findOthersFolders({ now, known, past, others }: Going): ReadonlySet<RawPath> {
  const ours = new Set([...emptyFolders(known), ...emptyFolders(past)]);
  return new Set([...emptyFolders(now)].filter((folder) => others.has(folder) || !ours.has(folder)));
}

function checkFolders(going: Going, after: FolderLook): readonly string[] {
  const { now, known, past } = going;
  const problems: string[] = [];
  const others = findOthersFolders(going);
  const isFolder = (look: FolderLook, path: RawPath): boolean => look.entries.get(path)?.kind === 'folder';
  for (const path of emptyFolders(past))
    if (!isFolder(after, path)) problems.push(`the empty folder ${show(path)} is not there again`);
  const filled = new Set([...after.entries.keys(), ...after.git.keys()].flatMap(foldersOf));
  const appeared = [...now.folders].filter((path) => !past.look.entries.has(path));
  // A rule for folders alone does not match the path of one that is not there.
  const inside = (path: RawPath): RawPath => `${path}/inside`;
  const ignoredThen = past.rules(appeared.map(inside));
  for (const path of appeared)
    if (others.has(path)) {
      if (!isFolder(after, path) && !known.look.entries.has(path))
        problems.push(`the folder ${show(path)}, which others made, is gone`);
    } else if (isFolder(after, path) && !filled.has(path) && !ignoredThen.has(inside(path)) && !past.isBeyond)
      problems.push(`the folder ${show(path)} was not there then, and stayed`);
  for (const [path, seen] of now.look.entries) {
    const was = past.look.entries.get(path);
    if (seen.kind !== 'folder' || was?.kind !== 'folder') continue;
    const is = after.entries.get(path);
    if (is?.kind !== 'folder') problems.push(`the folder ${show(path)} is gone`);
    else if (![seen.mode, was.mode].includes(is.mode))
      problems.push(`the mode of the folder ${show(path)} became ${is.mode.toString(8)}`);
  }
  return problems;
}

/** Names that a comparison of two moments must have, and those that it may have. */
export function expectDifference(
  from: Moment,
  to: Moment,
): { readonly must: ReadonlyMap<RawPath, string>; readonly may: ReadonlySet<RawPath> } {
  const must = new Map<RawPath, string>();
  const may = new Set<RawPath>();
  for (const path of new Set([...from.held.keys(), ...to.held.keys()])) {
    const [was, is] = [from, to].map(({ held }) => held.get(path) ?? 'no');
    const [a, b] = [was === 'no' ? undefined : seenAt(from, path), is === 'no' ? undefined : seenAt(to, path)];
    // Permissions alone may be told as a change.
    if (was === 'maybe' || is === 'maybe' || (isSame(a, b) && a?.mode !== b?.mode)) may.add(path);
    else if (!isSame(a, b)) must.set(path, a === undefined ? 'added' : b === undefined ? 'deleted' : 'changed');
  }
  for (const [path, { kind, mode }] of from.look.entries) {
    const is = to.look.entries.get(path);
    if (kind === 'folder' && is?.kind === 'folder' && mode !== is.mode) may.add(`${path}/`);
  }
  return { must, may };
}

/** Returns what is wrong with a folder that was made from a moment (T10). */
export function checkMade(past: Moment, made: FolderLook): readonly string[] {
  const problems: string[] = [];
  for (const [path, held] of past.held) {
    const [was, is] = [seenAt(past, path), made.entries.get(path)];
    if (held === 'yes' && !isSame(was, is)) problems.push(`${show(path)} is ${describe(is)}, not ${describe(was)}`);
  }
  for (const [path, is] of made.entries) {
    if (is.kind === 'folder') {
      if (past.look.entries.get(path)?.kind !== 'folder') problems.push(`the folder ${show(path)} was not there then`);
    } else if ((past.held.get(path) ?? 'no') === 'no') problems.push(`${show(path)} was not captured, and is there`);
    else if (![seenAt(past, path), past.meanwhile?.get(path)].some((one) => isSame(is, one)))
      problems.push(`${show(path)} is ${describe(is)}`);
  }
  for (const path of emptyFolders(past))
    if (made.entries.get(path)?.kind !== 'folder') problems.push(`the empty folder ${show(path)} is missing`);
  return problems;
}
