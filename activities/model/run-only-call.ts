// The one call that a stored reply leaves open runs at once, in the same activity, when it is claimed before it runs: a turn with one
// effect costs one activity instead of two. If this attempt dies, the step record gives the reply without it, and the regular way
// finds its outcome or its claim (L40).
import type { Call, ModelResult } from '../../workflows/contract/activities.ts';
import { callKey } from '../../workflows/contract/ids.ts';
import type { CallBlock } from './judge.ts';
import type { ModelStep } from './store-reply.ts';

export async function runOnlyCall(
  step: ModelStep,
  result: ModelResult,
  blocks: readonly CallBlock[],
): Promise<ModelResult> {
  if (result.kind !== 'message') return result;
  const call = onlyOpen(result.calls);
  const block = blocks.find(({ index }) => index === call?.index);
  if (!call || !block || !mayRun(step, block)) return result;
  const { deps, attempt, input, config, live } = step;
  const key = callKey(config.chain, result.head, call.index);
  const port = { iteration: input.iteration, say: live.write };
  const done = await deps.tools.claimed(config, block, key, attempt, port, {
    context: input.context,
    step: input.step,
  });
  if ('ask' in done) return result;
  return { ...result, calls: result.calls.map((each) => (each === call ? { ...each, ran: done.facts } : each)) };
}

/** Null when there are several, or when what ran early decides how the others run, or whether (L34, L36, L38, L41). */
function onlyOpen(calls: readonly Call[]): Call | null {
  const open = calls.filter(({ outcome }) => !outcome);
  const free = calls.every(({ outcome = {} }) => {
    return !outcome.cancelsSiblings && !outcome.modify && !outcome.fatal && outcome.stop === undefined;
  });
  return open.length === 1 && free ? (open[0] ?? null) : null;
}

/** Whether the budget still allows it is for the loop to say (L51): with one, calls run the regular way. */
function mayRun({ deps, attempt, config, input }: ModelStep, block: CallBlock): boolean {
  const { maxBudgetUsd, maxTokens } = config.rules;
  if (attempt.signal.aborted || maxBudgetUsd !== null || maxTokens !== null) return false;
  return deps.tools.traits(config, block, input.context).atOnce;
}
