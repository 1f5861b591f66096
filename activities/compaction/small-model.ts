// The small model as one activity uses it: what its calls cost is summed, and remembered should the attempt die (L51).
import { CHARACTERS_PER_TOKEN } from '../../workflows/contract/tokens.ts';
import type { Compact } from '../../workflows/contract/activities.ts';
import { addSpend, spentLimit, noSpend, type Spend } from '../../workflows/contract/loop.ts';
import { type Attempt, givenUp } from '../attempt.ts';
import type { Deps } from '../deps.ts';
import { askModel, type AskFailure, type Asked, type Question } from '../model/ask-model.ts';
import { noTries, type Tries } from '../model/failed-attempt.ts';
import type { RunConfig } from '../run-config.ts';

/** What compactions, collapses and batch summaries need of the world. */
export type SummaryDeps = Pick<
  Deps,
  'store' | 'live' | 'transcripts' | 'config' | 'model' | 'scripted' | 'hooks' | 'now' | 'random'
>;

export type SmallModel = {
  /** Once. `aborted`: a stop. Throws when the attempt is no longer ours (L50). */
  ask(question: Question): Promise<Asked>;
  /** Of all calls of all attempts so far. */
  spend(): Spend;
  /** Of the attempts before this one, with what was spent since. */
  tries(): Tries;
  /** Characters of a question that leave room for an answer of `maxTokens`. */
  room(maxTokens: number): number;
};

/** Estimates of dense text are low: the rest of the window is for what they miss. */
const FILLED = 0.6;

const SPENT: AskFailure = { kind: 'failed', detail: 'the budget of the run is spent' };

/** `failures`: of the attempts before a parking. `left`: it is not asked when that is spent (L51). */
export function smallModel(
  deps: SummaryDeps,
  attempt: Attempt,
  config: RunConfig,
  { failures = 0, left = {} }: Pick<Compact, 'failures' | 'left'> = {},
): SmallModel {
  let tries: Tries = { ...noTries, failures, ...(attempt.remembered as Partial<Tries> | undefined) };
  const { model, now } = deps;
  return {
    spend: () => tries.spend,
    tries: () => tries,
    room: (maxTokens) => Math.max(0, config.smallModel.window * FILLED - maxTokens) * CHARACTERS_PER_TOKEN,
    async ask(question) {
      const before = tries;
      if (spentLimit(left, before.spend)) return { kind: 'failed', failure: SPENT, spend: noSpend };
      const spent = (more: Spend): Tries => ({ ...before, spend: addSpend(before.spend, more) });
      const billed = (more: Spend): void => attempt.remember(spent(more));
      const asked = await askModel({ model, config, signal: attempt.signal, now, billed }, question);
      tries = spent(asked.spend);
      if (asked.kind === 'aborted' && attempt.abortedBy() !== 'stop') {
        throw givenUp(attempt);
      }
      return asked;
    },
  };
}
