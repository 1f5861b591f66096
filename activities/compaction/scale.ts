// How many tokens a view comes to, as the model's own API counts them. Four characters to a token is far off for some languages and
// for thinking: the count of the last reply, set against the estimate of the same view, says by how much.
import type { RunConfig, RunModel } from '../run-config.ts';
import { totalTokens } from '../../workflows/contract/loop.ts';
import { CHARACTERS_PER_TOKEN, estimateTokens } from '../../workflows/contract/tokens.ts';
import type { Entry } from '../transcript/log/entries.ts';
import { type Bodies, project } from '../transcript/view/project.ts';
import { isDamage } from '../transcript/store/store.ts';
import type { Transcripts } from '../transcript/transcripts.ts';

export type Scale = {
  /** Of a model's window. */
  readonly charactersPerToken: number;
  /** Of a whole request with these entries. */
  tokens(entries: readonly Entry[], bodies: Bodies): number;
};

/** Estimates stand where nothing was counted, and are never lowered: a proxy may not count what it has cached. */
export async function scaleOf(
  transcripts: Pick<Transcripts, 'bodies'>,
  entries: readonly Entry[],
  model: RunModel,
  { rules: { fixedTokens } }: Pick<RunConfig, 'rules'>,
): Promise<Scale> {
  const estimate = (shown: readonly Entry[], bodies: Bodies): number => {
    const messages = project(shown, bodies, { model: model.name });
    return fixedTokens + estimateTokens(JSON.stringify(messages).length);
  };
  const last = entries.findLastIndex((entry) => entry.kind === 'reply' && totalTokens(entry.spend.usage) > 0);
  const counted = entries[last];
  const then = entries.slice(0, last + 1);
  const bodies = counted?.kind === 'reply' ? await bodiesThen(transcripts, then) : null;
  const ratio =
    counted?.kind === 'reply' && bodies ? totalTokens(counted.spend.usage) / Math.max(1, estimate(then, bodies)) : 1;
  const factor = Math.max(1, ratio);
  return {
    charactersPerToken: CHARACTERS_PER_TOKEN / factor,
    tokens: (shown, seen) => Math.ceil(estimate(shown, seen) * factor),
  };
}

/** What has gone out of sight since need not be whole: null, and the estimates stand. */
async function bodiesThen({ bodies }: Pick<Transcripts, 'bodies'>, entries: readonly Entry[]): Promise<Bodies | null> {
  try {
    return await bodies(entries);
  } catch (error) {
    if (isDamage(error)) return null;
    throw error;
  }
}
