// Parses the query language of lists, page and client (O3): phase:waiting cost>1 -tag:team=web
// "text" sort:-cost. It does not look at any session.
import { didYouMean, nearName } from '../../../workflows/contract/did-you-mean.ts';
import { ClientProblem } from '../../problem.ts';
import { fieldOf, fields, type FieldName, phaseWords, shortChoices } from './fields.ts';
import { present } from '../../../workflows/contract/present.ts';

export type Operator = ':' | '=' | '>' | '>=' | '<' | '<=';

/**
 * Holds when one of `values` matches, or with `not` when none does. Numbers are in the field's own
 * unit: cents, milliseconds.
 */
export type FieldTerm = {
  readonly kind: 'field';
  readonly field: FieldName;
  readonly operator: Operator;
  readonly values: readonly (string | number)[];
  readonly not: boolean;
};

export type Term = FieldTerm | { readonly kind: 'text'; readonly text: string; readonly not: boolean };

export type Filter = {
  /** All terms must hold. */
  readonly terms: readonly Term[];
  /** Absent: newest first. */
  readonly sort?: { readonly field: FieldName; readonly descending: boolean };
};

/** Characters. */
const LONGEST = 2_000;

/** Locates a mistake by characters of the query, from 0. */
export class FilterProblem extends ClientProblem {
  readonly from: number;
  readonly to: number;
  constructor(query: string, from: number, to: number, why: string) {
    const quoted = JSON.stringify(query.slice(from, Math.min(to, from + 60)));
    super('refused', `the filter, at character ${from + 1}, ${quoted}: ${why}`);
    this.from = from;
    this.to = to;
  }
}

/** Throws FilterProblem. */
export function parseFilter(query: string): Filter {
  if (query.length > LONGEST)
    throw new FilterProblem(query, LONGEST, query.length, `it is longer than ${LONGEST} characters`);
  const reader = new QueryReader(query);
  const terms: Term[] = [];
  let sort: Filter['sort'];
  for (reader.skipBlanks(); !reader.atEnd; reader.skipBlanks()) {
    const from = reader.at;
    const term = readTerm(reader);
    if (term.kind !== 'sort') terms.push(term);
    else if (sort) throw reader.problem(from, 'it is sorted twice: leave one out');
    else sort = term.sort;
    if (!reader.atEnd && !reader.atBlank) throw reader.problem(reader.at, 'put a blank before it');
  }
  return present({ terms, sort });
}

type SortTerm = { readonly kind: 'sort'; readonly sort: NonNullable<Filter['sort']> };

function readTerm(reader: QueryReader): Term | SortTerm {
  const from = reader.at;
  const not = reader.take(/-(?=\S)/y) !== null;
  if (reader.peek === '"') return { kind: 'text', text: reader.quoted(), not };
  const named = reader.take(/([A-Za-z]+)(!=|[<>]=|[:=<>])/y);
  if (named === null) return wordTerm(reader.word(), not);
  const [, name = '', operator = ''] = named;
  if (name === 'sort') {
    if (not || operator !== ':') throw reader.problem(from, 'write sort:cost, or sort:-cost for the largest first');
    return { kind: 'sort', sort: readSort(reader) };
  }
  if (!isField(name)) {
    const known = [...Object.keys(fields), 'sort'];
    throw reader.problem(from, `unknown field “${name}”: ${suggestField(name, known)}`);
  }
  const term = readValues(reader, name, operator === '!=' ? '=' : (operator as Operator), from);
  return { ...term, not: not !== (operator === '!=') };
}

/** A word that lists show as a state means it; quoted, it is a text as any other. */
function wordTerm(word: string, not: boolean): Term {
  const isPhase = phaseWords.includes(word.toLowerCase());
  const { value } = isPhase ? valueOf('phase', word) : {};
  if (value === undefined) return { kind: 'text', text: word, not };
  return { kind: 'field', field: 'phase', operator: ':', values: [value], not };
}

/** Returns the state that a filter's text may have meant: for where the text finds nothing. */
export function stateMeant({ terms }: Pick<Filter, 'terms'>): string | undefined {
  const texts = terms.flatMap((term) => (term.kind === 'text' ? [term.text] : []));
  return texts.map((text) => nearName(text, phaseWords)).find((near) => near !== undefined);
}

/** Names the field that was meant, by its letters or its sound, or all of them. */
function suggestField(name: string, known: readonly string[]): string {
  const near = nearName(name, known) ?? nearName(name.replace(/^f/i, 'ph'), known);
  return near === undefined
    ? `${didYouMean(name, known)}; quote text that looks like a field`
    : `did you mean ${near}?`;
}

function readSort(reader: QueryReader): SortTerm['sort'] {
  const from = reader.at;
  const descending = reader.take(/-/y) !== null;
  const name = reader.word();
  const sortable = Object.keys(fields).filter((each) => fieldOf(each as FieldName).sorts);
  if (isField(name) && fieldOf(name).sorts) return { field: name, descending };
  throw reader.problem(from, `nothing is sorted by ${JSON.stringify(name)}: ${didYouMean(name, sortable)}`);
}

function readValues(reader: QueryReader, field: FieldName, operator: Operator, from: number): Omit<FieldTerm, 'not'> {
  const { kind } = fieldOf(field);
  const ordered = kind === 'number' || kind === 'money' || kind === 'time';
  if (!ordered && operator !== ':' && operator !== '=')
    throw reader.problem(from, `${field} has no order: write ${field}:… or ${field}=…`);
  const values: (string | number)[] = [];
  do {
    const at = reader.at;
    const text = reader.peek === '"' ? reader.quoted() : reader.part();
    if (text === '') throw reader.problem(from, `${field} is compared with nothing: give a value`);
    const { value, problem } = valueOf(field, text);
    if (value === undefined) throw reader.problem(at, problem ?? 'it is no value');
    values.push(value);
  } while (reader.take(/,/y) !== null);
  if (values.length > 1 && operator !== ':' && operator !== '=')
    throw reader.problem(from, `${operator} takes one value`);
  return { kind: 'field', field, operator, values };
}

type ParsedValue = { readonly value?: string | number; readonly problem?: string };

function valueOf(field: FieldName, text: string): ParsedValue {
  const { kind, choices = [] } = fieldOf(field);
  if (kind === 'choice') {
    const name = text.toLowerCase();
    const short = field === 'phase' && Object.hasOwn(shortChoices, name) ? shortChoices[name] : undefined;
    const value = choices.includes(name) ? name : short;
    if (value !== undefined) return { value };
    return { problem: `there is no ${field} ${JSON.stringify(text)}: ${didYouMean(name, choices)}` };
  }
  if (kind === 'text' || kind === 'tag') return { value: text };
  const match = /^(\d+(?:\.\d+)?)(ms|[a-z])?$/i.exec(text);
  const factor = match && factorOf(kind, match[2]?.toLowerCase());
  const value = Number(match?.[1]) * (factor ?? Number.NaN);
  return Number.isFinite(value) ? { value } : { problem: `${JSON.stringify(text)} is no ${examples[kind]}` };
}

const examples = {
  number: 'number: write 20, 15k or 2m',
  money: 'amount of US dollars: write 2 or 0.50',
  time: 'length of time: write 90s, 30m, 2h or 7d',
} as const;

const sizes: Readonly<Record<string, number>> = { k: 1_000, m: 1_000_000 };
const times: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Returns undefined for a unit that the kind does not have. A time needs one. */
function factorOf(kind: 'number' | 'money' | 'time', unit: string | undefined): number | undefined {
  if (kind === 'time') return unit === undefined ? undefined : times[unit];
  if (kind === 'money') return unit === undefined ? 100 : undefined;
  return unit === undefined ? 1 : sizes[unit];
}

function isField(name: string): name is FieldName {
  return Object.hasOwn(fields, name);
}

class QueryReader {
  at = 0;
  private readonly query: string;

  constructor(query: string) {
    this.query = query;
  }

  get atEnd(): boolean {
    return this.at >= this.query.length;
  }

  get peek(): string | undefined {
    return this.query[this.at];
  }

  get atBlank(): boolean {
    return /\s/.test(this.peek ?? '');
  }

  skipBlanks(): void {
    this.take(/\s+/y);
  }

  take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.query);
    if (found) this.at += found[0].length;
    return found;
  }

  /** Reads to the next blank. */
  word(): string {
    return this.take(/\S+/y)?.[0] ?? '';
  }

  /** Reads to the next blank or comma. */
  part(): string {
    return this.take(/[^\s,"]+/y)?.[0] ?? '';
  }

  /** Reads a quoted text, in which \" is a quote and \\ a backslash. */
  quoted(): string {
    const from = this.at;
    const found = this.take(/"((?:[^"\\]|\\.)*)"/sy);
    if (found === null) throw this.problem(from, 'the quotes are not closed', this.query.length);
    const text = (found[1] ?? '').replaceAll(/\\(.)/gs, '$1');
    if (text.trim() === '') throw this.problem(from, 'there is nothing between the quotes');
    return text;
  }

  /** Makes a problem about the text from `from` to `to`, or to the next blank. */
  problem(from: number, why: string, to?: number): FilterProblem {
    const end = this.query.slice(from).search(/\s/);
    return new FilterProblem(this.query, from, to ?? (end <= 0 ? this.query.length : from + end), why);
  }
}
