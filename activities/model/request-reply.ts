// Requests a reply from the model, and repeats the request without each part that the API refuses
// until nothing is left to leave out: thinking that no longer fits the messages before it (L59), a
// summary that the API signed elsewhere, a tool whose definition it does not accept, or a field
// that the server does not know.
import { runFields } from '../../system/log.ts';
import type { ModelRequest } from '../model-deps.ts';
import { isThinkingDropped } from '../../store/transcript/preamble.ts';
import { changesTools, hasSummarisedChanges } from '../../store/transcript/system-message.ts';
import { type AttemptOutcome, attemptReply, replyPort } from './attempt-reply.ts';
import { classifyFailure, isRefusal, type Verdict } from './classify.ts';
import { findUnknownPart, partToLeaveOut, toolAt } from './refused/refused-part.ts';
import { asServed, buildRequest, REFUSABLE } from './request.ts';
import type { ModelStep } from './step.ts';
import { beginAnew, leaveOut, type PausedReply, type PreparedStep, withPreamble } from './tell-preamble.ts';
import type { Message } from '@anthropic-ai/sdk/resources/messages';
import type { Hash } from '../../workflows/contract/ids.ts';
import { addSpend, spentLimit } from '../../workflows/contract/loop.ts';
import { listContentEvents } from '../../store/live/tell.ts';
import { listResumableBlocks } from '../../store/view/sent-reply.ts';
import { findNewerVersion, hashOf, isDamage, parseStored } from '../../store/values/store.ts';
import { pricesOf, spendOf } from './bill.ts';

/** `step` includes the entries that were appended on the way. */
type RequestOutcome = { readonly step: ModelStep; readonly outcome: AttemptOutcome };

export async function requestReply(step: ModelStep): Promise<RequestOutcome> {
  return requestWith(withPreamble(step));
}

async function requestWith(prepared: PreparedStep): Promise<RequestOutcome> {
  const { step, body, plain, outcome } = await requestOnce(prepared);
  const verdict = refusalOf(step, outcome);
  const changed = verdict && (withoutRefused(step, verdict, body) ?? withoutPaused(step, verdict));
  if (changed) return requestWith(changed);
  if (outcome.kind === 'judged' && isThinkingDropped(outcome.message)) reportUnbound(step, 'it was dropped');
  const pause = await keepPaused(step, plain, outcome);
  if (pause) return requestWith({ ...step, ...pause });
  return { step, outcome };
}

/** The refusal names no part, so the reply begins anew, once. */
function withoutPaused(step: PreparedStep, verdict: Verdict): PreparedStep | null {
  if (!step.paused || verdict.kind !== 'failed' || !isRefusal(verdict.status)) return null;
  report(step, 'warn', `a reply that was paused begins anew, for its continuation was refused: ${verdict.detail}`);
  const { paused: _, ...tries } = step.tries;
  return { ...step, tries, paused: null };
}

/**
 * Returns null when there is no part to leave out. The worker remembers what a server does not
 * know.
 */
function withoutRefused(step: PreparedStep, verdict: Verdict, body: ModelRequest): PreparedStep | null {
  const { models } = step.deps;
  const { name } = step.chosen.model;
  if (verdict.kind === 'unbound_thinking') {
    if (step.anew) return null;
    reportUnbound(step, verdict.detail);
    return beginAnew(step, 'refused');
  }
  if (verdict.kind === 'unresolved_tool') {
    const isSummarised = hasSummarisedChanges(body.messages);
    if (step.anew || !(isSummarised || changesTools(body.messages))) return null;
    const words = `${name} does not take what messages have told of tools: they are sent anew, and its thinking is not kept`;
    report(step, 'warn', `${words} (${verdict.detail})`);
    return beginAnew(step, isSummarised ? 'summary_refused' : 'tools');
  }
  if (verdict.kind === 'refused_definition') {
    const tool = toolAt(body, verdict.at);
    return tool ? leaveOut(step, tool, verdict.detail) : null;
  }
  const part = partToLeaveOut(verdict, body);
  if (part === undefined) return null;
  if (part === REFUSABLE.summaries) {
    const unknown = findUnknownPart(verdict, body);
    if (unknown) models.refuse(name, unknown);
    const words = `${name} does not take the summary that the API has signed: it is sent in words, without earlier thinking`;
    report(step, 'warn', `${words} (${verdict.detail})`);
    return beginAnew(step, 'summary_refused');
  }
  models.refuse(name, part);
  return part === REFUSABLE.binding ? step : withPreamble(step.original);
}

/** `plain` is the request without the part of a paused reply. */
type RequestAttempt = {
  readonly step: PreparedStep;
  readonly body: ModelRequest;
  readonly plain: ModelRequest;
  readonly outcome: AttemptOutcome;
};

async function requestOnce(prepared: PreparedStep): Promise<RequestAttempt> {
  const { deps, attempt, input, config, chosen, live, base, preamble } = prepared;
  const { ids, ...sent } = await deps.transcripts.messages(base, asServed(chosen.model, deps.models));
  const canBind = !deps.models.isRefused(chosen.model.name, REFUSABLE.binding);
  const plain = buildRequest(config, chosen, { ...input, ...sent, preamble, canBind });
  const { iteration } = input;
  if (!prepared.paused)
    live.write({ type: 'request_start', iteration, attempt: attempt.number, model: chosen.model.name });
  const paused = prepared.paused === undefined ? await resumePaused(prepared, plain) : prepared.paused;
  const body = paused ? continueRequest(plain, paused) : plain;
  const step = { ...prepared, paused, callIds: ids };
  return { step, body, plain, outcome: await attemptReply(body, replyPort(step), paused?.message) };
}

function refusalOf({ deps }: ModelStep, outcome: AttemptOutcome): Verdict | null {
  return outcome.kind === 'failed' ? classifyFailure(outcome.error, deps.now(), deps.redact) : null;
}

/** Reports a refusal that should never happen, loudly. */
function reportUnbound(step: ModelStep, detail: string): void {
  const { name } = step.chosen.model;
  const words = `${name} found thinking bound to something else than what stands before it, and it is not sent again: ${detail}`;
  report(step, 'error', `${words} (a defect of Perdure: please report it)`);
}

function report({ deps, config, input, attempt }: ModelStep, level: 'warn' | 'error', words: string): void {
  deps.log(level, words, { ...runFields(config), iteration: input.iteration, attempt: attempt.number });
}

/** A reply that was paused this often is taken as it is. */
const MOST_PAUSES = 20;

/** `of` is the digest of the request that it answers. */
type StoredPause = { readonly v: 1; readonly of: Hash; readonly message: Message };

/**
 * Continues a reply that the API paused in the middle because its own tools take long
 * (`pause_turn`, L88): sending the received part back as it came makes the reply go on. It is one
 * reply and one step of the loop, so the activity handles it alone, and the workflow schedules
 * nothing more. Repeats the request with the received part at its end, so that the reply goes on.
 */
function continueRequest({ messages, ...body }: ModelRequest, { message }: PausedReply): ModelRequest {
  return { ...body, messages: [...messages, { role: 'assistant', content: [...listResumableBlocks(message)] }] };
}

/**
 * Stores the received part, so that a later attempt continues there and pays for no search twice.
 * Returns null when the reply stands as it is. `body` is the request without paused parts.
 */
async function keepPaused(
  step: ModelStep & { readonly paused?: PausedReply | null },
  body: ModelRequest,
  outcome: AttemptOutcome,
): Promise<{ readonly tries: ModelStep['tries']; readonly paused: PausedReply } | null> {
  if (outcome.kind !== 'judged' || !isPaused(outcome)) return null;
  const { deps, attempt, input, config } = step;
  const { message, usage } = outcome;
  const spend = addSpend(step.tries.spend, spendOf(usage, pricesOf(step)));
  const times = (step.paused?.times ?? 0) + 1;
  const why = spentLimit(input.left ?? {}, spend) ? 'the budget of the run is spent' : `it was paused ${times} times`;
  if (times > MOST_PAUSES || spentLimit(input.left ?? {}, spend)) {
    deps.log('warn', `a reply that the API has paused does not go on: ${why}`, { ...runFields(config) });
    return null;
  }
  const stored: StoredPause = { v: 1, of: digestOf(body), message };
  const hash = await deps.store.put(new TextEncoder().encode(JSON.stringify(stored)));
  const tries = { ...step.tries, spend, paused: hash };
  attempt.remember(tries, 'now');
  return { tries, paused: { message, times } };
}

function isPaused({ verdict, message }: Extract<AttemptOutcome, { kind: 'judged' }>): boolean {
  return message.stop_reason === 'pause_turn' && verdict.kind === 'reply' && verdict.calls.length === 0;
}

/**
 * Finds the part of the reply to this request that an earlier attempt received, and shows it to
 * watchers again. Null when there is none, when the request has changed since, or when it is lost.
 */
async function resumePaused(step: ModelStep, body: ModelRequest): Promise<PausedReply | null> {
  const { deps, tries, input, attempt, live } = step;
  if (tries.paused === undefined) return null;
  const stored = await readStoredPause(step, tries.paused);
  if (stored === null || stored.of !== digestOf(body)) return null;
  const { message } = stored;
  const received = { iteration: input.iteration, attempt: attempt.number, message };
  for (const event of listContentEvents(received).slice(1)) live.write(event);
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
