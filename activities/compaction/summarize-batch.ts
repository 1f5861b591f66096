// One line for people about the batch of calls that has just run (L42). It stores nothing, and no failure of the model is one of
// the run: then there is no line.
import type { BatchSummary, SummarizeBatch } from '../../workflows/contract/activities.ts';
import { costOf, noUsage, type Spend } from '../../workflows/contract/loop.ts';
import { CHARACTERS_PER_TOKEN, estimateTokens } from '../../workflows/contract/tokens.ts';
import type { Attempt } from '../attempt.ts';
import { refuseScripted } from '../model/refuse-scripted.ts';
import type { RunConfig } from '../run-config.ts';
import { inView } from '../transcript/view/in-view.ts';
import { entriesOf } from '../transcript/transcripts.ts';
import { wellFormedText } from '../text.ts';
import { blocksOf } from './blocks.ts';
import { fitText } from './fit-text.ts';
import { BATCH_SYSTEM, BATCH_TASK, question } from './instructions.ts';
import { smallModel, type SummaryDeps } from './small-model.ts';

const MAX_TOKENS = 100;
/** Characters of the batch that the small model reads: it is to cost little. */
const MATERIAL = 12_000;
/** Characters of the line. */
const LINE = 120;

export function summarizeBatch(deps: SummaryDeps): (attempt: Attempt, input: SummarizeBatch) => Promise<BatchSummary> {
  return async (attempt, input) => {
    const config = await deps.config(input.config);
    refuseScripted(deps, config);
    const small = smallModel(deps, attempt, config);
    const entries = entriesOf(await deps.transcripts.extend(attempt.session, input.head, input.append));
    const { shown } = inView(entries);
    const last = shown.findLastIndex((each) => each.kind === 'entry' && each.entry.kind === 'reply');
    if (last < 0) return { text: null, spend: small.spend() };
    const bodies = await deps.transcripts.bodies(entries);
    const [batch] = blocksOf({ shown: shown.slice(last), shrunkBefore: 0, bodies }, []);
    const material = fitText(
      batch?.items ?? [],
      0,
      bodies,
      Math.min(MATERIAL, small.room(MAX_TOKENS, CHARACTERS_PER_TOKEN)),
    );
    const text = question(material, BATCH_TASK);
    const asked = await small.ask({ system: BATCH_SYSTEM, text, maxTokens: MAX_TOKENS });
    return { text: asked.kind === 'text' ? line(asked.text) : null, spend: small.spend() };
  };
}

/** As large as it can be. */
export function summarySpend({ price }: Pick<RunConfig['smallModel'], 'price'>): Spend {
  const characters = BATCH_SYSTEM.length + question('', BATCH_TASK).length + MATERIAL;
  const usage = { ...noUsage, input: estimateTokens(characters), output: MAX_TOKENS };
  return { usage, usd: price && costOf(usage, price) };
}

function line(text: string): string | null {
  const first = wellFormedText(text).split('\n')[0]?.trim() ?? '';
  if (first === '') return null;
  return first.length <= LINE ? first : `${wellFormedText(first.slice(0, LINE - 1))}…`;
}
