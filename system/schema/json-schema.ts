// JSON schemas of others, for the final answer of a run (L53) and for inputs of tools: ajv compiles
// one, and one that could be held to only in part is refused.
import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';
import { deeperThan } from '../json.ts';
import { reasonOf } from '../text.ts';
import { schemaLoop, subschemas } from './subschemas.ts';

export type JsonSchema = Readonly<Record<string, unknown>>;

/** Levels of a schema, and of a value: both are walked by recursion. */
export const DEEPEST = 200;

/** Characters of a sentence about a schema or a value. */
export const MOST_PROBLEM = 1_000;

/**
 * Keywords that say nothing of the value, beside those ajv knows. Names that begin with `x-` are a
 * vendor's and say nothing either.
 */
const ANNOTATIONS = 'id markdownDescription example discriminator externalDocs xml'.split(' ');
const isVendors = (keyword: string): boolean => keyword.startsWith('x-');

const options: Options = {
  allErrors: true,
  strict: true,
  // Types, tuples and names that ajv would rather see spelled out: what is said is enforced all the
  // same.
  strictTypes: false,
  strictTuples: false,
  strictRequired: false,
  allowMatchingProperties: true,
  logger: false,
};

/** A sentence when the schema cannot be held to, or undefined. */
export function schemaProblem(schema: JsonSchema | undefined, what = 'output schema'): string | undefined {
  if (schema === undefined) return undefined;
  const say = (why: string): string => `the ${what} cannot be used: ${why.slice(0, MOST_PROBLEM)}`;
  if (deeperThan(schema, DEEPEST)) return say(`it is nested more than ${DEEPEST} levels deep`);
  const loop = schemaLoop(schema);
  if (loop !== undefined) return say(`${loop} refers to itself and to nothing else: say what the value is`);
  try {
    compileSchema(schema);
    return undefined;
  } catch (error) {
    // Whatever ajv says of a document that is not ours, it is the document that will not do.
    return say(reasonOf(error));
  }
}

/** Throws an error with a sentence for a schema that cannot be held to. */
export function compileSchema(schema: JsonSchema): ValidateFunction {
  const own = JSON.parse(JSON.stringify(schema)) as JsonSchema;
  const isDraft7 = /draft-0[67]/.test(String(own['$schema']));
  const ajv = isDraft7 ? new Ajv(options) : new Ajv2020(options);
  ajvFormats.default(ajv);
  ajv.addVocabulary(ANNOTATIONS.filter((keyword) => !ajv.RULES.keywords[keyword]));
  ajv.removeKeyword('uniqueItems');
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    compile: (asked) => (asked ? isUnique : () => true),
  });
  for (const { path, node } of subschemas(own)) {
    for (const keyword of Object.keys(node)) {
      if (ajv.RULES.keywords[keyword]) continue;
      if (isVendors(keyword)) ajv.addVocabulary([keyword]);
      else throw new Error(`${path} has ${JSON.stringify(keyword)}, which is not enforced: correct it or leave it out`);
    }
  }
  if (!ajv.validateSchema(own)) throw new Error(sayErrors(ajv.errors, own));
  return ajv.compile(own);
}

/**
 * Linear, where ajv compares each pair. Two objects are the same whatever the order of their names.
 */
function isUnique(items: readonly unknown[]): boolean {
  return new Set(items.map((item) => JSON.stringify(item, sorted))).size === items.length;
}

function sorted(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

export function sayErrors(errors: readonly ErrorObject[] | null | undefined, value: unknown): string {
  return [...new Set(errorParts(errors, value).map(({ path, message }) => `$${path}: ${message}`))].join('; ');
}

/** `path`: into `value`, as people write one. */
export function errorParts(errors: readonly ErrorObject[] | null | undefined, value: unknown): readonly ErrorPart[] {
  return nearest(errors ?? []).map((error) => errorPart(error, value));
}

type ErrorPart = { readonly path: string; readonly message: string };

/** Keeps the complaints about the nearest of several alternatives: the one with the fewest. */
function nearest(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const union = errors.find(({ keyword, schemaPath }) => {
    const isUnion = keyword === 'anyOf' || keyword === 'oneOf';
    return isUnion && errors.some((inner) => inner.schemaPath.startsWith(`${schemaPath}/`));
  });
  if (union === undefined) return errors;
  const under = `${union.schemaPath}/`;
  const branches = new Map<string, ErrorObject[]>();
  for (const error of errors.filter(({ schemaPath }) => schemaPath.startsWith(under))) {
    const [branch = ''] = error.schemaPath.slice(under.length).split('/', 1);
    branches.set(branch, [...(branches.get(branch) ?? []), error]);
  }
  const [best = []] = [...branches.values()].toSorted((a, b) => a.length - b.length);
  const others = errors.filter((error) => error !== union && !error.schemaPath.startsWith(under));
  return [...others, ...nearest(best)];
}

function errorPart({ keyword, instancePath, params, message = 'will not do' }: ErrorObject, value: unknown): ErrorPart {
  const path = pathText(instancePath, value);
  const named = params as Readonly<Record<string, unknown>>;
  if (keyword === 'required') return { path: `${path}.${String(named['missingProperty'])}`, message: 'is missing' };
  if (keyword === 'enum') return { path, message: `must be one of ${JSON.stringify(named['allowedValues'])}` };
  if (keyword === 'const') return { path, message: `must be ${JSON.stringify(named['allowedValue'])}` };
  if (keyword === 'uniqueItems') return { path, message: 'must not have the same item twice' };
  const extra = named['additionalProperty'] ?? named['unevaluatedProperty'];
  return { path, message: extra === undefined ? message : `has ${JSON.stringify(extra)}, which is not allowed` };
}

/** A JSON pointer into `value` as people write a path. */
function pathText(pointer: string, value: unknown): string {
  let at = value;
  let text = '';
  for (const step of pointer.split('/').slice(1)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    text += Array.isArray(at) ? `[${key}]` : `.${key}`;
    at = (at as Readonly<Record<string, unknown>> | undefined)?.[key];
  }
  return text;
}
