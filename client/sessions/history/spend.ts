// Adds up the spend of a session from its transcript. The end of a run says all that it took,
// with compactions, notes and agents; of a run under way the replies alone are known.
import { AGENT_TOOL } from '../../../workflows/contract/delegation.ts';
import { addSpend, noSpend, totalTokens, type Spend } from '../../../workflows/contract/loop.ts';
import { isReply, type Item } from './items.ts';

export type SpendSoFar = {
  readonly spend: Spend;
  /** More was spent: on a compaction, or on an agent, which the end of the run will tell. */
  readonly isLeast: boolean;
};

export type SessionSpend = {
  /** The newest run with a reply. */
  readonly run: SpendSoFar & { readonly turns: number };
  readonly all: SpendSoFar & { readonly turns: number };
  /** Tokens of the newest request with its reply. */
  readonly context: number;
};

/** A fork has spent nothing of what its origin did (T10). */
export function sinceFork(items: readonly Item[]): readonly Item[] {
  return items.slice(items.findLastIndex(({ entry }) => entry.kind === 'notice' && entry.notice.kind === 'forked') + 1);
}

export function sumSpend(items: readonly Item[]): SessionSpend {
  const runs = new Map<number, { spend: Spend; turns: number; isLeast: boolean }>();
  let context = 0;
  const own = new Set(sinceFork(items));
  for (const item of items) {
    if (isReply(item)) context = totalTokens(item.entry.spend.usage);
    if (!own.has(item)) continue;
    const run = runs.get(item.run) ?? { spend: noSpend, turns: 0, isLeast: false };
    runs.set(item.run, run);
    const { entry } = item;
    if (isReply(item)) {
      run.spend = addSpend(run.spend, item.entry.spend);
      run.turns += 1;
      run.isLeast ||= item.entry.message.content.some(
        (block) => block.type === 'tool_use' && block.name === AGENT_TOOL,
      );
    } else if (entry.kind === 'boundary' || entry.kind === 'collapse_staged') run.isLeast = true;
    else if (entry.kind === 'run_ended') [run.spend, run.isLeast] = [entry.ended.spend, false];
  }
  const all = [...runs.values()];
  return {
    run: all.findLast(({ turns }) => turns > 0) ?? { spend: noSpend, turns: 0, isLeast: false },
    all: {
      spend: all.reduce((sum, { spend }) => addSpend(sum, spend), noSpend),
      turns: all.reduce((sum, { turns }) => sum + turns, 0),
      isLeast: all.some((one) => one.isLeast),
    },
    context,
  };
}
