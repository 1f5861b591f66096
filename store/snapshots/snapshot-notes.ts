// The notes of a snapshot (T2): unusual permissions, omissions with their reasons, and the rules by
// which files were ignored. A rewind judges by them what was there then and what was not (T7).
// Paths are bytes, kept as latin1.
import { createHash } from 'node:crypto';
import { parseIgnoreFile, parseIgnoreLines, isIgnored, type IgnoreRule, type IgnoreRules } from './ignore-rules.ts';
import type { FoundFile, IndexedFolder, OmittedWhy, RulesInForce } from './folder-index.ts';
import { isGitsOwn } from './read-beginning.ts';
import { foldersOf, namesIn, type RawPath } from './listing.ts';

/**
 * Permissions by path; a folder's ends with a slash, and `./` is the captured one. What is missing
 * has those that the umask gives to a new one. Without a umask nothing is known of permissions.
 */
export type PermissionsNote = {
  readonly umask: number | null;
  readonly odd: ReadonlyMap<RawPath, number>;
  /** Earlier versions noted neither the captured folder itself nor sticky and set-group-ID bits. */
  readonly isOfOldKind: boolean;
};

/** The captured folder in a note. */
export const ITSELF: RawPath = './';

/** Returns a path of a note without the slash of a folder; empty for the captured one. */
export const barePath = (path: RawPath): RawPath => (path === ITSELF ? '' : path.replace(/\/$/, ''));

/** The permissions that a new file, or a new folder, gets where nobody says otherwise. */
const usualPermissions = (mode: string, umask: number): number =>
  (mode === FOLDER || mode === '100755' ? 0o777 : 0o666) & ~umask;

const LINK = '120000';
const FOLDER = 'folder';

/** The umasks that people have, the most common first. */
const UMASKS = [0o022, 0o002, 0o077, 0o027, 0o007];

/**
 * Returns the umask under which most files seem to have been made, whatever that of this process
 * is: a note is short with it. `counts` are numbers of files by their permissions.
 */
export function guessUmask(counts: ReadonlyMap<number, number>): number {
  const countOf = (umask: number): number => counts.get(usualPermissions('100644', umask)) ?? 0;
  return UMASKS.reduce((best, umask) => (countOf(umask) > countOf(best) ? umask : best));
}

/** Collects what is unusual in one folder, as lines of the note. */
export function listPermissions(
  { files, folders, parent, permissions: ofItself }: IndexedFolder,
  path: RawPath,
  umask: number,
): readonly string[] {
  const line = (permissions: number, name: RawPath): string => `${permissions.toString(8)} ${path}${name}`;
  const isUsual = parent !== null || ofItself === usualPermissions(FOLDER, umask);
  const own = [...files].flatMap(([name, { mode, permissions }]) =>
    mode === LINK || permissions === usualPermissions(mode, umask) ? [] : [line(permissions, name)],
  );
  const below = [...folders].flatMap(([name, { permissions }]) =>
    permissions === usualPermissions(FOLDER, umask) ? [] : [line(permissions, `${name}/`)],
  );
  return [...(isUsual ? [] : [line(ofItself, ITSELF)]), ...own, ...below];
}

/** Has the lines of a note made anew. */
export function forgetOdd(folder: IndexedFolder): void {
  folder.odd = null;
  for (const child of folder.folders.values()) forgetOdd(child);
}

export const formatPermissions = (odd: readonly string[], umask: number): string =>
  [`${USUAL} ${umask.toString(8)}`, ...odd.toSorted()].join('\0');

/** Begins a note. */
const USUAL = 'usual';
/** Began the notes of earlier versions. */
const UMASK = 'umask';

export function parsePermissions(note: string): PermissionsNote {
  const lines = namesIn(note).flatMap(parseLine);
  const [first] = lines;
  const isOfOldKind = first?.[0] === UMASK;
  if (!first || (!isOfOldKind && first[0] !== USUAL)) return { umask: null, odd: new Map(), isOfOldKind };
  return {
    isOfOldKind,
    umask: parseInt(first[1], 8),
    odd: new Map(lines.slice(1).map(([bits, path]) => [path, parseInt(bits, 8)])),
  };
}

/**
 * Returns what a path had; `mode` is that of git, or `folder`. Undefined where nothing is known.
 */
export function permissionsAt(
  { umask, odd, isOfOldKind }: PermissionsNote,
  path: RawPath,
  mode: string,
): number | undefined {
  if (umask === null || mode === LINK || (path === '' && isOfOldKind)) return undefined;
  const name = mode !== FOLDER ? path : path === '' ? ITSELF : `${path}/`;
  const noted = odd.get(name) ?? usualPermissions(mode, umask);
  // Nothing is known of a file that could not be read.
  return noted < 0 ? undefined : noted;
}

/** Splits a line of a note at its first blank. */
function parseLine(line: string): readonly (readonly [first: string, path: RawPath])[] {
  const at = line.indexOf(' ');
  return at < 0 ? [] : [[line.slice(0, at), line.slice(at + 1)]];
}

/** More are not listed one by one: nothing counts as absent then. */
const MOST_OMITTED = 20_000;
const ALL = 'all ';

export function formatOmitted(omitted: readonly Omitted[]): string {
  const lines = omitted.map(({ path, why }) => `${why} ${path}`);
  const rest = lines.slice(MOST_OMITTED).toSorted().join('\0');
  // The note is another where the rest is.
  const more = rest === '' ? [] : [`${ALL}${createHash('sha256').update(rest, 'latin1').digest('hex')}`];
  return [...lines.slice(0, MOST_OMITTED).toSorted(), ...more].join('\0');
}

/** A folder's path ends with a slash, and stands for all that is in it. */
export type Omitted = { readonly path: RawPath; readonly why: OmittedWhy };

export function collectOmitted({ omitted, folders }: IndexedFolder, path: RawPath, into: Omitted[]): void {
  for (const [name, why] of omitted) into.push({ path: `${path}${name}`, why });
  for (const [name, child] of folders) collectOmitted(child, `${path}${name}/`, into);
}

type StoredRules = { readonly prefix: RawPath; readonly above?: RawPath; readonly lines: readonly string[] };

/** The note on rules, as JSON of ASCII. */
type RulesNote = {
  readonly include: readonly string[];
  readonly above: readonly StoredRules[];
  readonly repositories: Readonly<Record<RawPath, readonly StoredRules[]>>;
  readonly uncaptured: Readonly<Record<RawPath, readonly string[]>>;
  /** Absent without any, and in earlier snapshots. */
  readonly ignoringCase?: readonly RawPath[];
  /** Absent where the folder is the top of a repository, and in earlier snapshots. */
  readonly isRepository?: false;
};

const linesOf = (rules: readonly IgnoreRule[]): readonly string[] => rules.map(({ line }) => line);

const toStored = ({ prefix, above, rules }: IgnoreRules): StoredRules => ({
  prefix,
  ...(above !== undefined && { above }),
  lines: linesOf(rules),
});

export function formatRules(inForce: RulesInForce, include: readonly string[]): string {
  const { above, repositories, uncaptured, ignoringCase, isRepository } = inForce;
  const hasLines = ({ lines }: StoredRules): boolean => lines.length > 0;
  const note: RulesNote = {
    include,
    above: above.map(toStored).filter(hasLines),
    repositories: Object.fromEntries(
      [...repositories].map(([path, rules]) => [path, rules.map(toStored).filter(hasLines)]),
    ),
    uncaptured: Object.fromEntries([...uncaptured].map(([path, rules]) => [path, linesOf(rules)])),
    ...(ignoringCase.length > 0 && { ignoringCase }),
    ...(!isRepository && { isRepository }),
  };
  return JSON.stringify(note).replace(
    /[\x7f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** The notes of a snapshot; `rules` is null in snapshots from before these were stored. */
export type SnapshotNotes = {
  readonly permissions: PermissionsNote;
  readonly omitted: ReadonlyMap<RawPath, OmittedWhy>;
  /** Whether more was left out than is listed. */
  readonly isOmittedInPart: boolean;
  readonly rules: RulesNote | null;
};

export function parseNotes(notes: {
  readonly modes: string;
  readonly omitted: string;
  readonly rules: string;
}): SnapshotNotes {
  const lines = namesIn(notes.omitted);
  const omitted = lines.filter((line) => !line.startsWith(ALL)).flatMap(parseLine);
  return {
    permissions: parsePermissions(notes.modes),
    omitted: new Map(omitted.map(([why, path]) => [path, why as OmittedWhy])),
    isOmittedInPart: lines.some((line) => line.startsWith(ALL)),
    rules: notes.rules === '' ? null : (JSON.parse(notes.rules) as RulesNote),
  };
}

/** Lists git's own folders below the folder: those of repositories, and those by another name. */
export function listGitFolders({ omitted, rules }: SnapshotNotes): readonly RawPath[] {
  const own = [...omitted].flatMap(([path, why]) => (why === 'git' ? [ownerOf(path)] : []));
  return [...Object.keys(rules?.repositories ?? {}).map((path) => `${path}.git`), ...new Set(own)];
}

/** Git's own files beside others are left out one by one. */
function ownerOf(path: RawPath): RawPath {
  const [, folder = '', name = ''] = /^(.*\/)?([^/]+)\/?$/s.exec(path) ?? [];
  return isGitsOwn(name) && folder !== '' ? folder.slice(0, -1) : `${folder}${name}`;
}

/** Why a file that a snapshot does not have may have been there all the same. */
export type UncapturedWhy = OmittedWhy | 'ignored';

/** The text of the `.gitignore` of a folder in the snapshot; undefined without one. */
type IgnoreFileOf = (folder: RawPath) => string | undefined;

/**
 * Returns a judge of paths that a snapshot does not have: why one may have been there when it was
 * taken, null where nothing was. Earlier snapshots without rules are judged by their own
 * `.gitignore` files alone.
 */
export function judgeAbsence(
  notes: SnapshotNotes,
  ignoreFileOf: IgnoreFileOf,
): (path: RawPath) => UncapturedWhy | null {
  const { omitted, isOmittedInPart, rules } = notes;
  const stackOf = createStacks(rules, ignoreFileOf);
  const include = [{ prefix: '', rules: parseIgnoreLines(rules?.include ?? [], false) }];
  const includesPaths = include.some((one) => one.rules.some((rule) => !rule.isOfName));
  const isLeft = (path: RawPath, isFolder: boolean): boolean => {
    const above = path.slice(0, path.lastIndexOf('/') + 1);
    return isIgnored(stackOf(above), path, isFolder) && !isIgnored(include, path, isFolder);
  };
  return (path) => {
    const folders = foldersOf(path).toReversed();
    const over = [path, ...folders.map((folder) => `${folder}/`)].map((one) => omitted.get(one)).find(Boolean);
    if (over) return over;
    // A folder may have taken the place of something else since.
    const replaced = folders.map((folder) => omitted.get(folder)).find(Boolean);
    if (replaced) return replaced;
    const isBelowLeft = folders.some((folder) => isLeft(folder, true));
    const isIncluded = isIgnored(include, path, false) && (!isBelowLeft || includesPaths);
    if (!isIncluded && (isBelowLeft || isLeft(path, false))) return 'ignored';
    return isOmittedInPart ? 'files' : null;
  };
}

type Stack = {
  readonly rules: readonly IgnoreRules[];
  /** Whether the repository of the folder ignores the case of names. */
  readonly ignoresCase: boolean;
};

/** Stacks the rules for what lies in a folder, the weakest first, as a look does. */
function createStacks(
  rules: RulesNote | null,
  ignoreFileOf: IgnoreFileOf,
): (folder: RawPath) => readonly IgnoreRules[] {
  const ignoring = new Set(rules?.ignoringCase);
  const stackOfRepository = (path: RawPath, stored: readonly StoredRules[]): Stack => {
    const ignoresCase = ignoring.has(path);
    const parse = ({ lines, ...where }: StoredRules): IgnoreRules => ({
      ...where,
      rules: parseIgnoreLines(lines, ignoresCase),
    });
    return { rules: stored.map(parse), ignoresCase };
  };
  const stacks = new Map<RawPath, Stack>();
  const stackOf = (folder: RawPath): Stack => {
    const known = stacks.get(folder);
    if (known) return known;
    const own = folder === '' ? (rules?.above ?? []) : rules?.repositories[folder];
    const parent = folder.slice(0, folder.lastIndexOf('/', folder.length - 2) + 1);
    const outer = own ? stackOfRepository(folder, own) : stackOf(parent);
    const read = readRules(folder, outer.ignoresCase);
    const stack = read ? { ...outer, rules: [...outer.rules, { prefix: folder, rules: read }] } : outer;
    stacks.set(folder, stack);
    return stack;
  };
  const readRules = (folder: RawPath, ignoresCase: boolean): readonly IgnoreRule[] | undefined => {
    const lines = rules?.uncaptured[folder];
    if (lines) return parseIgnoreLines(lines, ignoresCase);
    const text = ignoreFileOf(folder);
    return text === undefined ? undefined : parseIgnoreFile(text, ignoresCase);
  };
  return (folder) => stackOf(folder).rules;
}

/** Says why snapshots leave a file out; null when they take it. */
export function whyNot(stats: FoundFile['stats'], { fileBytes }: { readonly fileBytes: number }): OmittedWhy | null {
  if (!stats.isFile() && !stats.isSymbolicLink()) return 'no_file';
  return stats.size > fileBytes ? 'large' : null;
}
