// Reads what a run came to, for a session that returns it (Q4), and for everyone who reads a result: the value of a final answer (L53).
import type { ReadResult, RunResultFacts } from '../../workflows/contract/activities.ts';
import type { Attempt } from '../attempt.ts';
import type { ConfigReader } from '../configuration.ts';
import type { Deps } from '../deps.ts';
import type { Entry } from '../transcript/log/entries.ts';
import { isDamage } from '../transcript/store/store.ts';
import { resultOf, structuredOutput, type RunResult } from '../transcript/view/result.ts';
import { loadRun } from '../transcript/view/view.ts';

/** Characters of a text, and of an output's JSON. */
const MOST = 500_000;

/** Bytes of JSON of both together: a server takes 2 MiB of a workflow's result, and a character of a text may be six of them. */
const MOST_BYTES = 1_500_000;

/** Throws StoreError. */
export function readResult(deps: Pick<Deps, 'store' | 'config'>) {
  return async ({ session }: Attempt, { head, run }: ReadResult): Promise<RunResultFacts> => {
    const { entries } = await loadRun(deps.store, session, head, run);
    const result = resultOf({ entries }, run);
    if (result === null) throw new Error(`run ${run} of session ${session} has no end in its transcript`);
    const { text, usage, costUsd } = result;
    const found = await outputOf(deps.config, entries, result);
    const json = JSON.stringify(found.output) as string | undefined;
    const bytes = Buffer.byteLength(json ?? '');
    const fits = json === undefined || (json.length <= MOST && bytes <= MOST_BYTES / 2);
    const room = MOST_BYTES - (fits ? bytes : 0);
    return { text: withinBytes(text.slice(0, MOST), room), usage, costUsd, ...(fits ? found : {}) };
  };
}

/** The beginning of it that is at most `most` bytes of JSON. */
function withinBytes(text: string, most: number): string {
  let left = most;
  let end = 0;
  for (const character of text) {
    left -= Buffer.byteLength(JSON.stringify(character)) - 2;
    if (left < 0) break;
    end += character.length;
  }
  return text.slice(0, end);
}

export type RunOutput = { readonly output?: unknown };

/**
 * Returns the final answer's value; nothing when the run had no schema or did not complete, and when its configuration is damaged: the
 * result stands without it.
 */
export async function outputOf(
  config: ConfigReader,
  entries: readonly Entry[],
  { run, reason, text }: RunResult,
): Promise<RunOutput> {
  const started = entries.findLast((entry) => entry.kind === 'run_started' && entry.run === run);
  if (started?.kind !== 'run_started' || reason !== 'completed') return {};
  try {
    const { outputSchema } = await config(started.config);
    const found = outputSchema ? structuredOutput(text) : null;
    return found?.kind === 'value' ? { output: found.value } : {};
  } catch (error) {
    if (isDamage(error)) return {};
    throw error;
  }
}
