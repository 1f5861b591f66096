// Asks at a terminal, once, whether commands of agents may run where nothing can confine them.
import { findUnconfinedQuestion } from '../client/faces/flags.ts';
import type { PerdureConfig } from '../client/faces/types.ts';
import type { Cli } from './cli.ts';

/** Without a terminal, and without an answer, commands stay refused and nothing is kept. */
export async function askUnconfined(
  { openInput, env, say }: Pick<Cli, 'openInput' | 'env' | 'say'>,
  config: PerdureConfig,
  platform?: NodeJS.Platform,
): Promise<void> {
  if (openInput === null) return;
  const question = await findUnconfinedQuestion(config, env, platform);
  if (question === null) return;
  const left = new AbortController();
  const leave = (): void => left.abort();
  const input = openInput({ submit: () => undefined, interrupt: leave, leave });
  try {
    const line = await input.ask(question.text, left.signal);
    if (line !== null) say(question.keep(/^y(?:es)?$/i.test(line.trim())));
  } finally {
    input.close();
  }
}
