// Names of transcript entries that the read tool opens: what is shown short, or hidden, can be read
// in full (L8–L10).

export type EntryRange = { readonly from: number; readonly to: number };

const ENTRY_NAME = /^perdure:entry\/(\d{1,9})(?:-(\d{1,9}))?$/;

/**
 * Names the entries from `from` up to but not including `to`, by their positions in the session;
 * the name has both ends in it.
 */
export function entryName({ from, to }: EntryRange): string {
  return to - from <= 1 ? `perdure:entry/${from}` : `perdure:entry/${from}-${to - 1}`;
}

/** Reads a name made by `entryName`; undefined for anything else. */
export function parseEntryName(name: string): EntryRange | undefined {
  const found = ENTRY_NAME.exec(name);
  if (!found) return undefined;
  const from = Number(found[1]);
  const to = Number(found[2] ?? found[1]) + 1;
  return from < to ? { from, to } : undefined;
}
