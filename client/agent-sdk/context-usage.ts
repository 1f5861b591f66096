// Tells how full the window of a session's model is, from the count that the API gave of its last
// request. Instructions, tools and messages are counted together.
import type { Entry, Workplace, SessionId } from '../faces/types.ts';
import { ClientProblem } from '../faces/start.ts';
import { headOf, transcriptReader } from '../faces/history.ts';
import { parseBaseName, catalogue } from '../../models/catalogue.ts';
import type { SDKControlGetContextUsageResponse } from './shapes/query.ts';

/** Reads the usage from the stored transcript. Throws ClientProblem `refused` before a reply. */
export async function readContextUsage({
  session: id,
  store,
  temporal,
}: Pick<Workplace, 'session' | 'store' | 'temporal'>): Promise<SDKControlGetContextUsageResponse> {
  const session = id as SessionId;
  return usageIn(await transcriptReader(store).entries(session, await headOf(temporal.client, session)));
}

/**
 * Reports the usage as of the last reply, or the estimate of a later compaction. Throws
 * ClientProblem `refused` before the first reply.
 */
export function usageIn(entries: readonly Entry[]): SDKControlGetContextUsageResponse {
  const last = entries.findLastIndex(({ kind }) => kind === 'reply');
  const reply = entries[last];
  if (reply?.kind !== 'reply')
    throw new ClientProblem('refused', 'no reply has come yet, so that nothing has been counted');
  const { model, usage } = reply.message;
  const { input_tokens: input, output_tokens: output } = usage;
  const counted = input + output + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0);
  const boundary = entries.slice(last).findLast((entry) => entry.kind === 'boundary');
  const totalTokens = boundary?.kind === 'boundary' ? boundary.after : counted;
  const { window = 0 } = catalogue.models[parseBaseName(model).base] ?? {};
  const free = Math.max(0, window - totalTokens);
  return {
    model,
    totalTokens,
    maxTokens: window,
    rawMaxTokens: window,
    percentage: window === 0 ? 0 : Math.round((100 * totalTokens) / window),
    categories: [
      { name: 'Conversation, instructions and tools', tokens: totalTokens, color: 'text', kind: 'used' },
      { name: 'Free space', tokens: free, color: 'inactive', kind: 'free' },
    ],
  };
}
