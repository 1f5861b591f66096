// Asks the model for a reply, and asks at once again where the API refused what only this request can do without: thinking that no longer
// fits what stands before it (L59), a summary that the API has signed elsewhere, or a field that the server does not know.
import { aboutRun } from '../log.ts';
import { droppedThinking } from '../transcript/preamble.ts';
import { entriesOf } from '../transcript/transcripts.ts';
import { type Attempted, attemptReply, replyPort } from './attempt-reply.ts';
import { classify, type Verdict } from './classify.ts';
import { BETA_HEADER } from './refused/request-parts.ts';
import { asServed, buildRequest, REFUSABLE } from './request.ts';
import type { ModelStep } from './step.ts';
import { prepareAgain, type PreparedStep, withoutThinking } from './tell-preamble.ts';

/** `step`: with what was appended on the way. */
type Requested = { readonly step: ModelStep; readonly attempted: Attempted };

/** Once more for each part that the server does not know, and once without thinking. */
export async function requestReply(step: PreparedStep): Promise<Requested> {
  const { models } = step.deps;
  const { name } = step.chosen.model;
  const attempted = await requestOnce(step);
  const verdict = refusal(step, attempted);
  const part = verdict && refusedPart(verdict, step);
  if (part && models.refuse(name, part))
    return requestReply(part === REFUSABLE.binding ? step : prepareAgain(step.given));
  if (verdict?.kind === 'unbound_thinking' || verdict?.kind === 'refused_summary') {
    reportUnbound(step, verdict);
    const bare = withoutThinking(step);
    return { step: bare, attempted: await requestOnce(bare) };
  }
  if (attempted.kind === 'judged' && droppedThinking(attempted.message))
    reportUnbound(step, { kind: 'unbound_thinking', detail: 'it was dropped' });
  return { step, attempted };
}

/** What the request can be made without. A header of betas is refused for the newest of them that it asks for. */
function refusedPart(verdict: Verdict, step: PreparedStep): string | undefined {
  if (verdict.kind === 'refused_role') return REFUSABLE.systemMessages;
  if (verdict.kind === 'refused_tools') return REFUSABLE.inlineTools;
  if (verdict.kind !== 'refused_field') return undefined;
  if (verdict.field.includes('block_binding')) return REFUSABLE.binding;
  if (verdict.field !== BETA_HEADER) return undefined;
  return bringsTools(step) ? REFUSABLE.inlineTools : REFUSABLE.binding;
}

function bringsTools({ base }: PreparedStep): boolean {
  return entriesOf(base).some(
    (entry) =>
      entry.kind === 'notice' && entry.notice.kind === 'preamble_changed' && entry.notice.toolsNew !== undefined,
  );
}

async function requestOnce(step: PreparedStep): Promise<Attempted> {
  const { deps, attempt, input, config, chosen, live, base, preamble } = step;
  const messages = await deps.transcripts.messages(base, asServed(chosen.model, deps.models));
  const binding = !deps.models.isRefused(chosen.model.name, REFUSABLE.binding);
  const body = buildRequest(config, chosen, preamble, messages, input, { binding });
  const { iteration } = input;
  live.write({ type: 'request_start', iteration, attempt: attempt.number, model: chosen.model.name });
  return attemptReply(body, replyPort(step));
}

function refusal({ deps }: ModelStep, attempted: Attempted): Verdict | null {
  return attempted.kind === 'failed' ? classify(attempted.error, deps.now(), deps.redact) : null;
}

/** A summary is refused by another account or platform than the one that made it; unbound thinking should never come to this, and is loud. */
function reportUnbound(
  { deps, config, input, attempt, chosen: { model } }: ModelStep,
  { kind, detail }: Pick<Verdict, 'kind' | 'detail'>,
): void {
  const about = { ...aboutRun(config), iteration: input.iteration, attempt: attempt.number };
  if (kind === 'refused_summary') {
    const words = `${model.name} does not take the summary that the API has signed: it is sent in words, without earlier thinking`;
    return deps.log('warn', `${words} (${detail})`, about);
  }
  const words = `${model.name} found thinking bound to something else than what stands before it, and it is not sent again: ${detail}`;
  deps.log('error', `${words} (a defect of Perdure: please report it)`, about);
}
