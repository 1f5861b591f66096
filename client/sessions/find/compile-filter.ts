// Compiles a filter to a query for Temporal's visibility. It finds all sessions that the filter
// means and may find more: memos decide. Sessions without attributes, of 0.1.0 or children of a
// workflow, are always found.
import { ATTRIBUTES } from '../../../workflows/contract/visibility.ts';
import { WORKFLOW_TYPE } from '../../../workflows/contract/session.ts';
import { FAILED } from './fields.ts';
import type { FieldTerm, Filter, Operator } from './parse-filter.ts';

/** Matches all sessions. One that has continued as new goes on in another run of its workflow. */
export const SESSIONS = `WorkflowType = '${WORKFLOW_TYPE}'`;

export const OPEN = `ExecutionStatus = 'Running'`;

/** Leaves out the executions that a session has continued from. */
export const UNCONTINUED = `ExecutionStatus != 'ContinuedAsNew'`;

export type Compiled = {
  readonly query: string;
  /** True when memos have nothing left to decide except for sessions without attributes. */
  readonly exact: boolean;
};

type CompileOptions = {
  /** Whether the server has the search attributes. */
  readonly attributes: boolean;
  /** Only sessions that are not closed. */
  readonly open?: boolean | undefined;
  /** Only sessions with something that waits for a person, if the server knows which. */
  readonly waiting?: boolean | undefined;
  /** Running sessions are looked at, and may have more turns and cost than their attributes say. */
  readonly looks?: boolean | undefined;
  /** Only sessions at rest, of which attributes say all that memos do. */
  readonly settled?: boolean | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
};

export function compileFilter({ terms }: Pick<Filter, 'terms'>, options: CompileOptions): Compiled {
  const clauses = terms.map((term) => (term.kind === 'field' ? clauseOf(term, options) : null));
  const status = options.open ? OPEN : UNCONTINUED;
  const waits =
    options.waiting && options.attributes ? orWithoutAttributes(`${ATTRIBUTES.waitingSince.name} IS NOT NULL`) : null;
  const query = [SESSIONS, status, waits, ...clauses].filter((clause) => clause !== null).join(' AND ');
  const isToldOf = (term: FieldTerm): boolean => options.settled === true && term.field === 'phase';
  const memoOnly = terms.some((term) => term.kind === 'field' && needsMemo(term) && !isToldOf(term));
  return { query, exact: !memoOnly && clauses.every((clause) => clause !== null) };
}

/** Numbers of a running session that are ahead of its attributes. */
const grows: ReadonlySet<string> = new Set(['turns', 'tokens', 'cost', 'model']);

const runningPhase: FieldTerm = { kind: 'field', field: 'phase', operator: ':', values: ['running'], not: false };

/** Returns null for a term that is left to the memos. */
function clauseOf(term: FieldTerm, options: CompileOptions): string | null {
  const { attributes, now, looks } = options;
  if (term.field === 'idle') return term.not ? null : phaseClause(runningPhase, attributes);
  if (looks && grows.has(term.field)) return null;
  if (term.field === 'status') return oneOf('ExecutionStatus', term.values.map(statusOf), term.not);
  if (term.field === 'phase') return failureOrPhaseClause(term, options);
  if (term.field === 'age') return ageClause(term, now);
  if (term.field === 'id' && term.operator === '=' && !term.not) return oneOfTexts('WorkflowId', term.values);
  return attributes ? attributeClause(term, now) : null;
}

const statuses: Readonly<Record<string, string>> = {
  open: 'Running',
  cancelled: 'Canceled',
  terminated: 'Terminated',
  failed: 'Failed',
  timed_out: 'TimedOut',
  completed: 'Completed',
};

const statusOf = (value: string | number): string => statuses[value] ?? '';

const RUNNING = 'running';

const WAITS = 'waiting_approval';

/** A session whose agent waits counts as waiting, which its memo says beside its own phase. */
const isSeenOnly = (phase: string | number): boolean =>
  [RUNNING, 'waiting_worker', WAITS, 'parked', FAILED].includes(String(phase));

/** The server knows when an execution began, which may go on with an older session. */
const needsMemo = ({ field, values }: FieldTerm): boolean =>
  field === 'idle' || field === 'age' || (field === 'phase' && values.some(isSeenOnly));

/**
 * The memo of a session that waits for a worker says `running`: the observer decides which it is.
 */
const memoPhase = (phase: string): string => (phase === 'waiting_worker' ? RUNNING : phase);

/**
 * A session that is under way may have failed before: memos decide, unless only sessions at rest
 * are asked for.
 */
function failureOrPhaseClause(term: FieldTerm, { attributes, settled }: CompileOptions): string | null {
  const values = term.values.filter((value) => value !== FAILED);
  if (values.length === term.values.length) return phaseClause(term, attributes);
  const others = values.length === 0 ? null : phaseClause({ ...term, values }, attributes);
  if (!attributes || (term.not && settled !== true)) return term.not ? others : null;
  const failed = failureClause(term.not);
  if (others === null) return values.length === 0 ? failed : null;
  return term.not ? `${failed} AND ${others}` : `(${failed} OR ${others})`;
}

function failureClause(not: boolean): string {
  const { name } = ATTRIBUTES.reason;
  const status = oneOf('ExecutionStatus', ['Failed', 'Terminated', 'TimedOut'], not);
  const reason = oneOf(name, ['completed', 'aborted_streaming', 'aborted_tools'], !not);
  return not ? `(${status} AND ${orIsNull(name, reason)})` : orIsNull(ATTRIBUTES.turns.name, `${status} OR ${reason}`);
}

/** A session that was ended by force could not report its phase, so its status decides. */
function phaseClause({ values, not }: FieldTerm, attributes: boolean): string | null {
  const { name } = ATTRIBUTES.phase;
  const closed = values.includes('closed');
  const open = [...new Set(values.filter((value) => value !== 'closed').map((value) => memoPhase(String(value))))];
  if (not) {
    const reported = open.filter((phase) => phase !== RUNNING && phase !== 'parked' && phase !== WAITS);
    const others = attributes && reported.length > 0 ? orIsNull(name, oneOf(name, reported, true)) : null;
    // Closed sessions count as outside the open phases, whatever they reported last.
    const clauses = [closed ? OPEN : null, others && (closed ? others : `(${others} OR ExecutionStatus != 'Running')`)];
    const applicable = clauses.filter((clause) => clause !== null);
    return applicable.length === 0 ? null : applicable.join(' AND ');
  }
  if (open.length === 0) return `ExecutionStatus != 'Running'`;
  const waits = open.includes(WAITS) ? ` OR ${ATTRIBUTES.waitingSince.name} IS NOT NULL` : '';
  const phased = attributes ? `(${OPEN} AND ${orIsNull(name, `${oneOf(name, open, false)}${waits}`)})` : OPEN;
  return closed ? `(${phased} OR ExecutionStatus != 'Running')` : phased;
}

/** A workflow's start is at or after that of its session, which may have continued as new. */
function ageClause({ operator, values: [age], not }: FieldTerm, now: number): string | null {
  const younger = not ? operator === '>' || operator === '>=' : operator === '<' || operator === '<=';
  return younger ? `StartTime >= '${momentBefore(now, age)}'` : null;
}

function attributeClause(term: FieldTerm, now: number): string | null {
  const { field, operator, values, not } = term;
  switch (field) {
    case 'turns':
    case 'tokens':
      return numberClause(ATTRIBUTES[field].name, term);
    case 'cost':
      return numberClause(ATTRIBUTES.cents.name, term);
    case 'reason':
      return not
        ? orUnknown(oneOf(ATTRIBUTES.reason.name, values.map(String), true), ATTRIBUTES.reason.name)
        : orWithoutAttributes(oneOf(ATTRIBUTES.reason.name, values.map(String), false));
    case 'model':
    case 'agent':
    case 'parent':
    case 'root':
      return operator === '=' && !not ? orWithoutAttributes(oneOfTexts(ATTRIBUTES[field].name, values)) : null;
    case 'tag':
      // A term that only names a tag is left to the memos.
      return not || !values.every((value) => String(value).includes('='))
        ? null
        : orWithoutAttributes(oneOfTexts(ATTRIBUTES.tags.name, values));
    case 'waiting':
      return operator === '>' || operator === '>=' ? waitingClause(term, now) : null;
    default:
      return null;
  }
}

/** A span may be longer than any date can tell: no session is older than 1970. */
function momentBefore(now: number, span: string | number | undefined): string {
  return new Date(Math.max(0, now - Number(span))).toISOString();
}

/** A session that waits since earlier waits longer. */
function waitingClause({ values: [wait], not }: FieldTerm, now: number): string | null {
  if (not) return null;
  return orWithoutAttributes(`${ATTRIBUTES.waitingSince.name} <= '${momentBefore(now, wait)}'`);
}

const opposites: Readonly<Record<Operator, string>> = {
  ':': '!=',
  '=': '!=',
  '>': '<=',
  '>=': '<',
  '<': '>=',
  '<=': '>',
};

function numberClause(name: string, { operator, values, not }: FieldTerm): string | null {
  const sign = operator === ':' ? '=' : operator;
  if (not) {
    const clauses = values.map((value) => `${name} ${opposites[operator]} ${value}`);
    return orUnknown(clauses.join(' AND '), name);
  }
  return orWithoutAttributes(values.map((value) => `${name} ${sign} ${value}`).join(' OR '));
}

function oneOf(name: string, values: readonly string[], not: boolean): string {
  return `${name} ${not ? 'NOT IN' : 'IN'} (${values.map((value) => `'${value}'`).join(', ')})`;
}

/** Returns null for a value that would need escaping, or that was cut. */
function oneOfTexts(name: string, values: readonly (string | number)[]): string | null {
  const texts = values.map(String);
  return texts.every((text) => /^[^'"\\\p{C}]{1,200}$/u.test(text)) ? oneOf(name, texts, false) : null;
}

/** Also matches sessions without attributes, which are those without `turns`. */
function orWithoutAttributes(clause: string | null): string | null {
  return clause === null ? null : orIsNull(ATTRIBUTES.turns.name, clause);
}

function orUnknown(clause: string, name: string): string {
  return orIsNull(name, `(${clause})`);
}

function orIsNull(name: string, clause: string): string {
  return `(${clause} OR ${name} IS NULL)`;
}
