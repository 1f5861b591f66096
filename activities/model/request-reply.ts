// Asks the model for a reply, and asks at once again where the API refused what only this request can do without: thinking that no longer
// fits what stands before it (L59), or a field that the server does not know.
import { aboutRun } from '../log.ts';
import { currentEpoch, droppedThinking } from '../transcript/preamble.ts';
import { entriesOf } from '../transcript/transcripts.ts';
import { type Attempted, attemptReply, replyPort } from './attempt-reply.ts';
import { classify, type Verdict } from './classify.ts';
import { buildRequest } from './request.ts';
import type { ModelStep } from './step.ts';
import { withoutThinking } from './tell-preamble.ts';

/** Models whose server has refused to know of `block_binding`, for as long as the worker lives. */
export type RefusedFields = { readonly binding: Set<string> };

export function refusedFields(): RefusedFields {
  return { binding: new Set() };
}

/** `step`: with what was appended on the way. */
type Requested = { readonly step: ModelStep; readonly attempted: Attempted };

/** At most twice more: once without the field, and once without thinking. */
export async function requestReply(step: ModelStep, refused: RefusedFields): Promise<Requested> {
  const { name } = step.chosen.model;
  const asks = !refused.binding.has(name);
  const attempted = await requestOnce(step, asks);
  const verdict = refusal(step, attempted);
  if (verdict?.kind === 'refused_field' && /block_binding|^anthropic-beta$/.test(verdict.field) && asks) {
    refused.binding.add(name);
    return requestReply(step, refused);
  }
  if (verdict?.kind === 'unbound_thinking') {
    reportUnbound(step, verdict.detail);
    const bare = withoutThinking(step);
    return { step: bare, attempted: await requestOnce(bare, !refused.binding.has(name)) };
  }
  if (attempted.kind === 'judged' && droppedThinking(attempted.message)) reportUnbound(step, 'it was dropped');
  return { step, attempted };
}

async function requestOnce(step: ModelStep, binding: boolean): Promise<Attempted> {
  const { deps, attempt, input, config, chosen, live, base } = step;
  const current = currentEpoch(entriesOf(base));
  if (!current) throw new Error('the request belongs to no epoch');
  const messages = await deps.transcripts.messages(base, chosen.model);
  const body = buildRequest(config, chosen, current.epoch, messages, input, { binding });
  const { iteration } = input;
  live.write({ type: 'request_start', iteration, attempt: attempt.number, model: chosen.model.name });
  return attemptReply(body, replyPort(step));
}

function refusal({ deps }: ModelStep, attempted: Attempted): Verdict | null {
  return attempted.kind === 'failed' ? classify(attempted.error, deps.now(), deps.redact) : null;
}

/** Nothing that is sent should ever come to this: it is loud. */
function reportUnbound({ deps, config, input, attempt, chosen }: ModelStep, detail: string): void {
  const { iteration } = input;
  const words = `${chosen.model.name} found thinking bound to something else than what stands before it, and it is not sent again: ${detail}`;
  deps.log('error', `${words} (a defect of Perdure: please report it)`, {
    ...aboutRun(config),
    iteration,
    attempt: attempt.number,
  });
}
