// Whether a final answer satisfies the run's JSON schema (L53). ajv compiles the schema; one that could be held to only in part is
// refused when the run opens.
import { toUSVString } from 'node:util';
import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';
import { deeperThan } from '../json.ts';
import { reasonOf } from '../text.ts';
import { structuredOutput } from '../transcript/view/result.ts';
import { schemaLoop, subschemas } from './subschemas.ts';
import type { JsonSchema } from '../configuration.ts';

/** Returns a sentence for the model that says why the answer fails; undefined for one that passes. */
export type AnswerCheck = (text: string) => string | undefined;

/** Levels of a schema, and of an answer: both are walked by recursion. */
const MAX_DEPTH = 200;

/** Characters. */
const MOST_PROBLEM = 1_000;

/** Keywords that say nothing of the answer, beside those ajv knows. Names that begin with `x-` are a vendor's and say nothing either. */
const ANNOTATIONS = 'id markdownDescription example discriminator externalDocs xml'.split(' ');
const isVendors = (keyword: string): boolean => keyword.startsWith('x-');

const options: Options = {
  allErrors: true,
  strict: true,
  // Types, tuples and names that ajv would rather see spelled out: what is said is enforced all the same.
  strictTypes: false,
  strictTuples: false,
  strictRequired: false,
  allowMatchingProperties: true,
  logger: false,
};

/** A sentence when the schema cannot be held to, or undefined. */
export function schemaProblem(schema: JsonSchema | undefined): string | undefined {
  if (schema === undefined) return undefined;
  const say = (why: string): string => `the output schema cannot be used: ${why.slice(0, MOST_PROBLEM)}`;
  if (deeperThan(schema, MAX_DEPTH)) return say(`it is nested more than ${MAX_DEPTH} levels deep`);
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

/** Compiles each schema once; the same object is the same schema. */
export function answerChecks(): (schema: JsonSchema | null) => AnswerCheck {
  const kept = new WeakMap<JsonSchema, ValidateFunction>();
  return (schema) => (text) => {
    if (schema === null) return undefined;
    const validate = kept.get(schema) ?? compileSchema(schema);
    kept.set(schema, validate);
    return answerProblem(validate, text);
  };
}

/** Throws an error with a sentence for a schema that cannot be held to. */
function compileSchema(schema: JsonSchema): ValidateFunction {
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

/** Linear, where ajv compares each pair. Two objects are the same whatever the order of their names. */
function isUnique(items: readonly unknown[]): boolean {
  return new Set(items.map((item) => JSON.stringify(item, sorted))).size === items.length;
}

function sorted(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function answerProblem(validate: ValidateFunction, text: string): string | undefined {
  const output = structuredOutput(text);
  if (output.kind === 'none') return `The final answer must be one JSON value, and ${output.problem}`;
  if (deeperThan(output.value, MAX_DEPTH)) return `The final answer is nested more than ${MAX_DEPTH} levels deep`;
  if (validate(output.value)) return undefined;
  const sentence = `The final answer does not satisfy the schema: ${sayErrors(validate.errors, output.value)}`;
  return sentence.length <= MOST_PROBLEM ? sentence : `${toUSVString(sentence.slice(0, MOST_PROBLEM - 2))} …`;
}

function sayErrors(errors: readonly ErrorObject[] | null | undefined, value: unknown): string {
  return [...new Set(nearest(errors ?? []).map((error) => sayError(error, value)))].join('; ');
}

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

function sayError({ keyword, instancePath, params, message = 'will not do' }: ErrorObject, value: unknown): string {
  const path = pathText(instancePath, value);
  const named = params as Readonly<Record<string, unknown>>;
  if (keyword === 'required') return `${path}.${String(named['missingProperty'])}: is missing`;
  if (keyword === 'enum') return `${path}: must be one of ${JSON.stringify(named['allowedValues'])}`;
  if (keyword === 'const') return `${path}: must be ${JSON.stringify(named['allowedValue'])}`;
  if (keyword === 'uniqueItems') return `${path}: must not have the same item twice`;
  const extra = named['additionalProperty'] ?? named['unevaluatedProperty'];
  return extra === undefined ? `${path}: ${message}` : `${path}: has ${JSON.stringify(extra)}, which is not allowed`;
}

/** A JSON pointer into `value` as people write a path. */
function pathText(pointer: string, value: unknown): string {
  let at = value;
  let text = '$';
  for (const step of pointer.split('/').slice(1)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    text += Array.isArray(at) ? `[${key}]` : `.${key}`;
    at = (at as Readonly<Record<string, unknown>> | undefined)?.[key];
  }
  return text;
}
