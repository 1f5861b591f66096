// Measures a view in tokens, as the model's own API counts them. Four characters to a token is far
// off for some languages and for thinking: the count of the last reply, compared with the estimate
// of the same view, corrects it.
import type { Entry } from '../../store/log/entries.ts';
import type { Bodies } from '../../store/log/bodies.ts';
import { countRequestCharacters } from '../../store/transcript/request-size.ts';
import { project } from '../../store/view/project.ts';
import type { RunConfig, RunModel } from '../../store/configuration.ts';
import { totalTokens, CHARACTERS_PER_TOKEN, estimateTokens } from '../../workflows/contract/loop.ts';
import { isDamage } from '../../store/values/store.ts';
import type { Transcripts } from '../../store/transcript/transcripts.ts';

export type Scale = {
  /** Characters of one token in a model's window. */
  readonly charactersPerToken: number;
  /** Returns the tokens of a whole request with these entries. */
  tokens(entries: readonly Entry[], bodies: Bodies): number;
};

/**
 * Measures a view by the count of the last reply. Estimates stand where nothing was counted, and
 * are never lowered: a proxy may not count what it has cached.
 */
export async function measureScale(
  transcripts: Pick<Transcripts, 'bodies'>,
  entries: readonly Entry[],
  model: RunModel,
  { rules: { fixedTokens } }: Pick<RunConfig, 'rules'>,
): Promise<Scale> {
  const estimate = (view: readonly Entry[], bodies: Bodies): number => {
    const messages = project(view, bodies, { model });
    return fixedTokens + estimateTokens(countRequestCharacters(messages));
  };
  const last = entries.findLastIndex((entry) => entry.kind === 'reply' && totalTokens(entry.spend.usage) > 0);
  const counted = entries[last];
  const then = entries.slice(0, last + 1);
  const bodies = counted?.kind === 'reply' ? await readBodies(transcripts, then) : null;
  const ratio =
    counted?.kind === 'reply' && bodies ? totalTokens(counted.spend.usage) / Math.max(1, estimate(then, bodies)) : 1;
  const factor = Math.max(1, ratio);
  return {
    charactersPerToken: CHARACTERS_PER_TOKEN / factor,
    tokens: (view, texts) => Math.ceil(estimate(view, texts) * factor),
  };
}

/**
 * Returns null when an entry that has gone out of sight since is damaged: then the estimates stand.
 */
async function readBodies({ bodies }: Pick<Transcripts, 'bodies'>, entries: readonly Entry[]): Promise<Bodies | null> {
  try {
    return await bodies(entries);
  } catch (error) {
    if (isDamage(error)) return null;
    throw error;
  }
}
