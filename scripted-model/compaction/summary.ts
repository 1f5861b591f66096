// The answer to a request for a summary: the script's text as a signed block, alone, or nothing
// when the script says how it failed.
import type { Admitted } from '../admit.ts';
import { computedUsage, newId, wholeBlock, type MessageBlock, type ScriptedMessage } from '../answer/message.ts';
import type { CacheUse } from '../prompt-cache.ts';
import type { Reply } from '../script.ts';
import type { Bindings } from '../thinking/bindings.ts';
import { BETAS } from '../validate/betas.ts';
import type { Json } from '../validate/shape.ts';
import { netToolChanges } from '../validate/tool-changes.ts';
import { makeCompactionBlock } from './blocks.ts';

export function summaryMessage(
  { request, betas, transformations }: Admitted,
  reply: Reply,
  cache: CacheUse,
  bindings: Bindings,
): ScriptedMessage {
  const summary = (reply.content ?? []).flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
  const stopReason = stopReasonOf(reply, summary);
  const changes = betas.includes(BETAS.inlineTools) ? netToolChanges(request as unknown as Json) : undefined;
  const whole = makeCompactionBlock(summary, bindings.compacted(request), changes);
  const written: MessageBlock = { start: {}, delta: null, streamed: summary, whole: {} };
  const { service_tier: tier, output_tokens_details: _details, ...cost } = computedUsage([written], cache);
  const iteration = { type: 'compaction', ...cost, ...reply.usage };
  return {
    head: {
      id: newId('msg'),
      type: 'message',
      role: 'assistant',
      model: request.model,
    },
    blocks: stopReason === 'compaction' ? [wholeBlock(whole)] : [],
    stopReason,
    ...(reply.stop_details === undefined ? {} : { stopDetails: reply.stop_details }),
    ...(transformations === undefined ? {} : { transformations }),
    usage: reply.usage === null ? null : { ...NOTHING, service_tier: tier, iterations: [iteration] },
  };
}

/** No reply was made beside it. */
const NOTHING = {
  input_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
  output_tokens: 0,
};

/** Without a text that ends well there is no summary. */
function stopReasonOf(reply: Reply, summary: string): string | null {
  if (reply.stop_reason !== undefined) return reply.stop_reason;
  if ((reply.content ?? []).some(({ type }) => type === 'tool_use')) return 'tool_use';
  return summary.trim() === '' ? 'end_turn' : 'compaction';
}
