// Reads the value of a run's final answer (L53) from its transcript.
import type { ConfigReader } from '../configuration.ts';
import type { Entry } from '../log/entries.ts';
import { isDamage } from '../values/store.ts';
import type { RunResult } from './result.ts';
import { parseStructuredOutput } from './structured-output.ts';

export type RunOutput = { readonly output?: unknown };

/**
 * Returns the final answer's value; nothing when the run had no schema or did not complete, and
 * when its configuration is damaged: the result stands without it.
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
    const found = outputSchema ? parseStructuredOutput(text) : null;
    return found?.kind === 'value' ? { output: found.value } : {};
  } catch (error) {
    if (isDamage(error)) return {};
    throw error;
  }
}
