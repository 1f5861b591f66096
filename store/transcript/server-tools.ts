// Knows the tools that the API carries out by itself while it makes a reply (L88). They are offered
// among the others. This worker runs none of them, and no rule can ask about one of their calls.
import type { ContentBlock, Tool, WebSearchTool20250305 } from '@anthropic-ai/sdk/resources/messages';
import type { WebSearchSettings } from '../configuration.ts';

/** The name of the search in rules and lists of tools. */
export const WEB_SEARCH = 'web_search';

/**
 * Returns the definition that a request carries among its tools, though it has no schema of its
 * own.
 */
export function webSearchTool(settings: WebSearchSettings): Tool {
  const { maxUses, allowedDomains, blockedDomains, userLocation } = settings;
  const tool: WebSearchTool20250305 = {
    type: 'web_search_20250305',
    name: WEB_SEARCH,
    ...(maxUses !== undefined && { max_uses: maxUses }),
    ...(allowedDomains && { allowed_domains: [...allowedDomains] }),
    ...(blockedDomains && { blocked_domains: [...blockedDomains] }),
    ...(userLocation && { user_location: { type: 'approximate', ...userLocation } }),
  };
  return tool as unknown as Tool;
}

export function isServerTool({ type }: { readonly type?: string | null }): boolean {
  return type !== undefined && type !== null && type !== 'custom';
}

/** Leaves out the API's tools for a model without them, as a fallback may be. */
export function withoutServerTools(tools: readonly Tool[], model: { readonly webSearch?: boolean }): readonly Tool[] {
  return model.webSearch === true ? tools : tools.filter((tool) => !isServerTool(tool));
}

type SearchHit = { readonly title: string; readonly url: string };

/**
 * A web search of the API in words, for models and readers without its blocks. `found` is a word
 * for the reason when the search failed.
 */
export type WebSearch = { readonly query: string; readonly found: readonly SearchHit[] | string };

/** Returns the query of a search block, unchanged; null for a block of another kind. */
export function searchQueryOf(block: ContentBlock): string | null {
  if (block.type !== 'server_tool_use') return null;
  const { query } = (block.input ?? {}) as { readonly query?: unknown };
  return typeof query === 'string' ? query : '';
}

/** Returns the results that a block holds; null for a block of another kind. */
export function resultsOf(block: ContentBlock): WebSearch['found'] | null {
  if (block.type !== 'web_search_tool_result') return null;
  const { content } = block as { readonly content?: unknown };
  if (!Array.isArray(content)) {
    const { error_code: code } = (content ?? {}) as { readonly error_code?: unknown };
    return typeof code === 'string' ? code.replaceAll('_', ' ') : 'failed';
  }
  return content.flatMap((each: unknown): SearchHit[] => {
    const { title, url } = (each ?? {}) as { readonly title?: unknown; readonly url?: unknown };
    return typeof url === 'string' ? [{ url, title: typeof title === 'string' ? title : '' }] : [];
  });
}

/**
 * The longest query, title or address that is shown, in characters, and the most results of one
 * search.
 */
const MOST_SHOWN = 300;
const MOST_RESULTS = 10;

/** Describes the results on one line. Titles are quoted, since they are the words of others. */
export function resultsText(found: WebSearch['found']): string {
  if (typeof found === 'string') return `the search failed: ${found.slice(0, MOST_SHOWN)}`;
  if (found.length === 0) return 'nothing was found';
  const visible = found
    .slice(0, MOST_RESULTS)
    .map(({ title, url }) => `${quoteText(title)} <${url.slice(0, MOST_SHOWN).replaceAll(/\s/g, '')}>`);
  const more = found.length - visible.length;
  return `found ${visible.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

export function queryText(query: string): string {
  return `searched the web for ${quoteText(query)}`;
}

function quoteText(text: string): string {
  return JSON.stringify(text.slice(0, MOST_SHOWN));
}

/**
 * Describes a block of the API's own in brackets, for readers that do not know such blocks. Empty
 * for a tool that is not described, null for a block that every reader knows.
 */
export function serverBlockText(block: ContentBlock): string | null {
  const query = searchQueryOf(block);
  if (query !== null) return query === '' ? '' : `[${queryText(query)}]`;
  const found = resultsOf(block);
  if (found !== null) return `[${resultsText(found)}]`;
  return block.type.endsWith('_tool_result') ? '' : null;
}
