// Tools that the API carries out by itself, while a reply is made (L88). They are offered among the
// others; nothing here runs them, and no rule can ask about one of their calls.
import type { ContentBlock, Tool, WebSearchTool20250305 } from '@anthropic-ai/sdk/resources/messages';
import type { WebSearchSettings } from '../configuration.ts';

/** Its name for rules and lists of tools. */
export const WEB_SEARCH = 'web_search';

/** A request has it in its place among the tools, though it has no schema of its own. */
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

/** Those that a model's API has: a fallback may have fewer. */
export function withoutServerTools(tools: readonly Tool[], model: { readonly webSearch?: boolean }): readonly Tool[] {
  return model.webSearch === true ? tools : tools.filter((tool) => !isServerTool(tool));
}

// What the API has done by itself, in words: for models and readers that do not take its blocks.

type Found = { readonly title: string; readonly url: string };

/** `found`: a word for why there is nothing, where it failed. */
export type WebSearch = { readonly query: string; readonly found: readonly Found[] | string };

/** The search that a block asks for, as it came; null for a block of another kind. */
export function queryOf(block: ContentBlock): string | null {
  if (block.type !== 'server_tool_use') return null;
  const { query } = (block.input ?? {}) as { readonly query?: unknown };
  return typeof query === 'string' ? query : '';
}

/** What a block of results holds; null for a block of another kind. */
export function resultsOf(block: ContentBlock): WebSearch['found'] | null {
  if (block.type !== 'web_search_tool_result') return null;
  const { content } = block as { readonly content?: unknown };
  if (!Array.isArray(content)) {
    const { error_code: code } = (content ?? {}) as { readonly error_code?: unknown };
    return typeof code === 'string' ? code.replaceAll('_', ' ') : 'failed';
  }
  return content.flatMap((each: unknown): Found[] => {
    const { title, url } = (each ?? {}) as { readonly title?: unknown; readonly url?: unknown };
    return typeof url === 'string' ? [{ url, title: typeof title === 'string' ? title : '' }] : [];
  });
}

/** Characters of a query, a title or an address, and results of one search. */
const MOST_SHOWN = 300;
const MOST_RESULTS = 10;

/** On one line; titles are others' words, and quoted. */
export function resultsText(found: WebSearch['found']): string {
  if (typeof found === 'string') return `the search failed: ${found.slice(0, MOST_SHOWN)}`;
  if (found.length === 0) return 'nothing was found';
  const shown = found
    .slice(0, MOST_RESULTS)
    .map(({ title, url }) => `${quoteText(title)} <${url.slice(0, MOST_SHOWN).replaceAll(/\s/g, '')}>`);
  const more = found.length - shown.length;
  return `found ${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

export function queryText(query: string): string {
  return `searched the web for ${quoteText(query)}`;
}

function quoteText(text: string): string {
  return JSON.stringify(text.slice(0, MOST_SHOWN));
}

/**
 * A block that the API made by itself, in brackets, for whoever cannot read it; empty for one of
 * another tool of its own, null for a block that any reader knows.
 */
export function serverBlockText(block: ContentBlock): string | null {
  const query = queryOf(block);
  if (query !== null) return query === '' ? '' : `[${queryText(query)}]`;
  const found = resultsOf(block);
  if (found !== null) return `[${resultsText(found)}]`;
  return block.type.endsWith('_tool_result') ? '' : null;
}
