// Continues a reply that the API paused in the middle because its own tools take long
// (`pause_turn`, L88): sending the received part back as it came makes the reply go on. It is one
// reply and one step of the loop, so the activity handles it alone, and the workflow schedules
// nothing more.
import type { Message } from '@anthropic-ai/sdk/resources/messages';
import type { Hash } from '../../workflows/contract/ids.ts';
import { addSpend, spentLimit } from '../../workflows/contract/loop.ts';
import { runFields } from '../../system/log.ts';
import { listContentEvents } from '../../store/live/retell.ts';
import { listResumableBlocks } from '../../store/view/sent-reply.ts';
import { findNewerVersion, hashOf, isDamage, parseStored } from '../../store/values/store.ts';
import type { ModelRequest } from '../deps.ts';
import type { AttemptOutcome } from './attempt-reply.ts';
import { pricesOf, spendOf } from './bill.ts';
import type { ModelStep } from './step.ts';
import type { PausedReply } from './tell-preamble.ts';

/** A reply that was paused this often is taken as it is. */
const MOST_PAUSES = 20;

/** `of` is the digest of the request that it answers. */
type StoredPause = { readonly v: 1; readonly of: Hash; readonly message: Message };

/** Repeats the request with the received part at its end, so that the reply goes on. */
export function continueRequest({ messages, ...body }: ModelRequest, { message }: PausedReply): ModelRequest {
  return { ...body, messages: [...messages, { role: 'assistant', content: [...listResumableBlocks(message)] }] };
}

/**
 * Stores the received part, so that a later attempt continues there and pays for no search twice.
 * Returns null when the reply stands as it is. `body` is the request without paused parts.
 */
export async function keepPaused(
  step: ModelStep & { readonly paused?: PausedReply | null },
  body: ModelRequest,
  attempted: AttemptOutcome,
): Promise<{ readonly tries: ModelStep['tries']; readonly paused: PausedReply } | null> {
  if (attempted.kind !== 'judged' || !isPaused(attempted)) return null;
  const { deps, attempt, input, config } = step;
  const { message, usage } = attempted;
  const spend = addSpend(step.tries.spend, spendOf(usage, pricesOf(step)));
  const times = (step.paused?.times ?? 0) + 1;
  const why = spentLimit(input.left ?? {}, spend) ? 'the budget of the run is spent' : `it was paused ${times} times`;
  if (times > MOST_PAUSES || spentLimit(input.left ?? {}, spend)) {
    deps.log('warn', `a reply that the API has paused does not go on: ${why}`, { ...runFields(config) });
    return null;
  }
  const kept: StoredPause = { v: 1, of: digestOf(body), message };
  const hash = await deps.store.put(new TextEncoder().encode(JSON.stringify(kept)));
  const tries = { ...step.tries, spend, paused: hash };
  attempt.remember(tries, 'now');
  return { tries, paused: { message, times } };
}

function isPaused({ judged, message }: Extract<AttemptOutcome, { kind: 'judged' }>): boolean {
  return message.stop_reason === 'pause_turn' && judged.kind === 'reply' && judged.calls.length === 0;
}

/**
 * Finds the part of the reply to this request that an earlier attempt received, and shows it to
 * watchers again. Null when there is none, when the request has changed since, or when it is lost.
 */
export async function resumePaused(step: ModelStep, body: ModelRequest): Promise<PausedReply | null> {
  const { deps, tries, input, attempt, live } = step;
  if (tries.paused === undefined) return null;
  const kept = await readStoredPause(step, tries.paused);
  if (kept === null || kept.of !== digestOf(body)) return null;
  const { message } = kept;
  const told = { iteration: input.iteration, attempt: attempt.number, message };
  for (const event of listContentEvents(told).slice(1)) live.write(event);
  deps.log('info', 'a reply that the API had paused goes on', { ...runFields(step.config) });
  return { message, times: 1 };
}

/**
 * Reads the stored part. Null for a damaged one: the reply begins anew, as nothing else relies on
 * it.
 */
async function readStoredPause({ deps }: ModelStep, hash: Hash): Promise<StoredPause | null> {
  try {
    const value = parseStored(await deps.store.get(hash));
    return findNewerVersion(value) === undefined ? (value as StoredPause) : null;
  } catch (error) {
    if (isDamage(error)) return null;
    throw error;
  }
}

/** Hashes the model and everything that thinking in the reply is bound to. */
function digestOf({ model, system, tools, messages }: ModelRequest): Hash {
  return hashOf(Buffer.from(JSON.stringify([model, system, tools, messages])));
}
