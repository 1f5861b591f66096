// Begins the calls that a stored reply leaves open at once, in the same activity, where nothing
// stands in their way. Effectful calls run one after the other in the model's order; of the batch
// after them, the calls that the workflow carries out are handed over to it (L62). A turn with them
// costs one activity instead of one for each. If this attempt dies, the step record gives the reply
// without them, and the regular way finds their outcomes, their claims (L40), or their delegations.
import type { Call, ModelCallAnswer, ModelResult, OutcomeFacts } from '../../workflows/contract/activities.ts';
import { callKey } from '../../workflows/contract/ids.ts';
import { groupCalls } from '../../workflows/contract/calls.ts';
import { spentLimit } from '../../workflows/contract/loop.ts';
import { isDamage, StoreError } from '../../store/values/store.ts';
import type { CallBlock, CallOutcome, CallPlan } from '../calls/call-port.ts';
import { recordOutcome } from '../calls/journal.ts';
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
  early: ReadonlyMap<number, CallOutcome> = new Map(),
): Promise<ModelCallAnswer> {
  if (result.kind !== 'message' || step.input.wrapUp) return result;
  const reply = { ...result, calls: await recordEarly(step, result, early) };
  const open = { step, reply, blocks };
  const effects = await runEffects(open);
  const ran = reply.calls.map((call) => ({ ...call, ...effects.get(call) }));
  const handed = await handOverBatch(open, nextBatch(ran));
  const calls = ran.map((call) => ({ ...call, ...handed.get(call) }));
  return { ...result, calls, kind: calls.some(({ delegate }) => delegate) ? 'handed_over' : 'message' };
}

/**
 * Records the outcomes of early calls that finished behind one that had not: the reply could not
 * hold them, for its outcomes are in the model's order (L35, L37). Those that cannot be stored run
 * the regular way.
 */
async function recordEarly(
  { deps, attempt, config }: ModelStep,
  { head, calls }: Reply,
  early: ReadonlyMap<number, CallOutcome>,
): Promise<readonly Call[]> {
  return await Promise.all(
    calls.map(async (call) => {
      const known = call.outcome ? undefined : early.get(call.index);
      if (!known) return call;
      const key = callKey(config.chain, head, call.index);
      const { outcome, facts } = known;
      const keyed = { outcome: { ...outcome, log: { ...outcome.log, key } }, facts };
      try {
        const recorded = await recordOutcome(deps.store, { session: attempt.session, key }, keyed);
        const { givenUp: _, ...rest } = call;
        return { ...rest, ran: recorded.facts };
      } catch (error) {
        if (error instanceof StoreError) return call;
        throw error;
      }
    }),
  );
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
    const known = call.outcome ?? call.ran;
    if (!leavesFree(known ?? {})) break;
    if (known) continue;
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
  const beginnings = await Promise.all(batch.map((call) => beginCall(open, call, 'delegated')));
  const handed = new Map<Call, CallBeginning>();
  let room = MOST_HANDED_OVER;
  beginnings.forEach((beginning, at) => {
    if (beginning?.delegate) room -= JSON.stringify(beginning.delegate).length;
    if (beginning && room >= 0) handed.set(batch[at]!, beginning);
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
    const isLast = reply.calls.findLast(({ outcome, ran }) => !outcome && !ran)?.index === index;
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
