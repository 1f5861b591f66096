// Settled sessions are idle or closed: the attributes that the server has of them say what a memo
// says. Pure.
import { ATTRIBUTES } from '../../../workflows/contract/visibility.ts';
import type { SessionInfo } from '../info.ts';
import { compileFilter, OPEN } from './compile-filter.ts';
import { FAILED } from './fields.ts';
import { matchesFilter } from './match-session.ts';
import type { Filter, Term } from './parse-filter.ts';

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
