// Asks the model for a reply, and repeats the request without each part that the API refuses, until
// there is nothing left to leave out: thinking that no longer fits the messages before it (L59), a
// summary that the API signed elsewhere, a tool whose definition it does not take, or a field that
// the server does not know.
import { runFields } from '../../system/log.ts';
import type { ModelRequest } from '../deps.ts';
import { isThinkingDropped } from '../../store/transcript/preamble.ts';
import { changesTools, hasSummarisedChanges } from '../../store/transcript/system-message.ts';
import { type AttemptOutcome, attemptReply, replyPort } from './attempt-reply.ts';
import { classifyFailure, isRefusal, type Verdict } from './classify.ts';
import { findUnknownPart, partToLeaveOut, toolAt } from './refused/refused-part.ts';
import { asServed, buildRequest, REFUSABLE } from './request.ts';
import { continueRequest, keepPaused, resumePaused } from './paused-reply.ts';
import type { ModelStep } from './step.ts';
import { beginAnew, leaveOut, type PreparedStep, withPreamble } from './tell-preamble.ts';

/** `step` includes the entries that were appended on the way. */
type RequestOutcome = { readonly step: ModelStep; readonly attempted: AttemptOutcome };

export async function requestReply(given: ModelStep): Promise<RequestOutcome> {
  return requestWith(withPreamble(given));
}

async function requestWith(given: PreparedStep): Promise<RequestOutcome> {
  const { step, body, plain, attempted } = await requestOnce(given);
  const verdict = refusalOf(step, attempted);
  const changed = verdict && (withoutRefused(step, verdict, body) ?? withoutPaused(step, verdict));
  if (changed) return requestWith(changed);
  if (attempted.kind === 'judged' && isThinkingDropped(attempted.message)) reportUnbound(step, 'it was dropped');
  const kept = await keepPaused(step, plain, attempted);
  if (kept) return requestWith({ ...step, ...kept });
  return { step, attempted };
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
  return part === REFUSABLE.binding ? step : withPreamble(step.given);
}

/** `plain` is the request without the part of a paused reply. */
type RequestAttempt = {
  readonly step: PreparedStep;
  readonly body: ModelRequest;
  readonly plain: ModelRequest;
  readonly attempted: AttemptOutcome;
};

async function requestOnce(given: PreparedStep): Promise<RequestAttempt> {
  const { deps, attempt, input, config, chosen, live, base, preamble } = given;
  const { messages, ids } = await deps.transcripts.messages(base, asServed(chosen.model, deps.models));
  const canBind = !deps.models.isRefused(chosen.model.name, REFUSABLE.binding);
  const plain = buildRequest(config, chosen, { ...input, preamble, messages, canBind });
  const { iteration } = input;
  if (!given.paused)
    live.write({ type: 'request_start', iteration, attempt: attempt.number, model: chosen.model.name });
  const paused = given.paused === undefined ? await resumePaused(given, plain) : given.paused;
  const body = paused ? continueRequest(plain, paused) : plain;
  const step = { ...given, paused, callIds: ids };
  return { step, body, plain, attempted: await attemptReply(body, replyPort(step), paused?.message) };
}

function refusalOf({ deps }: ModelStep, attempted: AttemptOutcome): Verdict | null {
  return attempted.kind === 'failed' ? classifyFailure(attempted.error, deps.now(), deps.redact) : null;
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
