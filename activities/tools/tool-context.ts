// What a tool is given besides its input, made from what the executor knows.
import { type CallKey, type Hash, keyHead, type SessionId } from '../../workflows/contract/ids.ts';
import { readEntries } from '../transcript/view/render-entries.ts';
import { isDamage, type Store } from '../transcript/store/store.ts';
import { recordChild } from './journal.ts';
import { resultHash } from './preview.ts';
import { Superseded, ToolFailure, type ToolContext } from './tool.ts';
import type { CallRun } from './workbench.ts';

export type ContextParts = {
  /** The call's key; of an early call, an id of its own. */
  readonly id: string;
  /** The claim that children are to be recorded with; null when there is none (L40). */
  readonly generation: number | null;
  readonly signal: AbortSignal;
  /** Absent for a call that may be dropped and made again at will. */
  readonly fence?: CallRun['fence'];
  progress(text: string): void;
};

export function toolContext(
  bench: {
    readonly cwd: string;
    readonly dir?: string;
    readonly store: Store;
    readonly session: SessionId;
    readonly queryId: string;
    readonly depth: number;
  },
  parts: ContextParts,
): ToolContext {
  const { store, session } = bench;
  const { generation } = parts;
  return {
    cwd: bench.cwd,
    dir: bench.dir ?? bench.cwd,
    signal: parts.signal,
    fence: async () => {
      if ((await parts.fence?.()) === false) throw new Superseded();
    },
    idempotencyKey: parts.id,
    queryId: bench.queryId,
    depth: bench.depth,
    progress: (text) => parts.progress(text),
    readStored: (name) => readStored({ store, session, head: keyHead(parts.id) }, name),
    spawned: async (child) => {
      if (generation !== null) await recordChild(store, { session, key: parts.id as CallKey }, child, generation);
    },
  };
}

type Place = { readonly store: Store; readonly session: SessionId; readonly head: Hash | null };

/** L6, L8–L10. A damaged value is a failure the model can read; any other failure of the store is not the tool's affair. */
async function readStored({ store, session, head }: Place, name: string): Promise<Uint8Array | null> {
  const hash = resultHash(name) as Hash | undefined;
  try {
    return hash === undefined ? await readEntries(store, session, head, name) : await store.get(hash);
  } catch (error) {
    if (!isDamage(error)) throw error;
    if (error.problem === 'missing') return null;
    throw new ToolFailure(`The stored result ${name} is damaged and cannot be read.`, { cause: error });
  }
}
