// The small model as one activity uses it: what its calls cost is summed, and remembered should the attempt die (L51).
import { CHARACTERS_PER_TOKEN } from '../../workflows/contract/tokens.ts';
import { addSpend, noSpend, type Spend } from '../../workflows/contract/loop.ts';
import { type Attempt, givenUp } from '../attempt.ts';
import type { Deps } from '../deps.ts';
import { askModel, type Asked, type Question } from '../model/ask-model.ts';
import type { RunConfig } from '../run-config.ts';

/** What compactions, collapses and batch summaries need of the world. */
export type SummaryDeps = Pick<
  Deps,
  'store' | 'live' | 'transcripts' | 'config' | 'model' | 'scripted' | 'hooks' | 'now' | 'random'
>;

export type SmallModel = {
  /** `aborted`: a stop. Throws when the attempt is no longer ours (L50). */
  ask(question: Question): Promise<Asked>;
  /** Of all calls of all attempts so far. */
  spend(): Spend;
  /** Characters of a question that leave room for an answer of `maxTokens`. */
  room(maxTokens: number): number;
};

/** Estimates of dense text are low: the rest of the window is for what they miss. */
const FILLED = 0.6;

export function smallModel(deps: SummaryDeps, attempt: Attempt, config: RunConfig): SmallModel {
  let spend = (attempt.remembered as { spend?: Spend } | undefined)?.spend ?? noSpend;
  const { model, now, random } = deps;
  return {
    spend: () => spend,
    room: (maxTokens) => Math.max(0, config.smallModel.window * FILLED - maxTokens) * CHARACTERS_PER_TOKEN,
    async ask(question) {
      const before = spend;
      const billed = (more: Spend): void => attempt.remember({ spend: addSpend(before, more) });
      const asked = await askModel({ model, config, signal: attempt.signal, now, random, billed }, question);
      spend = addSpend(before, asked.spend);
      if (asked.kind === 'aborted' && attempt.abortedBy() !== 'stop') {
        throw givenUp(attempt);
      }
      return asked;
    },
  };
}
