// Begins the calls that a stored reply leaves open at once, in the same activity, where nothing
// stands in their way. Effectful calls run one after the other in the model's order; of the batch
// after them, the calls that the workflow carries out are handed over to it (L62). A turn with them
// costs one activity instead of one for each. If this attempt dies, the step record gives the reply
// without them, and the regular way finds their outcomes, their claims (L40), or their delegations.
import type { Call, ModelCallAnswer, ModelResult, OutcomeFacts } from '../../workflows/contract/activities.ts';
import { callKey } from '../../workflows/contract/ids.ts';
import { groupCalls } from '../../workflows/contract/calls.ts';
import { spentLimit } from '../../workflows/contract/loop.ts';
import { isDamage } from '../../store/values/store.ts';
import type { CallBlock } from '../calls/call-port.ts';
import type { CallPlan } from '../calls/prepare.ts';
import type { ModelStep } from './step.ts';

/**
 * Characters of JSON that one reply may hand over, because the answer of an activity is limited.
 * The rest goes the regular way.
 */
const MOST_HANDED_OVER = 128 * 1024;

type Reply = Extract<ModelResult, { kind: 'message' }>;

type CallBeginning = Pick<Call, 'ran' | 'mayHaveBegun' | 'delegate' | 'plain'>;

type OpenReply = {
  readonly step: ModelStep;
  readonly reply: Reply;
  readonly blocks: readonly CallBlock[];
};

/**
 * Runs the calls in order and stops at the first that must go the regular way, or that decides
 * about the others (L34, L36, L38, L41).
 */
export async function runOpenCalls(
  step: ModelStep,
  result: ModelResult,
  blocks: readonly CallBlock[],
): Promise<ModelCallAnswer> {
  if (result.kind !== 'message' || step.input.wrapUp) return result;
  const open = { step, reply: result, blocks };
  const effects = await runEffects(open);
  const ran = result.calls.map((call) => ({ ...call, ...effects.get(call) }));
  const handed = await handOverBatch(open, nextBatch(ran));
  const calls = ran.map((call) => ({ ...call, ...handed.get(call) }));
  return { ...result, calls, kind: calls.some(({ delegate }) => delegate) ? 'handed_over' : 'message' };
}

/** Marks the open calls of a reply whose attempt died, since any of them may have begun. */
export function inDoubt(found: ModelResult): ModelResult {
  if (found.kind !== 'message') return found;
  return {
    ...found,
    calls: found.calls.map((call) => (call.outcome ? call : { ...call, mayHaveBegun: true as const })),
  };
}

async function runEffects(open: OpenReply): Promise<ReadonlyMap<Call, CallBeginning>> {
  const ran = new Map<Call, CallBeginning>();
  for (const call of open.reply.calls) {
    if (!leavesFree(call.outcome ?? {})) break;
    if (call.outcome) continue;
    const done = await beginCall(open, call, 'with_reply');
    if (!done) break;
    ran.set(call, done);
    if (!done.ran || !leavesFree(done.ran)) break;
  }
  return ran;
}

/**
 * Returns the calls that would run next, together, unless an earlier call says otherwise (L35).
 * `calls` includes those that have run.
 */
function nextBatch(calls: readonly Call[]): readonly Call[] {
  const barred = calls.findIndex(({ outcome, ran }) => !leavesFree(outcome ?? ran ?? {}));
  const [batch = []] = groupCalls(barred < 0 ? calls : calls.slice(0, barred));
  return batch;
}

/**
 * Hands the batch over. This has no effect that the workflow, which knows more by then, could not
 * omit (L48, L51).
 */
async function handOverBatch(open: OpenReply, batch: readonly Call[]): Promise<ReadonlyMap<Call, CallBeginning>> {
  const { step, reply } = open;
  if (spentLimit(step.input.left ?? {}, reply.spend)) return new Map();
  const made = await Promise.all(batch.map((call) => beginCall(open, call, 'delegated')));
  const handed = new Map<Call, CallBeginning>();
  let room = MOST_HANDED_OVER;
  made.forEach((begun, at) => {
    if (begun?.delegate) room -= JSON.stringify(begun.delegate).length;
    if (begun && room >= 0) handed.set(batch[at]!, begun);
  });
  return handed;
}

/**
 * Begins a call. Returns null when it goes the regular way, as every call that was not planned
 * does.
 */
async function beginCall(
  { step, reply, blocks }: OpenReply,
  { index, safe }: Call,
  plan: CallPlan,
): Promise<CallBeginning | null> {
  const { deps, attempt, input, config, live } = step;
  const block = blocks.find((each) => each.index === index);
  if (!block || attempt.signal.aborted) return null;
  const bound = deps.tools.bind(config, block, input.context);
  const traits = bound.traits();
  if (traits.plan !== plan) return null;
  try {
    const done = await bound.runClaimed(attempt, {
      key: callKey(config.chain, reply.head, index),
      iteration: input.iteration,
      say: live.write,
      safe: plan === 'delegated' && safe,
      // Only calls of a reply get here that this attempt was the first to store.
      fresh: true,
    });
    if ('ask' in done) return null;
    if (!('delegate' in done)) return { ran: done.facts };
    const isLast = reply.calls.findLast(({ outcome }) => !outcome)?.index === index;
    return traits.plainEnd && isLast ? { ...done, plain: true } : done;
  } catch (error) {
    // The damage belongs to this call, not to the reply: the regular way meets it again and reports
    // it.
    if (isDamage(error)) return { mayHaveBegun: true };
    throw error;
  }
}

function leavesFree({ cancelsSiblings, modify, fatal, stop }: OutcomeFacts): boolean {
  return !cancelsSiblings && !modify && !fatal && stop === undefined;
}
