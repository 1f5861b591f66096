// Answers a request for a summary: the script's text as a signed block, alone, or nothing when the
// script says how it failed.
import type { AdmittedRequest } from '../admit.ts';
import { computeUsage, newId, buildWholeBlock, type MessageBlock, type ScriptedMessage } from '../answer/message.ts';
import type { CacheUse } from '../prompt-cache.ts';
import type { Reply } from '../script.ts';
import type { Bindings } from '../thinking/bindings.ts';
import { BETAS } from '../validate/betas.ts';
import type { Json } from '../validate/shape.ts';
import { listNetToolChanges } from '../validate/tool-changes.ts';
import { makeCompactionBlock } from './blocks.ts';
import { present } from '../../workflows/contract/present.ts';

export function buildSummary(
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
