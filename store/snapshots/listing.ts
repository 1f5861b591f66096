// Reads what git lists of a folder. Names are bytes: they are kept as latin1 texts, one character a
// byte, until they are shown.

/** Bytes of a name as latin1. */
export type RawPath = string;

export function namesIn(printed: string): readonly RawPath[] {
  return printed.split('\0').filter((name) => name !== '');
}

/** A line of `git ls-tree`. */
export type TreeLine = { readonly mode: string; readonly kind: string; readonly id: string; readonly path: RawPath };

/** Parses what `git ls-tree -z` printed. */
export function parseTree(printed: string): readonly TreeLine[] {
  return namesIn(printed).map((line) => {
    const end = line.indexOf('\t');
    const [mode = '', kind = '', id = ''] = line.slice(0, end).split(' ');
    return { mode, kind, id, path: line.slice(end + 1) };
  });
}

export const bytesOf = (path: RawPath): Buffer => Buffer.from(path, 'latin1');

/** Tells whether a change is one of a folder's permissions. */
export const isFolder = (path: RawPath): boolean => path.endsWith('/');

/** Returns the folders above a path, nearest first. */
export function foldersOf(path: RawPath): readonly RawPath[] {
  const found: RawPath[] = [];
  for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) found.push(path.slice(0, at));
  return found;
}

/**
 * Tells whether a path, of a folder with a slash or without, is one of these folders or below it.
 */
export const isAtOrBelow = (path: RawPath, folders: readonly RawPath[]): boolean =>
  folders.some((folder) => path === folder || path.startsWith(`${folder}/`));

/** Shows a name as UTF-8, with each invalid byte as `\xNN`. */
export function showPath(path: RawPath): string {
  const bytes = bytesOf(path);
  const text = bytes.toString('utf8');
  if (Buffer.from(text, 'utf8').equals(bytes)) return text;
  return path.replace(/[^\x20-\x7e]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

export type ChangeKind = 'added' | 'changed' | 'deleted';

/**
 * `insertions` and `deletions` are lines; null for a file that is not text. The path of a folder,
 * whose permissions have changed, ends with a slash.
 */
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
