// One view of all sessions, as its address names it: filter, tab, layout, span of the plots. Pure.
import { FilterProblem, parseFilter, stateMeant } from '../../client/faces/lists.ts';
import type { TerminalReason } from '../../client/faces/types.ts';

export const spans = { '1h': 3_600_000, '24h': 86_400_000, '7d': 604_800_000 } as const;
export type ViewSpan = keyof typeof spans;

/** Ends of a run that a person should look at. */
const BAD_ENDS: readonly TerminalReason[] = [
  'max_turns',
  'prompt_too_long',
  'image_error',
  'max_output_tokens',
  'model_error',
  'blocking_limit',
  'budget_exceeded',
  'timeout',
  'permission_denied',
  'fatal_tool_error',
  'structured_output_failed',
];

export const isBadReason = (reason: TerminalReason): boolean => BAD_ENDS.includes(reason);

/** The tabs, with the terms that each adds to the filter. */
export const tabs = {
  all: ['All', ''],
  working: ['Working', 'phase:running'],
  waiting: ['Needs you', 'phase:waiting_approval'],
  stuck: ['Stuck', 'phase:running idle>5m'],
  failed: ['Failed', `phase:idle,closed reason:${BAD_ENDS.join(',')}`],
  parked: ['Parked', 'phase:parked'],
  unworked: ['No worker', 'phase:waiting_worker'],
  idle: ['Idle', 'phase:idle'],
  closed: ['Closed', 'phase:closed'],
} as const;
export type Tab = keyof typeof tabs;

/** The properties by which a list groups its rows. */
export const groupings = {
  none: 'none',
  agent: 'agent type',
  tag: 'tag',
  worker: 'worker',
  schedule: 'schedule',
  parent: 'parent',
} as const;
export type Grouping = keyof typeof groupings;

export type FleetView = {
  /** The filter in the person's words. */
  readonly filter: string;
  readonly tab: Tab;
  readonly flat: boolean;
  readonly group: Grouping;
  readonly span: ViewSpan;
  readonly after: string | null;
};

const isTab = (name: string | null): name is Tab => name !== null && Object.hasOwn(tabs, name);
const isGrouping = (name: string | null): name is Grouping => name !== null && Object.hasOwn(groupings, name);
const isSpan = (name: string | null): name is ViewSpan => name !== null && Object.hasOwn(spans, name);

/** Reads a view from the query of an address; what it does not know is left out. */
export function readFleetView(query: URLSearchParams): FleetView {
  const [tab, span, group] = [query.get('tab'), query.get('span'), query.get('group')];
  return {
    filter: (query.get('q') ?? '').trim().slice(0, 2_000),
    tab: isTab(tab) ? tab : 'all',
    flat: query.get('flat') === '1',
    group: isGrouping(group) ? group : 'none',
    span: isSpan(span) ? span : '24h',
    after: query.get('after'),
  };
}

/** Writes a view as the query of an address, without what goes without saying. */
export function fleetQuery({ filter, tab, flat, group, span, after }: FleetView): string {
  const query = new URLSearchParams();
  if (filter !== '') query.set('q', filter);
  if (tab !== 'all') query.set('tab', tab);
  if (flat) query.set('flat', '1');
  if (group !== 'none') query.set('group', group);
  if (span !== '24h') query.set('span', span);
  if (after !== null) query.set('after', after);
  return query.toString();
}

/** The address of a view that differs from this one; a change leads back to its first page. */
export function fleetAddress(view: FleetView, change: Partial<FleetView> = {}): string {
  const query = fleetQuery({ ...view, after: null, ...change });
  return query === '' ? '/' : `/?${query}`;
}

/** Returns what lists are asked for: the person's filter, and the terms of the tab. */
export function wholeFilter({ filter, tab }: Pick<FleetView, 'filter' | 'tab'>): string {
  return [filter, tabs[tab][1]].filter((part) => part !== '').join(' ');
}

/** Returns why a filter cannot be read, or null. */
export function filterProblem(filter: string): string | null {
  try {
    parseFilter(filter);
    return null;
  } catch (error) {
    if (!(error instanceof FilterProblem)) throw error;
    return error.message;
  }
}

/** Returns the state that a filter which finds nothing may have meant. */
export function findMeantState(filter: string): string | undefined {
  return filterProblem(filter) === null ? stateMeant(parseFilter(filter)) : undefined;
}

/** Splits a filter that can be read into its terms, as they were written. */
export function filterTerms(filter: string): readonly string[] {
  const terms: string[] = [];
  let term = '';
  let isQuoted = false;
  let isEscaped = false;
  const end = (): void => {
    if (term !== '') terms.push(term);
    term = '';
  };
  for (const char of filter) {
    if (!isQuoted && char.trim() === '') end();
    else term += char;
    if (char === '"' && !isEscaped) isQuoted = !isQuoted;
    isEscaped = isQuoted && char === '\\' && !isEscaped;
  }
  end();
  return terms;
}

/** Returns the filter in this order instead of its own. */
export function sortColumnOf(filter: string, sort: string): string {
  return [...filterTerms(filter).filter((term) => !term.startsWith('sort:')), `sort:${sort}`].join(' ');
}

/**
 * Returns the field by which a filter sorts, with a minus for the largest first; null without one.
 */
export function sortOf(filter: string): string | null {
  return (
    filterTerms(filter)
      .find((term) => term.startsWith('sort:'))
      ?.slice('sort:'.length) ?? null
  );
}
