// Compiles foreign JSON schemas with ajv, for the final answer of a run (L53) and for inputs of
// tools. A schema that could be enforced only in part is refused.
import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';
import { isDeeperThan } from '../json.ts';
import { reasonOf } from '../text.ts';
import { findSchemaLoop, walkSubschemas } from './subschemas.ts';

export type JsonSchema = Readonly<Record<string, unknown>>;

/** Levels of a schema, and of a value: both are walked by recursion. */
export const DEEPEST_SCHEMA = 200;

/** Characters of a sentence about a schema or a value. */
export const LONGEST_PROBLEM = 1_000;

/**
 * Keywords, in addition to those ajv knows, that say nothing of the value. Names that begin with
 * `x-` are a vendor's and say nothing either.
 */
const ANNOTATIONS = 'id markdownDescription example discriminator externalDocs xml'.split(' ');
const isVendorKeyword = (keyword: string): boolean => keyword.startsWith('x-');

const options: Options = {
  allErrors: true,
  strict: true,
  // These only ask for types, tuples and names to be spelled out; what a schema says is enforced
  // without them.
  strictTypes: false,
  strictTuples: false,
  strictRequired: false,
  allowMatchingProperties: true,
  logger: false,
};

/** Returns a sentence when the schema cannot be enforced, or undefined. */
export function schemaProblem(schema: JsonSchema | undefined, what = 'output schema'): string | undefined {
  if (schema === undefined) return undefined;
  const say = (why: string): string => `the ${what} cannot be used: ${why.slice(0, LONGEST_PROBLEM)}`;
  if (isDeeperThan(schema, DEEPEST_SCHEMA)) return say(`it is nested more than ${DEEPEST_SCHEMA} levels deep`);
  const loop = findSchemaLoop(schema);
  if (loop !== undefined) return say(`${loop} refers to itself and to nothing else: say what the value is`);
  try {
    compileSchema(schema);
    return undefined;
  } catch (error) {
    // Whatever ajv throws for a foreign document, the document is to blame.
    return say(reasonOf(error));
  }
}

/** Throws an error with a sentence for a schema that cannot be enforced. */
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
    compile: (isWanted) => (isWanted ? isUnique : () => true),
  });
  for (const { path, node } of walkSubschemas(own)) {
    for (const keyword of Object.keys(node)) {
      if (ajv.RULES.keywords[keyword]) continue;
      if (isVendorKeyword(keyword)) ajv.addVocabulary([keyword]);
      else throw new Error(`${path} has ${JSON.stringify(keyword)}, which is not enforced: correct it or leave it out`);
    }
  }
  if (!ajv.validateSchema(own)) throw new Error(formatErrors(ajv.errors, own));
  return ajv.compile(own);
}

/**
 * Takes linear time, where ajv compares each pair. Two objects are equal whatever the order of
 * their names.
 */
function isUnique(items: readonly unknown[]): boolean {
  return new Set(items.map((item) => JSON.stringify(item, sortNames))).size === items.length;
}

function sortNames(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

export function formatErrors(errors: readonly ErrorObject[] | null | undefined, value: unknown): string {
  return [...new Set(errorParts(errors, value).map(({ path, message }) => `$${path}: ${message}`))].join('; ');
}

/** Returns the errors with paths into `value` as people write them. */
export function errorParts(errors: readonly ErrorObject[] | null | undefined, value: unknown): readonly ErrorPart[] {
  return keepNearest(errors ?? []).map((error) => errorPart(error, value));
}

type ErrorPart = { readonly path: string; readonly message: string };

/** Keeps the complaints about the nearest of several alternatives: the one with the fewest. */
function keepNearest(errors: readonly ErrorObject[]): readonly ErrorObject[] {
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
  return [...others, ...keepNearest(best)];
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

/** Turns a JSON pointer into `value` into a path as people write it. */
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
