// The small model as one activity uses it: what its calls cost is summed, and remembered should the attempt die (L51).
import type { Compact } from '../../workflows/contract/activities.ts';
import { addSpend, spentLimit, noSpend, type Spend } from '../../workflows/contract/loop.ts';
import { type Attempt, describeGivenUp } from '../attempt.ts';
import type { Deps } from '../deps.ts';
import type { RecordsEnds } from '../tools/call/record-ends.ts';
import { askModel, type AskFailure, type Asked, type Question } from '../model/ask-model.ts';
import { maxOutputIn } from '../model/classify.ts';
import { noTries, type Tries } from '../model/failed-attempt.ts';
import type { RunConfig, RunModel } from '../configuration.ts';
import { aboutStep } from '../live/observe.ts';
import type { AsksSmall } from '../tools/call/runner.ts';
import { watchModel } from '../model/watch-model.ts';

/** The means of one question. */
type AskingDeps = Pick<Deps, 'model' | 'observe' | 'redact' | 'now'>;

/** The dependencies of compactions, collapses and batch summaries. */
export type SummaryDeps = Pick<
  Deps,
  'store' | 'live' | 'transcripts' | 'config' | 'model' | 'observe' | 'redact' | 'scripted' | 'hooks' | 'now' | 'random'
> &
  Pick<RecordsEnds, 'tools'>;

export type SmallModel = {
  /** Once. `aborted`: a stop. Throws when the attempt is no longer ours (L50). */
  ask(question: Question): Promise<Asked>;
  /** The cost of all calls of all attempts so far. */
  spend(): Spend;
  /** The attempts before this one, with what was spent since. */
  tries(): Tries;
  /** Characters of a question that leave room for an answer of `maxTokens`. */
  room(maxTokens: number, charactersPerToken: number): number;
};

/** Estimates of dense text are low: the rest of the window is for what they miss. */
const FILLED = 0.6;

const SPENT: AskFailure = { kind: 'failed', detail: 'the budget of the run is spent' };

type Asking = Pick<Compact, 'failures' | 'left' | 'iteration' | 'step'> & { readonly instead?: RunModel };

/**
 * `failures`: of the attempts before a parking. `left`: it is not asked when that is spent (L51). `instead` is asked where there is no
 * small model.
 */
export function smallModel(
  deps: AskingDeps,
  attempt: Attempt,
  config: RunConfig,
  { failures = 0, left = {}, instead, ...step }: Asking,
): SmallModel {
  let tries: Tries = { ...noTries, failures, ...(attempt.remembered as Partial<Tries> | undefined) };
  let asks = config;
  const { now, observe, redact } = deps;
  const about = aboutStep(config, attempt, step);
  return {
    spend: () => tries.spend,
    tries: () => tries,
    room: (maxTokens, charactersPerToken) =>
      Math.max(0, asks.smallModel.window * FILLED - maxTokens) * charactersPerToken,
    async ask(question) {
      const asked = await once(question);
      const lower = asked.kind === 'failed' ? maxOutputIn(asked.failure, question.maxTokens) : undefined;
      if (lower !== undefined) return once({ ...question, maxTokens: lower });
      if (!isMissing(asked) || instead === undefined || instead.name === asks.smallModel.name) return asked;
      asks = { ...config, smallModel: instead };
      return once(question);
    },
  };

  async function once(question: Question): Promise<Asked> {
    const before = tries;
    if (spentLimit(left, before.spend)) return { kind: 'failed', failure: SPENT, spend: noSpend };
    const spent = (more: Spend): Tries => ({ ...before, spend: addSpend(before.spend, more) });
    const billed = (more: Spend): void => attempt.remember(spent(more));
    const model = watchModel(deps.model, { observe, about, prices: asks.smallModel });
    const asked = await askModel({ model, config: asks, signal: attempt.signal, now, redact, billed }, question);
    tries = spent(asked.spend);
    if (asked.kind === 'aborted' && attempt.abortedBy() !== 'stop') {
      throw describeGivenUp(attempt);
    }
    return asked;
  }
}

/** Characters of a token, at the least: code and other languages are dense. */
const DENSE = 2.5;

/** As a tool asks it about a text (L86). A failure is an answer too: there is one try. */
export function smallModelOfCalls(deps: AskingDeps): AsksSmall {
  return (config, attempt, { left = {}, ...step }) => {
    const small = smallModel(deps, attempt, config, { left, ...step });
    return {
      spend: () => small.spend(),
      async ask({ system, text, maxTokens }) {
        const room = Math.max(0, Math.floor(small.room(maxTokens, DENSE)) - system.length);
        const asked = await small.ask({ system, text: text.slice(0, room), maxTokens });
        if (asked.kind === 'text') return { text: asked.text, partial: text.length > room };
        return { text: null, problem: asked.kind === 'failed' ? asked.failure.detail : 'it was stopped' };
      },
    };
  };
}

/** The account, or the server, has no such model. */
function isMissing(asked: Asked): boolean {
  return asked.kind === 'failed' && asked.failure.kind === 'failed' && asked.failure.status === 404;
}
