// Sums up a transcript for the head and the inspector of its session: what was spent and on what,
// how its tools did, since when it runs. It is summed up again only when the transcript has grown.
import { isUntimed } from '../../store/live/retell.ts';
import { taskListOf } from '../../store/view/task-list.ts';
import { addSpend, noSpend, type Spend } from '../../workflows/contract/loop.ts';
import { type AgentCallRecord, findAgentCalls } from '../../client/sessions/history/agent-calls.ts';
import { isReply, type Item, type Items } from '../../client/sessions/history/items.ts';
import { type SessionSpend, sinceFork, sumSpend } from '../../client/sessions/history/spend.ts';
import { type ChangedFiles, listTouchedFiles } from '../../client/sessions/history/changed-files.ts';

export type ToolFacts = {
  readonly name: string;
  readonly calls: number;
  readonly failed: number;
  /** Milliseconds; null where no call was timed. */
  readonly median: number | null;
};

export type TranscriptFacts = {
  readonly spend: SessionSpend;
  /** Spend of all replies alone, in all runs. */
  readonly replies: Spend;
  /** Share of the newest run's prompts that came from the cache; null without any. */
  readonly cached: number | null;
  readonly tools: readonly ToolFacts[];
  readonly agents: readonly AgentCallRecord[];
  readonly files: ChangedFiles;
  /** The task list, if the session has one (L83). */
  readonly tasks: string | null;
  /** When the newest run began and ended, in milliseconds since the epoch. */
  readonly begunAt: number | null;
  readonly endedAt: number | null;
  readonly compactions: number;
  /** US dollars of all replies so far, at even steps; a price that is not known adds nothing. */
  readonly costs: readonly number[];
};

type Kept = { readonly length: number; readonly facts: TranscriptFacts };
const factsOfItems = new WeakMap<readonly Item[], Kept>();

export function transcriptFacts({ all }: Pick<Items, 'all'>): TranscriptFacts {
  const known = factsOfItems.get(all);
  if (known?.length === all.length) return known.facts;
  const facts = sumUp(all);
  factsOfItems.set(all, { length: all.length, facts });
  return facts;
}

function sumUp(items: readonly Item[]): TranscriptFacts {
  const started = items.findLast(({ entry }) => entry.kind === 'run_started')?.entry;
  const ended = items.findLast(({ entry }) => entry.kind === 'run_ended' || entry.kind === 'run_started')?.entry;
  return {
    spend: sumSpend(items),
    replies: sinceFork(items).reduce((sum, item) => (isReply(item) ? addSpend(sum, item.entry.spend) : sum), noSpend),
    cached: shareOfCache(items),
    tools: toolFacts(items),
    agents: findAgentCalls(items),
    files: listTouchedFiles(items),
    tasks: taskListOf(items.map(({ entry }) => entry)),
    begunAt: started?.kind === 'run_started' ? started.at : null,
    endedAt: ended?.kind === 'run_ended' ? ended.ended.at : null,
    compactions: items.filter(({ entry }) => entry.kind === 'boundary').length,
    costs: costsSoFar(items),
  };
}

/** Points of a curve. */
const POINTS = 120;

function costsSoFar(items: readonly Item[]): readonly number[] {
  let sum = 0;
  const costs = sinceFork(items).flatMap((item) => (isReply(item) ? [(sum += item.entry.spend.usd ?? 0)] : []));
  const step = Math.max(1, Math.ceil(costs.length / POINTS));
  return costs.filter((_, at) => at === costs.length - 1 || at % step === 0);
}

function shareOfCache(items: readonly Item[]): number | null {
  const run = items.at(-1)?.run;
  let [prompts, cached] = [0, 0];
  for (const item of items)
    if (item.run === run && isReply(item)) {
      const { input, cacheRead, cacheWrite } = item.entry.spend.usage;
      prompts += input + cacheRead + cacheWrite;
      cached += cacheRead;
    }
  return prompts === 0 ? null : cached / prompts;
}

function toolFacts(items: readonly Item[]): readonly ToolFacts[] {
  const found = new Map<string, { calls: number; failed: number; times: number[] }>();
  for (const item of items.filter(isReply))
    for (const [index, block] of item.entry.message.content.entries()) {
      if (block.type !== 'tool_use') continue;
      const tool = found.get(block.name) ?? { calls: 0, failed: 0, times: [] };
      found.set(block.name, tool);
      const outcome = item.outcomes.get(index);
      tool.calls += 1;
      if (outcome?.isError) tool.failed += 1;
      if (outcome && !isUntimed(outcome.log)) tool.times.push(outcome.log.duration);
    }
  return [...found]
    .map(([name, { calls, failed, times }]) => ({ name, calls, failed, median: medianOf(times) }))
    .toSorted((one, other) => other.calls - one.calls);
}

function medianOf(times: readonly number[]): number | null {
  return times.toSorted((one, other) => one - other)[Math.floor(times.length / 2)] ?? null;
}
