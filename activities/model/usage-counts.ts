// What a server says that a reply was billed: any of it may be missing, or be anything.
import type { Message } from '@anthropic-ai/sdk/resources/messages';

/** As a server sent it: any of it may be missing, or be anything. */
export type Counts = Readonly<Record<string, unknown>>;

/**
 * The head of a reply that was paused and went on: each of its requests was billed by itself, and
 * the last one says how full the window is.
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

/** Searches of the web that a reply was billed for. */
export function countSearches(usage: Message['usage'] | undefined): number {
  const { server_tool_use: used } = (usage ?? {}) as unknown as Counts;
  return isCounts(used) ? wholeCount(used['web_search_requests']) : 0;
}

/** No reply has so many tokens: sums of what a server makes up must stay numbers. */
const MOST_TOKENS = 1_000_000_000;

/** Missing or absurd counts of a server count as nothing. */
export function wholeCount(value: unknown): number {
  return typeof value === 'number' && value > 0 && value <= MOST_TOKENS ? Math.ceil(value) : 0;
}

export function isCounts(value: unknown): value is Counts {
  return typeof value === 'object' && value !== null;
}
