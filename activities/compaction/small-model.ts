// The small model as one activity uses it: the cost of its calls is summed, and remembered should
// the attempt die (L51).
import type { Compact } from '../../workflows/contract/activities.ts';
import { addSpend, spentLimit, noSpend, type Spend } from '../../workflows/contract/loop.ts';
import { type Attempt, createGivenUpError } from '../attempt.ts';
import type { Deps, Summarizer } from '../deps.ts';
import type { ModelPort } from '../model-deps.ts';
import type { EndRecorderDeps } from '../calls/record-ends.ts';
import type { ModelQuestion } from '../../tools/tool.ts';
import { askModel, type AskFailure, type QuestionOutcome } from '../model/ask-model.ts';
import type { Prices } from '../model/bill.ts';
import { maxOutputIn } from '../model/classify.ts';
import { noTries, type Tries } from '../model/refused/failed-attempt.ts';
import type { RunConfig, RunModel } from '../../store/configuration.ts';
import { placeOfStep } from '../../store/live/observe.ts';
import type { SmallModelFactory } from '../calls/call-runner.ts';
import { watchModel } from '../model/watch-model.ts';

/** The means of one question. */
type AskingDeps = Pick<Deps, 'model' | 'models' | 'observe' | 'log' | 'redact' | 'now'>;

/** The dependencies of compactions, collapses and batch summaries. */
export type SummaryDeps = Pick<
  Deps,
  | 'store'
  | 'live'
  | 'log'
  | 'transcripts'
  | 'config'
  | 'model'
  | 'models'
  | 'observe'
  | 'redact'
  | 'scripted'
  | 'hooks'
  | 'autocompact'
  | 'now'
  | 'random'
> &
  Pick<EndRecorderDeps, 'tools'>;

export type SmallModel = {
  /** Asks once. `aborted` is a stop. Throws when the attempt is no longer ours (L50). */
  ask(question: ModelQuestion): Promise<QuestionOutcome>;
  /**
   * Asks another question of a model with these prices, paid and remembered as the small model's
   * are. Throws as `ask` does.
   */
  spendOn<Answer extends SpendingAnswer>(prices: Prices, ask: AskOnce<Answer>): Promise<Answer | UnpaidAnswer>;
  /** Returns the cost of all calls of all attempts so far. */
  spend(): Spend;
  /** Returns the counts of the attempts before this one, with what was spent since. */
  tries(): Tries;
  /** Returns the characters of a question that leave room for an answer of `maxTokens`. */
  room(maxTokens: number, charactersPerToken: number): number;
};

/** `billed` is called with all that the question has cost so far. */
type AskOnce<Answer> = (model: ModelPort, billed: (spend: Spend) => void) => Promise<Answer>;
type SpendingAnswer = { readonly kind: string; readonly spend: Spend };
/** The question was not asked, because the budget is spent. */
type UnpaidAnswer = Extract<QuestionOutcome, { kind: 'failed' }>;

/** Estimates of dense text are low: the rest of the window is for what they miss. */
const FILLED_SHARE = 0.6;

const NO_BUDGET: AskFailure = { kind: 'failed', detail: 'the budget of the run is spent' };

type SmallModelOptions = Pick<Compact, 'failures' | 'left' | 'iteration' | 'step'> & { readonly instead?: RunModel };

/**
 * Opens the small model. `failures` counts those of the attempts before a parking. `left`: the
 * model is not asked when that is spent (L51). `instead`, the run's own model, is asked where the
 * small one does not exist, or refuses (X1).
 */
export function openSmallModel(
  deps: AskingDeps,
  attempt: Attempt,
  config: RunConfig,
  { failures = 0, left = {}, instead = config.models[0], ...step }: SmallModelOptions,
): SmallModel {
  let tries: Tries = { ...noTries, failures, ...(attempt.remembered as Partial<Tries> | undefined) };
  const own = { ...config, smallModel: instead };
  let asks = deps.models.isLost(config.smallModel.name) ? own : config;
  const { now, observe, redact } = deps;
  const about = placeOfStep(config, attempt, step);
  return {
    spend: () => tries.spend,
    tries: () => tries,
    spendOn,
    room: (maxTokens, charactersPerToken) =>
      Math.max(0, asks.smallModel.window * FILLED_SHARE - maxTokens) * charactersPerToken,
    async ask(question) {
      const answer = await within(question);
      const { name } = asks.smallModel;
      if (!isUseless(answer) || instead.name === name) return answer;
      // A refusal is about this question alone.
      if (isMissing(answer)) asks = own;
      if (isMissing(answer) && deps.models.lose(name)) deps.log('warn', describeLost(name, instead.name, answer));
      return within(question, own);
    },
  };

  /** Asks with less room for the answer where the model may not have as much. */
  async function within(question: ModelQuestion, by = asks): Promise<QuestionOutcome> {
    const answer = await once(question, by);
    const lower = answer.kind === 'failed' ? maxOutputIn(answer.failure, question.maxTokens) : undefined;
    return lower === undefined ? answer : once({ ...question, maxTokens: lower }, by);
  }

  function once(question: ModelQuestion, by: RunConfig): Promise<QuestionOutcome> {
    return spendOn(by.smallModel, (model, billed) =>
      askModel({ model, config: by, signal: attempt.signal, now, redact, billed }, question),
    );
  }

  async function spendOn<Answer extends SpendingAnswer>(
    prices: Prices,
    ask: AskOnce<Answer>,
  ): Promise<Answer | UnpaidAnswer> {
    const before = tries;
    if (spentLimit(left, before.spend)) return { kind: 'failed', failure: NO_BUDGET, spend: noSpend };
    const triesWith = (more: Spend): Tries => ({ ...before, spend: addSpend(before.spend, more) });
    const model = watchModel(deps.model, { observe, about, prices });
    const answer = await ask(model, (more) => attempt.remember(triesWith(more)));
    tries = triesWith(answer.spend);
    if (answer.kind === 'aborted' && attempt.abortedBy() !== 'stop') {
      throw createGivenUpError(attempt);
    }
    return answer;
  }
}

/** Answers the questions of a compaction without a model. */
export function answerInstead(small: SmallModel, autocompact: Summarizer): SmallModel {
  const failure = { kind: 'failed', detail: 'there is no summary' } as const;
  return {
    ...small,
    async ask({ system, text }) {
      const summary = await autocompact({ system, text });
      return summary === null
        ? { kind: 'failed', failure, spend: noSpend }
        : { kind: 'text', text: summary, cut: false, spend: noSpend };
    },
  };
}

/** Characters of a token, at the least: code and other languages are dense. */
const DENSE_CHARACTERS_PER_TOKEN = 2.5;

/**
 * Makes the small model as a tool asks it about a text (L86). A failure is an answer too: the
 * question is asked once.
 */
export function createSmallModelFactory(deps: AskingDeps): SmallModelFactory {
  return (config, attempt, { left = {}, ...step }) => {
    const small = openSmallModel(deps, attempt, config, { left, ...step });
    return {
      spend: () => small.spend(),
      async ask({ system, text, maxTokens }) {
        const room = Math.max(0, Math.floor(small.room(maxTokens, DENSE_CHARACTERS_PER_TOKEN)) - system.length);
        const answer = await small.ask({ system, text: text.slice(0, room), maxTokens });
        if (answer.kind === 'text') return { text: answer.text, partial: text.length > room };
        return { text: null, problem: answer.kind === 'failed' ? answer.failure.detail : 'it was stopped' };
      },
    };
  };
}

type FailedAnswer = Extract<QuestionOutcome, { kind: 'failed' }>;

/**
 * Tells whether the model will not answer this, however often it is asked. A wrong key is wrong for
 * all models.
 */
function isUseless(answer: QuestionOutcome): answer is FailedAnswer {
  if (answer.kind !== 'failed' || answer.failure.kind !== 'failed' || answer.failure === NO_BUDGET) return false;
  return answer.failure.status !== 401;
}

const NO_MODEL =
  /(?:unknown|invalid|unsupported|no such) model|model\b.*\b(?:not (?:exist|found|available|supported)|invalid|retired)/i;

/** Tells whether the account, or the server, lacks such a model now. */
function isMissing({ failure }: FailedAnswer): boolean {
  const { status, detail } = failure as Extract<AskFailure, { kind: 'failed' }>;
  return status === 404 || status === 403 || (status === 400 && NO_MODEL.test(detail));
}

function describeLost(small: string, own: string, { failure }: FailedAnswer): string {
  return `the small model ${small} is not there (${failure.detail}): ${own} answers in its place; "smallModel" of the configuration names another`;
}
