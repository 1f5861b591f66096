// The value that a run with an output schema came to (L53): its final answer, parsed as the loop parsed it.
import { configReader } from '../activities/run/configuration.ts';
import type { Entry } from '../activities/transcript/log/entries.ts';
import { type RunResult, structuredOutput } from '../activities/transcript/view/result.ts';
import { isDamage, type Store } from '../activities/transcript/store/store.ts';

export type RunOutput = { readonly output?: unknown };

export type OutputReader = (entries: readonly Entry[], result: RunResult) => Promise<RunOutput>;

/** Nothing when the run had no schema or did not complete; also when its configuration is damaged, for the result stands without. */
export function outputReader(store: Store): OutputReader {
  const read = configReader(store);
  return async (entries, { run, reason, text }) => {
    const started = entries.findLast((entry) => entry.kind === 'run_started' && entry.run === run);
    if (started?.kind !== 'run_started' || reason !== 'completed') return {};
    try {
      const { outputSchema } = await read(started.config);
      const found = outputSchema ? structuredOutput(text) : null;
      return found?.kind === 'value' ? { output: found.value } : {};
    } catch (error) {
      if (isDamage(error)) return {};
      throw error;
    }
  };
}
