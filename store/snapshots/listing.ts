// Reads what git lists of a folder. Names are bytes: they are kept as latin1 texts, one character a
// byte, until they are shown.

/** Bytes of a name as latin1. */
export type RawPath = string;

export type Listing = {
  /** Files that may have changed since they were captured, or are gone. */
  readonly known: readonly RawPath[];
  /** Files that were not captured before. */
  readonly added: readonly RawPath[];
  /** Folders that are repositories of their own, which git does not look into. */
  readonly repositories: readonly RawPath[];
  /** Folders without a captured file. */
  readonly folders: readonly RawPath[];
};

/** Separates what the two commands of a listing print: no name is empty. */
const BETWEEN = '\0\0';

/**
 * Lists files and then folders. Arguments: the folder, a pattern that leaves one in it out, or
 * nothing, and git with its settings. Git takes a folder that it stands in for the whole.
 */
export const LIST_SCRIPT = [
  'cd -- "$1"',
  'own=$2',
  'shift 2',
  '"$@" ls-files -z -t --others --modified --deleted ${own:+-x "$own"} --exclude-standard',
  `printf '\\0\\0'`,
  '"$@" ls-files -z --others --directory ${own:+-x "$own"} --exclude-standard',
].join(' && ');

/** Returns the pattern of a folder below the one that is listed, by its path from there. */
export const patternOf = (path: string): string => `/${path.replace(/[\\*?[]/g, '\\$&')}/`;

/** What `-t` prints before a file that was not captured yet. */
const OTHER = '? ';

export function parseListing(printed: string): Listing {
  const at = printed.startsWith(BETWEEN) ? 0 : printed.indexOf(`\0${BETWEEN}`) + 1;
  const tagged = namesIn(printed.slice(0, at));
  const others = tagged.filter((line) => line.startsWith(OTHER)).map((line) => line.slice(OTHER.length));
  const known = new Set(tagged.filter((line) => !line.startsWith(OTHER)).map((line) => line.slice(OTHER.length)));
  const repositories = others.filter(isFolder);
  const filled = new Set([...repositories, ...others.flatMap(foldersAbove), ...[...known].flatMap(foldersAbove)]);
  const all = namesIn(printed.slice(at + BETWEEN.length));
  return {
    known: [...known],
    added: others.filter((path) => !isFolder(path)),
    repositories,
    folders: all.filter((path) => isFolder(path) && !filled.has(path)),
  };
}

function foldersAbove(path: RawPath): readonly RawPath[] {
  const found: RawPath[] = [];
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) found.push(path.slice(0, at + 1));
  return found;
}

const isFolder = (path: RawPath): boolean => path.endsWith('/');

export function namesIn(printed: string): readonly RawPath[] {
  return printed.split('\0').filter((name) => name !== '');
}

export const bytesOf = (path: RawPath): Buffer => Buffer.from(path, 'latin1');

/** Shows a name: as UTF-8, or with each byte that is none as `\xNN`. */
export function showPath(path: RawPath): string {
  const bytes = bytesOf(path);
  const text = bytes.toString('utf8');
  if (Buffer.from(text, 'utf8').equals(bytes)) return text;
  return path.replace(/[^\x20-\x7e]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

export type ChangeKind = 'added' | 'changed' | 'deleted';

/** `insertions` and `deletions` are lines; null for a file that is not text. */
export type SnapshotChange = {
  readonly path: RawPath;
  readonly kind: ChangeKind;
  readonly insertions: number | null;
  readonly deletions: number | null;
};

const KINDS: Readonly<Record<string, ChangeKind>> = { A: 'added', D: 'deleted' };

/**
 * Parses `diff-tree -r -z --raw --numstat --no-renames`: first an entry of status and path for each
 * file, then the counts of each.
 */
export function parseChanges(printed: string): readonly SnapshotChange[] {
  const fields = printed.split('\0');
  const kinds = new Map<RawPath, ChangeKind>();
  const changes: SnapshotChange[] = [];
  for (let at = 0; at < fields.length; at += 1) {
    const field = fields[at] as string;
    if (field.startsWith(':')) {
      const status = field.slice(field.lastIndexOf(' ') + 1);
      kinds.set(fields[(at += 1)] ?? '', KINDS[status[0] ?? ''] ?? 'changed');
      continue;
    }
    const [insertions, deletions, ...name] = field.split('\t');
    if (name.length === 0) continue;
    const path = name.join('\t');
    const count = (text: string | undefined): number | null => (text === '-' ? null : Number(text));
    const kind = kinds.get(path) ?? 'changed';
    changes.push({ path, kind, insertions: count(insertions), deletions: count(deletions) });
  }
  return changes;
}
