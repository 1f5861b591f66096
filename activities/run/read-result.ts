// Reads the result of a run, for a session that returns it (Q4) and for all other readers: the
// value of a final answer (L53).
import type { ReadResult, RunResultFacts } from '../../workflows/contract/activities.ts';
import type { Attempt } from '../attempt.ts';
import type { Deps } from '../deps.ts';
import { outputOf, resultOf } from '../../store/view/result.ts';
import { loadRun } from '../../store/view/view.ts';

/** The most characters of a text, and of an output's JSON. */
const MOST_CHARACTERS = 500_000;

/**
 * The most bytes of JSON of both together: a server takes 2 MiB of a workflow's result, and a
 * character of a text may be six of them.
 */
const MOST_BYTES = 1_500_000;

/** Throws StoreError. */
export function readResult(deps: Pick<Deps, 'store' | 'config'>) {
  return async ({ session }: Attempt, { head, run }: ReadResult): Promise<RunResultFacts> => {
    const { entries } = await loadRun(deps.store, session, head, { run });
    const result = resultOf({ entries }, run);
    if (result === null) throw new Error(`run ${run} of session ${session} has no end in its transcript`);
    const { text, usage, costUsd } = result;
    const found = await outputOf(deps.config, entries, result);
    const json = JSON.stringify(found.output) as string | undefined;
    const bytes = Buffer.byteLength(json ?? '');
    const fits = json === undefined || (json.length <= MOST_CHARACTERS && bytes <= MOST_BYTES / 2);
    const room = MOST_BYTES - (fits ? bytes : 0);
    return { text: truncateToBytes(text.slice(0, MOST_CHARACTERS), room), usage, costUsd, ...(fits ? found : {}) };
  };
}

/** Returns the beginning of a text that is at most `most` bytes of JSON. */
function truncateToBytes(text: string, most: number): string {
  let left = most;
  let end = 0;
  for (const character of text) {
    left -= Buffer.byteLength(JSON.stringify(character)) - 2;
    if (left < 0) break;
    end += character.length;
  }
  return text.slice(0, end);
}
