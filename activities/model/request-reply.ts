// Asks the model for a reply, and asks at once again where the API refused what only this request can do without: thinking that no longer
// fits what stands before it (L59), a summary that the API has signed elsewhere, or a field that the server does not know.
import { aboutRun } from '../log.ts';
import { droppedThinking } from '../transcript/preamble.ts';
import { type Attempted, attemptReply, replyPort } from './attempt-reply.ts';
import { classify, type Verdict } from './classify.ts';
import { buildRequest } from './request.ts';
import type { ModelStep } from './step.ts';
import { withoutThinking, type PreparedStep } from './tell-preamble.ts';

/** `step`: with what was appended on the way. */
type Requested = { readonly step: ModelStep; readonly attempted: Attempted };

/** The name under which a server's refusal is remembered. */
export const BINDING = 'block_binding';

/** At most twice more: once without the field, and once without thinking. */
export async function requestReply(step: PreparedStep): Promise<Requested> {
  const { models } = step.deps;
  const { name } = step.chosen.model;
  const attempted = await requestOnce(step);
  const verdict = refusal(step, attempted);
  if (verdict?.kind === 'refused_field' && namesBinding(verdict.field) && models.refuse(name, BINDING)) {
    return requestReply(step);
  }
  if (verdict?.kind === 'unbound_thinking' || verdict?.kind === 'refused_summary') {
    reportUnbound(step, verdict);
    const bare = withoutThinking(step);
    return { step: bare, attempted: await requestOnce(bare) };
  }
  if (attempted.kind === 'judged' && droppedThinking(attempted.message))
    reportUnbound(step, { kind: 'unbound_thinking', detail: 'it was dropped' });
  return { step, attempted };
}

function namesBinding(field: string): boolean {
  return /block_binding|^anthropic-beta$/.test(field);
}

async function requestOnce(step: PreparedStep): Promise<Attempted> {
  const { deps, attempt, input, config, chosen, live, base, preamble } = step;
  const messages = await deps.transcripts.messages(base, chosen.model);
  const binding = !deps.models.isRefused(chosen.model.name, BINDING);
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
