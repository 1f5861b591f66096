// How a search of the web that the API made by itself is shown to people (L88).
import type { ContentBlock } from '@anthropic-ai/sdk/resources/messages';
import { queryOf, queryText, resultsOf, resultsText } from '../../store/transcript/server-tools.ts';
import { oneLine } from '../paint.ts';

const LONGEST = 400;
const LONGEST_FOUND = 2_000;

export function searchLine(query: string): string {
  return oneLine(queryText(query), LONGEST);
}

/** Null for a block that is no part of a search. */
export function searchBlockLine(block: ContentBlock): string | null {
  const query = queryOf(block);
  if (query !== null) return searchLine(query);
  const found = resultsOf(block);
  return found === null ? null : oneLine(resultsText(found), LONGEST_FOUND);
}
