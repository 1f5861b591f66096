// Checks bodies and queries strictly (G16): an unknown field is refused with its path, never
// ignored. A null stands for an optional field that is left out (G17).
import { z } from 'zod';
import { invalid, type ManagedError } from '../errors.ts';

const FIELD = /^[\w.[\]]{1,100}$/;

/** Returns the body as its schema reads it. Throws ManagedError for the first problem. */
export function parseBody<Schema extends z.ZodObject>(schema: Schema, body: unknown): z.output<Schema> {
  const { success, data, error } = schema.safeParse(withoutNulls(schema, body));
  if (success) return data;
  throw problemOf(error);
}

function problemOf({ issues: [issue] }: z.ZodError): ManagedError {
  const path = issue?.path.join('.') ?? '';
  if (issue?.code === 'unrecognized_keys') {
    const param = [path, issue.keys[0] ?? ''].filter((part) => part !== '').join('.');
    return invalid(`${param.slice(0, 200)}: Extra inputs are not permitted`, param.slice(0, 200));
  }
  const where = path === '' ? 'the body' : path;
  return invalid(`${where}: ${issue?.message ?? 'it has another shape'}`, path === '' ? undefined : path);
}

function withoutNulls(schema: z.ZodObject, body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  const isLeftOut = ([name, value]: readonly [string, unknown]): boolean => {
    const field = fieldOf(schema, name);
    return (
      value === null && field !== undefined && !field.safeParse(null).success && field.safeParse(undefined).success
    );
  };
  return Object.fromEntries(Object.entries(body).filter((entry) => !isLeftOut(entry)));
}

/** Names of a body or an address may be those that every object has, such as `constructor`. */
const fieldOf = ({ shape }: z.ZodObject, name: string): z.ZodType | undefined =>
  Object.hasOwn(shape, name) ? (shape[name] as z.ZodType) : undefined;

/** All values of each name, in the order of the address. */
export type Query = Readonly<Record<string, readonly string[]>>;

export function queryOf(address: string): Query {
  const query = Object.create(null) as Record<string, string[]>;
  for (const [name, value] of new URL(address).searchParams) (query[name] ??= []).push(value);
  return query;
}

/** Names that clients send besides and that mean nothing here (G17). */
const TOLERATED: ReadonlySet<string> = new Set(['beta']);

/**
 * Reads a query: a list may be written as `a[]=`, `a=` or `a[0]=`. Throws ManagedError for the
 * first problem.
 */
export function parseQuery<Schema extends z.ZodObject>(schema: Schema, query: Query): z.output<Schema> {
  const fields = Object.create(null) as Record<string, unknown>;
  for (const [name, values] of Object.entries(query)) {
    if (TOLERATED.has(name)) continue;
    const plain = Object.hasOwn(schema.shape, name) ? name : name.replace(/\[\d*\]$/, '');
    if (!FIELD.test(plain)) throw invalid('the query has a name that no field has', 'query');
    const known = (fields[plain] as readonly string[] | undefined) ?? [];
    fields[plain] = [...known, ...values];
  }
  for (const [name, values] of Object.entries(fields))
    if (!isList(fieldOf(schema, name))) fields[name] = (values as readonly string[]).at(-1);
  return parseBody(schema, fields);
}

const isList = (field: z.ZodType | undefined): boolean => field?.safeParse([]).success === true;

/** A whole number in an address. */
export const wholeNumber = (least: number, most: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/, `give a whole number from ${least} to ${most}`)
    .transform(Number)
    .pipe(z.number().min(least).max(most));

export const flag = z.enum(['true', 'false']).transform((text) => text === 'true');

/** A moment in an address; becomes microseconds since the epoch. */
export const moment = z.string().transform((text, context) => {
  const [, digits = ''] = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.(\d{1,9}))?(?:Z|[+-]\d{2}:\d{2})$/.exec(text) ?? [];
  const ms = Date.parse(text);
  if (Number.isNaN(ms) || !text.includes('T')) {
    context.addIssue({ code: 'custom', message: 'give a time as RFC 3339 has it, such as 2026-01-31T12:00:00Z' });
    return z.NEVER;
  }
  return ms * 1000 + Number(digits.padEnd(6, '0').slice(3, 6));
});

const KEY = 64;
const VALUE = 512;
const PAIRS = 16;

const pairs = <Value extends z.ZodType<string | null>>(value: Value) =>
  z
    .record(z.string().min(1).max(KEY), value)
    .refine((all) => Object.keys(all).length <= PAIRS, `at most ${PAIRS} pairs`);

export const displayName = z
  .string()
  .regex(/^\P{Cc}{1,255}$/u, 'give 1 to 255 characters, none of them a control character');

/** Metadata of a new resource (G11). */
export const metadata = pairs(z.string().max(VALUE));
/** A patch of metadata: a string sets, null removes. */
export const metadataPatch = pairs(z.string().max(VALUE).nullable());

/** Throws ManagedError when the result has too many pairs. */
export function patchMetadata(
  current: Readonly<Record<string, string>>,
  patch: Readonly<Record<string, string | null>> | null | undefined,
): Record<string, string> {
  const merged = Object.entries({ ...current, ...patch }).filter((pair): pair is [string, string] => pair[1] !== null);
  if (merged.length > PAIRS) throw invalid(`metadata: at most ${PAIRS} pairs`, 'metadata', 'invalid_metadata');
  return Object.fromEntries(merged);
}
