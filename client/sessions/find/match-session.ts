// Decides from memo and status alone whether a filter matches a session, and sorts sessions as a
// filter asks.
// Settled sessions are idle or closed: the attributes that the server has of them say what a memo
// says. Pure.
import { ATTRIBUTES } from '../../../workflows/contract/visibility.ts';
import { isFailedSession, type SessionInfo } from '../info.ts';
import { compileFilter, OPEN } from './compile-filter.ts';
import { FAILED, fieldOf } from './fields.ts';
import type { FieldTerm, Filter, Term } from './parse-filter.ts';

/**
 * `now` is in milliseconds since the epoch. An unknown value fits no comparison, and fits every
 * negated one.
 */
export function matchesFilter({ terms }: Pick<Filter, 'terms'>, session: SessionInfo, now: number): boolean {
  return terms.every((term) => matchesTerm(term, session, now) !== term.not);
}

function matchesTerm(term: Term, session: SessionInfo, now: number): boolean {
  if (term.kind === 'text') return textOf(session).includes(term.text.toLowerCase());
  if (term.field === 'tag') return term.values.some((value) => hasTag(session, String(value)));
  if (term.field === 'phase' && term.values.includes(FAILED) && isFailedSession(session)) return true;
  const value = fieldOf(term.field).value(session, now);
  if (value === undefined || value === null) return false;
  return term.values.some((wanted) => matchesValue(term, value, wanted));
}

/** Returns the texts that a list shows of a session. */
function textOf({ session, title, cwd, last, facts }: SessionInfo): string {
  const tags = Object.entries(facts?.tags ?? {}).map(([name, value]) => `${name}=${value}`);
  const detail = last && 'detail' in last.terminal ? last.terminal.detail : '';
  return [session, title, cwd, facts?.model ?? '', detail, ...tags].join('\n').toLowerCase();
}

/** `team=web` means one tag, `team` any tag of that name. */
function hasTag({ facts }: SessionInfo, wanted: string): boolean {
  return Object.entries(facts?.tags ?? {}).some(([name, value]) => wanted === name || wanted === `${name}=${value}`);
}

function matchesValue({ field, operator }: FieldTerm, value: string | number, wanted: string | number): boolean {
  if (typeof value === 'number' && typeof wanted === 'number') {
    if (operator === '>') return value > wanted;
    if (operator === '>=') return value >= wanted;
    if (operator === '<') return value < wanted;
    if (operator === '<=') return value <= wanted;
    return value === wanted;
  }
  const isPart = operator === ':' && fieldOf(field).kind === 'text';
  if (!isPart) return value === wanted;
  return String(value).toLowerCase().includes(String(wanted).toLowerCase());
}

/**
 * Sorts sessions in the filter's order, those without a value last; without an order they keep
 * theirs.
 */
export function sortSessions(
  { sort }: Pick<Filter, 'sort'>,
  sessions: readonly SessionInfo[],
  now: number,
): readonly SessionInfo[] {
  if (sort === undefined) return sessions;
  const { value } = fieldOf(sort.field);
  const keyed = sessions.map((session) => ({ session, key: value(session, now) ?? null }));
  const sign = sort.descending ? -1 : 1;
  return keyed
    .toSorted((one, other) => {
      if (one.key === null || other.key === null) return Number(one.key === null) - Number(other.key === null);
      return sign * (one.key < other.key ? -1 : one.key > other.key ? 1 : 0);
    })
    .map(({ session }) => session);
}

export const SETTLED = ['idle', 'closed'] as const;
type SettledPhase = (typeof SETTLED)[number];

type Search = { readonly filter: Filter; readonly now: number; readonly isOpen: boolean };

/** Terms that a settled phase alone decides; the last end says whether a session has failed. */
const isOfPhase = (term: Term): boolean =>
  term.kind === 'field' && (term.field === 'idle' || (term.field === 'phase' && !term.values.includes(FAILED)));

/** Tells whether sessions in this phase can be meant. */
export function isMeant({ filter, isOpen, now }: Search, phase: SettledPhase): boolean {
  const status = phase === 'closed' ? 'completed' : 'open';
  const terms = filter.terms.filter(isOfPhase);
  return (!isOpen || status === 'open') && matchesFilter({ terms }, { phase, status } as SessionInfo, now);
}

/**
 * Returns the query that finds, of settled sessions in a phase that is meant, exactly those that
 * the filter means; null where memos have to decide.
 */
export function querySettled({ filter, now }: Search): string | null {
  const terms = filter.terms.filter((term) => !isOfPhase(term));
  const { query, exact } = compileFilter({ terms }, { attributes: true, settled: true, now });
  return exact ? query : null;
}

const CLAUSES: Readonly<Record<SettledPhase, string>> = {
  idle: `(${OPEN} AND ${ATTRIBUTES.phase.name} = 'idle')`,
  closed: `ExecutionStatus != 'Running'`,
};

/** Returns the query for the sessions with attributes, in one of the phases, that another finds. */
export function settledQuery(query: string, phases: readonly SettledPhase[]): string {
  return `${query} AND ${ATTRIBUTES.turns.name} IS NOT NULL AND (${phases.map((phase) => CLAUSES[phase]).join(' OR ')})`;
}
