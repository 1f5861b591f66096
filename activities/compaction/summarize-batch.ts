// Writes one line for people about the batch of calls that has just run (L42). It stores nothing;
// if the model fails, the run continues without the line.
import type { RunConfig } from '../../store/configuration.ts';
import { openSmallModel, type SummaryDeps } from './small-model.ts';
import { groupBlocks } from './blocks.ts';
import type { BatchSummary, SummarizeBatch } from '../../workflows/contract/activities.ts';
import { costOf, noUsage, type Spend, CHARACTERS_PER_TOKEN, estimateTokens } from '../../workflows/contract/loop.ts';
import type { Attempt } from '../attempt.ts';
import { refuseScriptedModel } from '../guards.ts';
import { inView } from '../../store/view/in-view.ts';
import { entriesOf } from '../../store/transcript/transcripts.ts';
import { wellFormedText } from '../../system/text.ts';
import { writeQuestion, BATCH_TASK, BATCH_SYSTEM } from './questions.ts';
import { fitText } from './fit-text.ts';

const MAX_TOKENS = 100;
/** Characters of the batch that the small model reads: it is to cost little. */
const MATERIAL = 12_000;
/** Characters of the line. */
const LINE = 120;

export function summarizeBatch(deps: SummaryDeps): (attempt: Attempt, input: SummarizeBatch) => Promise<BatchSummary> {
  return async (attempt, input) => {
    const config = await deps.config(input.config);
    refuseScriptedModel(deps, config);
    const small = openSmallModel(deps, attempt, config, input);
    const entries = entriesOf(await deps.transcripts.extend(attempt.session, input.head, input.append));
    const { shown: parts } = inView(entries);
    const last = parts.findLastIndex((each) => each.kind === 'entry' && each.entry.kind === 'reply');
    if (last < 0) return { text: null, spend: small.spend() };
    const bodies = await deps.transcripts.bodies(entries);
    const [batch] = groupBlocks({ parts: parts.slice(last), shrunkBefore: 0, bodies }, []);
    const material = fitText(
      batch?.items ?? [],
      0,
      bodies,
      Math.min(MATERIAL, small.room(MAX_TOKENS, CHARACTERS_PER_TOKEN)),
    );
    const text = writeQuestion(material, BATCH_TASK);
    const answer = await small.ask({ system: BATCH_SYSTEM, text, maxTokens: MAX_TOKENS });
    return { text: answer.kind === 'text' ? firstLine(answer.text) : null, spend: small.spend() };
  };
}

/** Returns the largest possible cost of a batch summary. */
export function largestSummarySpend({ price }: Pick<RunConfig['smallModel'], 'price'>): Spend {
  const characters = BATCH_SYSTEM.length + writeQuestion('', BATCH_TASK).length + MATERIAL;
  const usage = { ...noUsage, input: estimateTokens(characters), output: MAX_TOKENS };
  return { usage, usd: price && costOf(usage, price) };
}

function firstLine(text: string): string | null {
  const first = wellFormedText(text).split('\n')[0]?.trim() ?? '';
  if (first === '') return null;
  return first.length <= LINE ? first : `${wellFormedText(first.slice(0, LINE - 1))}…`;
}
