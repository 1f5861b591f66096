// Reads the usage that a server reports for a reply. Any count may be missing or of any type.
import type { Message } from '@anthropic-ai/sdk/resources/messages';

/** The counts as a server sent them, unchecked. */
export type Counts = Readonly<Record<string, unknown>>;

/**
 * Joins the parts of a paused reply. Each request was billed by itself, and the last one says how
 * full the window is.
 */
export function joinReplies(paused: Message | null, last: Message): Message {
  if (paused === null) return last;
  const iterations = [...iterationsOf(paused.usage), ...iterationsOf(last.usage)];
  const found = countSearches(paused.usage) + countSearches(last.usage);
  const used = (last.usage as unknown as Counts)['server_tool_use'] ?? paused.usage?.server_tool_use ?? {};
  const counted = found > 0 && { server_tool_use: { ...used, web_search_requests: found } };
  return { ...last, usage: { ...last.usage, iterations, ...counted } as Message['usage'] };
}

function iterationsOf(usage: Message['usage'] | undefined): readonly Counts[] {
  const { iterations, ...own } = (usage ?? {}) as unknown as Counts;
  const listed = Array.isArray(iterations) ? iterations.filter(isCounts) : [];
  return listed.length > 0 ? listed : [{ ...own, type: 'message' }];
}

/** Counts the web searches that a reply was billed for. */
export function countSearches(usage: Message['usage'] | undefined): number {
  const { server_tool_use: used } = (usage ?? {}) as unknown as Counts;
  return isCounts(used) ? wholeCount(used['web_search_requests']) : 0;
}

/** Larger counts are absurd: sums of counts that a server makes up must stay finite. */
const MOST_TOKENS = 1_000_000_000;

/** Reads a count of tokens; missing and absurd ones are zero. */
export function wholeCount(value: unknown): number {
  return typeof value === 'number' && value > 0 && value <= MOST_TOKENS ? Math.ceil(value) : 0;
}

export function isCounts(value: unknown): value is Counts {
  return typeof value === 'object' && value !== null;
}
