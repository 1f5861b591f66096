// Which message answers a request: a summary, the reply of the model that was asked, or of another
// that it was handed over to.
import type { Admitted } from '../admit.ts';
import { summaryMessage } from '../compaction/summary.ts';
import { profileOf } from '../models/profiles.ts';
import type { CacheUse } from '../prompt-cache.ts';
import type { Declined, ParsedRequest, Reply } from '../script.ts';
import type { Bindings } from '../thinking/bindings.ts';
import { BETAS } from '../validate/betas.ts';
import { asksForSummary } from '../validate/compaction.ts';
import {
  buildMessage,
  computedUsage,
  messageBlocks,
  wholeBlock,
  type ScriptedMessage,
  type Showing,
} from './message.ts';

/** What a request that does not say is shown of thinking; absent: as the model does. */
export type Display = 'summarized' | 'omitted';

type Stage = {
  readonly admitted: Admitted;
  readonly cache: CacheUse;
  readonly bindings: Bindings;
  readonly display: Display | undefined;
};

export function messageFor(stage: Stage, reply: Reply): ScriptedMessage {
  const message = answerFor(stage, reply);
  const { usage } = message;
  return usage === null ? message : { ...message, usage: { ...usage, ...tierOf(stage.admitted.request) } };
}

/** What the request chose that has a price of its own. */
function tierOf({ inference_geo: geo, speed }: ParsedRequest): object {
  return { ...(geo ? { inference_geo: geo } : {}), ...(speed ? { speed } : {}) };
}

function answerFor(stage: Stage, reply: Reply): ScriptedMessage {
  const { admitted, cache, bindings } = stage;
  const { request, transformations } = admitted;
  if (asksForSummary(request)) return summaryMessage(admitted, reply, cache, bindings);
  const told = transformations === undefined ? {} : { transformations };
  const { declined, content = [] } = reply;
  const to = declined === undefined ? undefined : servingModel(request);
  if (declined !== undefined && to !== undefined) return { ...told, ...handedOver(stage, reply, declined, to) };
  const before = declined === undefined ? content : content.slice(0, declined.at ?? 0);
  const blocks = messageBlocks(before, bindings.signer(request, admitted.last), showingOf(stage, request));
  return {
    ...told,
    ...buildMessage(declined === undefined ? reply : refused(reply, declined), request.model, blocks, cache),
  };
}

function refused(reply: Reply, { category, explanation }: Declined): Reply {
  return {
    ...reply,
    stop_reason: 'refusal',
    stop_details: { type: 'refusal', category, explanation: explanation ?? null },
  };
}

/**
 * The first model that the request names; for `default`, the one the documents name for its model.
 * None: it stays declined.
 */
function servingModel(request: ParsedRequest): string | undefined {
  const { fallbacks } = request;
  if (typeof fallbacks === 'string') return profileOf(request.model)?.fallbacks?.[0];
  return fallbacks?.[0]?.model;
}

function handedOver(stage: Stage, reply: Reply, declined: Declined, to: string): ScriptedMessage {
  const { admitted, cache, bindings } = stage;
  const { request, betas, last, transformations } = admitted;
  const { content = [] } = reply;
  const at = declined.at ?? 0;
  const later: ParsedRequest = { ...request, model: to };
  const checked = bindings.check(later, betas);
  const trigger = { type: 'refusal', category: declined.category };
  const before = messageBlocks(content.slice(0, at), bindings.signer(request, last), showingOf(stage, request));
  const block = wholeBlock({ type: 'fallback', from: { model: request.model }, to: { model: to }, trigger });
  const after = messageBlocks(content.slice(at), bindings.signer(later, checked.last), showingOf(stage, later));
  const iterations = [
    { type: 'message', model: request.model, ...computedUsage(before, cache) },
    { type: 'fallback_message', model: to, ...computedUsage(after, cache) },
  ];
  const message = buildMessage(reply, to, [...before, block, ...after], cache);
  return {
    ...message,
    ...(transformations === undefined ? {} : { finalTransformations: checked.transformations }),
    usage: message.usage === null ? null : { ...message.usage, ...computedUsage(after, cache), iterations },
  };
}

function showingOf({ admitted, display }: Stage, request: ParsedRequest): Showing {
  const { model, thinking } = request;
  const said = thinking !== undefined && 'display' in thinking ? (thinking.display as Showing['display'] | null) : null;
  // What a model notes between calls, with thinking otherwise off, is shown.
  const own =
    thinking?.type === 'between_tools' ? 'summarized' : (display ?? profileOf(model)?.display ?? 'summarized');
  return { display: said ?? own, counted: admitted.betas.includes(BETAS.tokenCount) };
}
