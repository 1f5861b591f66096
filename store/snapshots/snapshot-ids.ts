// The hashes by which git is asked for snapshots. They come from transcripts, and git would take
// text of another form for an option, or for another revision.

export const isSnapshotId = (value: unknown): value is string =>
  typeof value === 'string' && /^[0-9a-f]{40}$/.test(value);

/** Throws for anything but an id. */
export function requireSnapshotId(id: string): void {
  if (!isSnapshotId(id)) throw new Error(`${JSON.stringify(id)} is no id of a snapshot`);
}

/** Names a part of a snapshot to git. Throws for anything but an id. */
export function nameTree(id: string, part: 'files' | 'folders'): string {
  requireSnapshotId(id);
  return `${id}:${part}`;
}
