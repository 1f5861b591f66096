// Builds the message that answers a request: a summary, the reply of the model that was asked, or
// that of another it was handed over to.
import type { AdmittedRequest } from '../admit.ts';
import { findProfile } from '../models/profiles.ts';
import type { CacheUse } from '../prompt-cache.ts';
import type { DeclinedReply, ParsedRequest, Reply } from '../script.ts';
import type { Bindings } from '../thinking/bindings.ts';
import { BETAS } from '../validate/betas.ts';
import { isSummaryRequest } from '../validate/compaction.ts';
import {
  buildBlocks,
  buildMessage,
  buildWholeBlock,
  computeUsage,
  type MessageBlock,
  newId,
  type ScriptedMessage,
  type Showing,
} from './message.ts';
import type { Json } from '../validate/shape.ts';
import { listNetToolChanges } from '../validate/tool-changes.ts';
import { makeCompactionBlock } from '../compaction/blocks.ts';
import { present } from '../../workflows/contract/present.ts';

/** The thinking shown to a request that does not say; absent: the model's own default. */
export type ThinkingDisplay = 'summarized' | 'omitted';

type AnswerStage = {
  readonly admitted: AdmittedRequest;
  readonly cache: CacheUse;
  readonly bindings: Bindings;
  readonly display: ThinkingDisplay | undefined;
};

export function buildAnswer(stage: AnswerStage, reply: Reply): ScriptedMessage {
  const message = answerRequest(stage, reply);
  const { usage } = message;
  return usage === null ? message : { ...message, usage: { ...usage, ...pickTier(stage.admitted.request) } };
}

/** Returns the choices of the request that have a price of their own. */
function pickTier({ inference_geo: geo, speed }: ParsedRequest): object {
  return { ...(geo ? { inference_geo: geo } : {}), ...(speed ? { speed } : {}) };
}

function answerRequest(stage: AnswerStage, reply: Reply): ScriptedMessage {
  const { admitted, cache, bindings } = stage;
  const { request, transformations } = admitted;
  if (isSummaryRequest(request)) return buildSummary(admitted, reply, cache, bindings);
  const reported = transformations === undefined ? {} : { transformations };
  const { declined, content = [] } = reply;
  const to = declined === undefined ? undefined : findServingModel(request);
  if (declined !== undefined && to !== undefined)
    return { ...reported, ...answerByFallback(stage, reply, declined, to) };
  const before = declined === undefined ? content : content.slice(0, declined.at ?? 0);
  const blocks = buildBlocks(before, bindings.signer(request, admitted.last), chooseShowing(stage, request));
  return {
    ...reported,
    ...buildMessage(declined === undefined ? reply : markDeclined(reply, declined), request.model, blocks, cache),
  };
}

function markDeclined(reply: Reply, { category, explanation }: DeclinedReply): Reply {
  return {
    ...reply,
    stop_reason: 'refusal',
    stop_details: { type: 'refusal', category, explanation: explanation ?? null },
  };
}

/**
 * Returns the first model that the request names; for `default`, the documented one for its model.
 * Undefined: the request stays declined.
 */
function findServingModel(request: ParsedRequest): string | undefined {
  const { fallbacks } = request;
  if (typeof fallbacks === 'string') return findProfile(request.model)?.fallbacks?.[0];
  return fallbacks?.[0]?.model;
}

function answerByFallback(stage: AnswerStage, reply: Reply, declined: DeclinedReply, to: string): ScriptedMessage {
  const { admitted, cache, bindings } = stage;
  const { request, betas, last, transformations } = admitted;
  const { content = [] } = reply;
  const at = declined.at ?? 0;
  const later: ParsedRequest = { ...request, model: to };
  const checked = bindings.check(later, betas);
  const trigger = { type: 'refusal', category: declined.category };
  const before = buildBlocks(content.slice(0, at), bindings.signer(request, last), chooseShowing(stage, request));
  const block = buildWholeBlock({ type: 'fallback', from: { model: request.model }, to: { model: to }, trigger });
  const after = buildBlocks(content.slice(at), bindings.signer(later, checked.last), chooseShowing(stage, later));
  const iterations = [
    { type: 'message', model: request.model, ...computeUsage(before, cache) },
    { type: 'fallback_message', model: to, ...computeUsage(after, cache) },
  ];
  const message = buildMessage(reply, to, [...before, block, ...after], cache);
  return {
    ...message,
    ...(transformations === undefined ? {} : { finalTransformations: checked.transformations }),
    usage: message.usage === null ? null : { ...message.usage, ...computeUsage(after, cache), iterations },
  };
}

function chooseShowing({ admitted, display }: AnswerStage, request: ParsedRequest): Showing {
  const { model, thinking } = request;
  const wanted =
    thinking !== undefined && 'display' in thinking ? (thinking.display as Showing['display'] | null) : null;
  // Notes of a model between calls, with thinking otherwise off, are shown.
  const own =
    thinking?.type === 'between_tools' ? 'summarized' : (display ?? findProfile(model)?.display ?? 'summarized');
  return { display: wanted ?? own, counted: admitted.betas.includes(BETAS.tokenCount) };
}

// Answers a request for a summary: the script's text as a signed block, alone, or nothing when the
// script says how it failed.
function buildSummary(
  { request, betas, transformations }: AdmittedRequest,
  reply: Reply,
  cache: CacheUse,
  bindings: Bindings,
): ScriptedMessage {
  const summary = (reply.content ?? []).flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
  const stopReason = chooseStopReason(reply, summary);
  const changes = betas.includes(BETAS.inlineTools) ? listNetToolChanges(request as unknown as Json) : undefined;
  const whole = makeCompactionBlock(summary, bindings.compacted(request), changes);
  const written: MessageBlock = { start: {}, delta: null, streamed: summary, whole: {} };
  const { service_tier: tier, output_tokens_details: _details, ...cost } = computeUsage([written], cache);
  const iteration = { type: 'compaction', ...cost, ...reply.usage };
  return {
    head: {
      id: newId('msg'),
      type: 'message',
      role: 'assistant',
      model: request.model,
    },
    blocks: stopReason === 'compaction' ? [buildWholeBlock(whole)] : [],
    stopReason,
    ...present({ stopDetails: reply.stop_details, transformations }),
    usage: reply.usage === null ? null : { ...NO_USAGE, service_tier: tier, iterations: [iteration] },
  };
}

/** The usage of the reply itself, which a summary does not have. */
const NO_USAGE = {
  input_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
  output_tokens: 0,
};

/** Returns the stop reason. Only a text that ends well makes a summary. */
function chooseStopReason(reply: Reply, summary: string): string | null {
  if (reply.stop_reason !== undefined) return reply.stop_reason;
  if ((reply.content ?? []).some(({ type }) => type === 'tool_use')) return 'tool_use';
  return summary.trim() === '' ? 'end_turn' : 'compaction';
}
