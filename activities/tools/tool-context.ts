// What a tool is given besides its input, made from what the executor knows.
import type { CallKey, Hash, SessionId } from '../../workflows/contract/ids.ts';
import { StoreError, type Store } from '../transcript/store.ts';
import { recordChild } from './claim.ts';
import { resultHash } from './preview.ts';
import { ToolFailure, type ToolContext } from './tool.ts';

export type ContextParts = {
  /** The call's key; of an early call, an id of its own. */
  readonly id: string;
  /** Whether children are to be recorded with the call's claim (L40). */
  readonly claimed: boolean;
  readonly signal: AbortSignal;
  progress(text: string): void;
};

export function toolContext(
  bench: {
    readonly cwd: string;
    readonly store: Store;
    readonly session: SessionId;
    readonly queryId: string;
    readonly depth: number;
  },
  parts: ContextParts,
): ToolContext {
  const { store, session } = bench;
  return {
    cwd: bench.cwd,
    signal: parts.signal,
    idempotencyKey: parts.id,
    queryId: bench.queryId,
    depth: bench.depth,
    progress: (text) => parts.progress(text),
    readStored: (name) => readStored(store, name),
    spawned: async (child) => {
      if (parts.claimed) await recordChild(store, { session, key: parts.id as CallKey }, child);
    },
  };
}

/** L6. A damaged value is a failure the model can read; a store that does not answer is not the tool's affair. */
async function readStored(store: Store, name: string): Promise<Uint8Array | null> {
  const hash = resultHash(name) as Hash | undefined;
  if (hash === undefined) return null;
  try {
    return await store.get(hash);
  } catch (error) {
    if (!(error instanceof StoreError) || error.problem === 'unavailable') throw error;
    if (error.problem === 'missing') return null;
    throw new ToolFailure(`The stored result ${name} is damaged and cannot be read.`, { cause: error });
  }
}
