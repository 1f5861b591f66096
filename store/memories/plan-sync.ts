// Plans how to sync a folder with its memory store (G67). Pure. If both sides changed a memory, the
// folder's text becomes the newest version and the other the one before; what one side deleted and
// the other changed stays.
import type { Memory } from './memories.ts';

/** `memory`: what the store holds under the path. */
export type SyncStep =
  /** Both sides are equal. */
  | { readonly do: 'keep'; readonly path: string; readonly sha256: string }
  | { readonly do: 'removeFile'; readonly path: string }
  | { readonly do: 'deleteMemory'; readonly path: string; readonly memory: Memory }
  | { readonly do: 'writeFile'; readonly path: string; readonly memory: Memory }
  /** `isOver`: somebody else has changed the memory meanwhile. */
  | { readonly do: 'writeMemory'; readonly path: string; readonly memory?: Memory; readonly isOver: boolean };

/** Hashes of texts by the paths of memories. */
export type Hashes = ReadonlyMap<string, string>;

export type Sides = {
  /** What both sides held at the end of the last sync. */
  readonly base: Hashes;
  readonly local: Hashes;
  readonly remote: ReadonlyMap<string, Memory>;
  /** The folder takes after the store, whatever is in it. */
  readonly readOnly: boolean;
  /**
   * Tells whether a memory had the text after it had the one of `since`: where another is newer, a
   * worker died before it noted that both sides held this one.
   */
  readonly wasHeld: (memory: Memory, sha256: string, since: string | undefined) => boolean;
};

const ORDER: readonly SyncStep['do'][] = ['keep', 'removeFile', 'deleteMemory', 'writeFile', 'writeMemory'];

/** Removals come first: a path may be free for a folder then. */
export function planSync(sides: Sides): readonly SyncStep[] {
  const { base, local, remote } = sides;
  return [...new Set([...base.keys(), ...local.keys(), ...remote.keys()])]
    .map((path) => planPath(sides, path))
    .filter((step) => step !== null)
    .toSorted((a, b) => ORDER.indexOf(a.do) - ORDER.indexOf(b.do));
}

function planPath({ base, local, remote, readOnly, wasHeld }: Sides, path: string): SyncStep | null {
  const [before, own, memory] = [base.get(path), local.get(path), remote.get(path)];
  if (own === memory?.sha256) return own === undefined ? null : { do: 'keep', path, sha256: own };
  const takeRemote: SyncStep = memory ? { do: 'writeFile', path, memory } : { do: 'removeFile', path };
  if (readOnly || own === before) return takeRemote;
  const isOver = memory !== undefined && memory.sha256 !== before;
  if (own !== undefined && isOver && wasHeld(memory, own, before)) return takeRemote;
  if (own !== undefined) return { do: 'writeMemory', path, ...(memory && { memory }), isOver };
  return memory && !isOver ? { do: 'deleteMemory', path, memory } : takeRemote;
}
