// Searches the texts that a person typed before, newest first, as Ctrl-R does in a shell. Pure.
import type { KeyPress } from './line-editor.ts';
import { truncateToWidth } from '../../client/render/width.ts';
import { oneLine } from '../../client/paint.ts';

export type HistorySearch = {
  readonly query: string;
  /** Index of the found text; null when no text has the query in it. */
  readonly at: number | null;
};

type SearchPress =
  | { readonly kind: 'search'; readonly search: HistorySearch }
  /** `isKeyOpen`: the key still has its own meaning for the text that was found. */
  | { readonly kind: 'take'; readonly text: string; readonly isKeyOpen: boolean }
  | { readonly kind: 'cancel' };

export function beginSearch(history: readonly string[]): HistorySearch {
  return { query: '', at: findBefore(history, '', history.length) };
}

export function pressSearchKey(
  search: HistorySearch,
  history: readonly string[],
  typed: string | undefined,
  { name, ctrl = false, meta = false }: KeyPress,
): SearchPress {
  const { query, at } = search;
  const found = (words: string, before: number): SearchPress => ({
    kind: 'search',
    search: { query: words, at: findBefore(history, words, before) },
  });
  if (ctrl && name === 'r') {
    const older = findBefore(history, query, at ?? 0);
    return { kind: 'search', search: { query, at: older ?? at } };
  }
  if (name === 'escape' || (ctrl && (name === 'g' || name === 'c'))) return { kind: 'cancel' };
  if (name === 'backspace') return found(Array.from(query).slice(0, -1).join(''), history.length);
  const isText = typed !== undefined && !ctrl && !meta && !/^\p{Cc}/u.test(typed);
  if (isText) return found(query + oneLine(typed, 200), history.length);
  const text = at === null ? '' : (history[at] ?? '');
  return { kind: 'take', text, isKeyOpen: !['return', 'enter', 'tab'].includes(name ?? '') };
}

function findBefore(history: readonly string[], query: string, before: number): number | null {
  const wanted = query.toLowerCase();
  for (let at = before - 1; at >= 0; at -= 1) if (history[at]?.toLowerCase().includes(wanted)) return at;
  return null;
}

export function searchRow({ query, at }: HistorySearch, history: readonly string[], columns: number): string {
  const text = at === null ? '(no earlier text has it)' : oneLine(history[at] ?? '', 400);
  return truncateToWidth(`search: ${query}▏ ${text}`, columns - 1);
}
