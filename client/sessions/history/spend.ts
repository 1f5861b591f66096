// Adds up the spend of a session from its transcript. The end of a run says all that it took,
// with compactions, notes and agents; of a run under way the replies alone are known.
import { AGENT_TOOL } from '../../../workflows/contract/delegation.ts';
import { addSpend, noSpend, totalTokens, type Spend } from '../../../workflows/contract/loop.ts';
import { foldItems, isReply, type Item, type ItemFold } from './items.ts';

type SpendSoFar = {
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

type RunSum = { spend: Spend; turns: number; isLeast: boolean };

/** `before` sums up all runs but the last. */
type Sums = { readonly runs: Map<number, RunSum>; readonly order: RunSum[]; before: Readonly<RunSum>; context: number };

const NOTHING: Readonly<RunSum> = { spend: noSpend, turns: 0, isLeast: false };

/** A fork has spent nothing of what its origin did (T10). */
export function isForked({ entry }: Item): boolean {
  return entry.kind === 'notice' && entry.notice.kind === 'forked';
}

const sums: ItemFold<Sums> = {
  begin: () => ({ runs: new Map(), order: [], before: NOTHING, context: 0 }),
  add(state, item) {
    const { entry } = item;
    if (isReply(item)) state.context = totalTokens(item.entry.spend.usage);
    if (isForked(item)) return forgetRuns(state);
    const run = findRun(state, item.run);
    if (isReply(item)) {
      run.spend = addSpend(run.spend, item.entry.spend);
      run.turns += 1;
      run.isLeast ||= item.entry.message.content.some(
        (block) => block.type === 'tool_use' && block.name === AGENT_TOOL,
      );
    } else if (entry.kind === 'boundary' || entry.kind === 'collapse_staged') run.isLeast = true;
    else if (entry.kind === 'run_ended') {
      const { spend, turns } = entry.ended;
      // A turn whose request failed has no reply.
      Object.assign(run, { spend, turns, isLeast: false });
    }
    if (run !== state.order.at(-1)) state.before = state.order.slice(0, -1).reduce(addSums, NOTHING);
  },
};

function forgetRuns(state: Sums): void {
  state.runs.clear();
  state.order.length = 0;
  state.before = NOTHING;
}

function findRun(state: Sums, number: number): RunSum {
  const found = state.runs.get(number);
  if (found) return found;
  const run = { ...NOTHING };
  state.before = addSums(state.before, state.order.at(-1) ?? NOTHING);
  state.order.push(run);
  state.runs.set(number, run);
  return run;
}

function addSums(one: Readonly<RunSum>, other: Readonly<RunSum>): RunSum {
  return {
    spend: addSpend(one.spend, other.spend),
    turns: one.turns + other.turns,
    isLeast: one.isLeast || other.isLeast,
  };
}

export function sumSpend(items: readonly Item[]): SessionSpend {
  const { order, before, context } = foldItems(sums, items);
  const run = order.findLast(({ turns }) => turns > 0) ?? NOTHING;
  return { run: { ...run }, all: addSums(before, order.at(-1) ?? NOTHING), context };
}
