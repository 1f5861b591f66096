// The effectful calls that a stored reply leaves open run at once, one after the other in the model's order, in the same activity: a
// turn with effects costs one activity instead of one for each. If this attempt dies, the step record gives the reply without
// them, and the regular way finds their outcomes or their claims (L40).
import type { Call, ModelResult, OutcomeFacts } from '../../workflows/contract/activities.ts';
import { callKey } from '../../workflows/contract/ids.ts';
import { isDamage } from '../transcript/store/store.ts';
import type { CallBlock } from '../tools/call/call-port.ts';
import type { ModelStep } from './step.ts';

/** Up to the first that must go the regular way, or decides how the others run, or whether (L34, L36, L38, L41). */
export async function runOpenCalls(
  step: ModelStep,
  result: ModelResult,
  blocks: readonly CallBlock[],
): Promise<ModelResult> {
  if (result.kind !== 'message' || step.input.wrapUp) return result;
  const ran = new Map<Call, Ran>();
  for (const call of result.calls) {
    if (!leavesFree(call.outcome ?? {})) break;
    if (call.outcome) continue;
    const done = await runCall(
      step,
      result,
      blocks.find(({ index }) => index === call.index),
    );
    if (!done) break;
    ran.set(call, done);
    if (!done.ran || !leavesFree(done.ran)) break;
  }
  return { ...result, calls: result.calls.map((call) => ({ ...call, ...ran.get(call) })) };
}

/** An attempt stored this reply and died: which of its open calls it had begun is not known here. */
export function inDoubt(found: ModelResult): ModelResult {
  if (found.kind !== 'message') return found;
  return {
    ...found,
    calls: found.calls.map((call) => (call.outcome ? call : { ...call, mayHaveBegun: true as const })),
  };
}

type Ran = Pick<Call, 'ran' | 'mayHaveBegun'>;

/** Null: the regular way. */
async function runCall(
  step: ModelStep,
  { head }: Extract<ModelResult, { kind: 'message' }>,
  block: CallBlock | undefined,
): Promise<Ran | null> {
  if (!block || !mayRun(step, block)) return null;
  const { deps, attempt, input, config, live } = step;
  const key = callKey(config.chain, head, block.index);
  const port = { iteration: input.iteration, say: live.write };
  // Only calls that were judged to change something run at once, and only of a reply that this attempt was the first to store.
  const given = { safe: false, fresh: true, context: input.context };
  try {
    const done = await deps.tools.claimed(config, block, key, attempt, port, given);
    return 'ask' in done || 'delegate' in done ? null : { ran: done.facts };
  } catch (error) {
    // The damage is one call's, not the reply's: the regular way meets it again and says so.
    if (isDamage(error)) return { mayHaveBegun: true };
    throw error;
  }
}

function mayRun({ deps, attempt, config, input }: ModelStep, block: CallBlock): boolean {
  return !attempt.signal.aborted && deps.tools.traits(config, block, input.context).plan === 'with_reply';
}

function leavesFree({ cancelsSiblings, modify, fatal, stop }: OutcomeFacts): boolean {
  return !cancelsSiblings && !modify && !fatal && stop === undefined;
}
