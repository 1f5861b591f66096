// Builds the carried state of a session that begins with a transcript: an imported one, or a fork.
// A handover between two runs carries the same, so every version of the workflow can continue it.
import { randomUUID } from 'node:crypto';
import type { Hash } from '../../workflows/contract/ids.ts';
import type { RunOptions, RunSummary, UserMessage } from '../../workflows/contract/session.ts';

export type CarryAt = {
  readonly head: Hash;
  readonly runs: number;
  readonly last: RunSummary | null;
  readonly options: RunOptions;
  readonly contextTokens?: number;
  /** The messages that wait. */
  readonly queue?: readonly UserMessage[];
};

/**
 * Keys of calls and steps begin anew: their records belong to another session, or are elsewhere.
 */
export function carryAt({ head, runs, last, options, contextTokens = 0, queue = [] }: CarryAt) {
  return {
    chain: randomUUID() as string,
    step: 0,
    head,
    options,
    runs,
    begun: false,
    inbox: { queue, seen: queue.map(({ id }) => id as string) },
    last,
    context: { contextTokens, staged: [] },
    snips: [],
    run: null,
  };
}
